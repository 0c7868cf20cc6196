/* Shaping: the arguments of shape_rows, in which every row of a batch, target and draft rows alike,
 * becomes a record of 32 bytes. Plain C, passed by value.
 *
 * Slots. Every request has padded_draft_count + 1 target slots and padded_draft_count draft slots:
 * target slot i of request r is number r * (padded_draft_count + 1) + i, draft slot i is number
 * r * padded_draft_count + i. Of these it uses draft_count + 1 and draft_count
 * (draftproof_request). Row s starts s * stride elements behind its pointer, at any alignment of an
 * element. Slots that are not in use, and elements behind the vocabulary, are never touched. Target
 * row i + 1 lies behind drafted token i.
 *
 * Records do not depend on the variant, nor on how the work is divided: they are the same bits.
 * Buffers that are written must not share a byte with any other. */
#ifndef DRAFTPROOF_GPU_KERNELS_ARGUMENTS_SHAPING_H
#define DRAFTPROOF_GPU_KERNELS_ARGUMENTS_SHAPING_H

#include <stdint.h>

#include "gpu/kernels/arguments/adjustments.h"
#include "gpu/kernels/arguments/result.h"
#include "gpu/kernels/arguments/rows.h"

/** Which kernel shapes. */
enum draftproof_shaping_variant {
  /** The library chooses: split for at most 64 rows of at least 16,384 tokens when there is a
   * workspace and nothing is adjusted, else general. */
  DRAFTPROOF_SHAPING_CHOSEN = 0,
  /** A block a row, any format; the only one that takes adjustments. */
  DRAFTPROOF_SHAPING_GENERAL = 1,
  /** A block a row, bf16 and f16 logits: one pass leaves a histogram of all 65,536 values, and
   * every filter works on that. 147 KiB of shared memory. */
  DRAFTPROOF_SHAPING_BY_KEY = 2,
  /** blocks_per_row blocks a row, any format, for small batches. They wait for nobody who does not
   * run, so that they need not be resident together. */
  DRAFTPROOF_SHAPING_SPLIT = 3
};

/** Blocks a row at most, and bytes of workspace a row slot, of the split variant. */
#define DRAFTPROOF_SPLIT_MAX 64
#define DRAFTPROOF_SPLIT_ROW_BYTES 2432

typedef struct draftproof_shape_rows_arguments {
  draftproof_pointer target_rows;  /**< logits of `format` */
  uint64_t target_row_stride;      /**< elements, at least vocab_size */
  draftproof_pointer draft_rows;   /**< null exactly when draft_kind is one-hot */
  uint64_t draft_row_stride;       /**< elements, at least vocab_size; 0 without draft rows */
  draftproof_pointer draft_tokens; /**< int32, one a draft slot, aligned to 4. -1: nothing behind it
                                        is read. Null without adjustments: all rows are shaped */
  /** int32, one a draft slot, aligned to 4: the drafts are trees, node i continues node parents[i]
   * < i, or the base for -1, and all rows are shaped. Null: chains. Looked up for adjustments only.
   */
  draftproof_pointer parents;
  draftproof_pointer requests; /**< draftproof_request, request_count of them, aligned to 8 */
  draftproof_pointer
      target_records; /**< out: draftproof_row_record, one a target slot, aligned to 8 */
  draftproof_pointer draft_records;   /**< out: one a draft slot; null exactly when draft_rows is */
  draftproof_adjustments adjustments; /**< of target rows; requests null: none */
  /** Aligned to 128; null where none is needed. Zero it once, when it is allocated and whenever the
   * sizes below change; every launch leaves it as the next one needs it. Two launches that may run
   * at the same time need two workspaces. */
  draftproof_pointer workspace;
  uint64_t workspace_bytes;
  uint32_t format;             /**< enum draftproof_logit_format, of target and draft logits */
  uint32_t draft_kind;         /**< enum draftproof_draft_kind */
  uint32_t request_count;      /**< 1 .. 2^31 - 1 rows in all */
  uint32_t padded_draft_count; /**< 0 .. 65,536; a request with a larger draft_count counts as
                                    having this many */
  uint32_t vocab_size;         /**< 1 .. 2^20 */
  uint32_t block_threads;      /**< a multiple of 32 up to 1,024; 0: the library chooses */
  uint32_t variant;            /**< enum draftproof_shaping_variant */
  uint32_t blocks_per_row;     /**< of the split variant: 1 .. 64; 0: the library chooses */
} draftproof_shape_rows_arguments;

#endif
