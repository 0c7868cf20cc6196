/* Adjusted rows: the arguments of adjust_rows, which writes rows of logits as the requests'
 * penalties, biases, bans and masks leave them, in fp32, for rules that take rows as they come
 * (every rule of verify.h, fused acceptance). Draft rows of logits are widened beside them, because
 * both sides of a batch have one format. Plain C, passed by value.
 *
 * Slots, and which of them are in use, are those of gpu/kernels/arguments/shaping.h. What is
 * written must not share a byte with any other buffer. */
#ifndef DRAFTPROOF_GPU_KERNELS_ARGUMENTS_ADJUST_ROWS_H
#define DRAFTPROOF_GPU_KERNELS_ARGUMENTS_ADJUST_ROWS_H

#include <stdint.h>

#include "gpu/kernels/arguments/adjustments.h"
#include "gpu/kernels/arguments/result.h"
#include "gpu/kernels/arguments/rows.h"

typedef struct draftproof_adjust_rows_arguments {
  draftproof_pointer target_rows; /**< logits of `format`, at any alignment of an element */
  uint64_t target_row_stride;     /**< elements, at least vocab_size */
  draftproof_pointer draft_rows;  /**< logits of `format`; null: none are widened */
  uint64_t draft_row_stride;      /**< elements, at least vocab_size; 0 without draft rows */
  /** int32, one a draft slot, aligned to 4. -1: nothing behind it is written. Null only where
   * padded_draft_count is 0. */
  draftproof_pointer draft_tokens;
  /** int32, one a draft slot, aligned to 4: the drafts are trees, node i continues node parents[i]
   * < i, or the base for -1. Null: chains. */
  draftproof_pointer parents;
  draftproof_pointer requests;        /**< draftproof_request, aligned to 8; draft_count is read */
  draftproof_adjustments adjustments; /**< of target rows; not null */
  draftproof_pointer adjusted_rows;   /**< out: float, a row a target slot, aligned to 4 */
  uint64_t adjusted_row_stride;       /**< elements, at least vocab_size */
  draftproof_pointer widened_rows; /**< out: float, a row a draft slot, aligned to 4; null exactly
                                        when draft_rows is */
  uint64_t widened_row_stride;     /**< elements, at least vocab_size; 0 without draft rows */
  uint32_t format;                 /**< enum draftproof_logit_format, of what is read */
  uint32_t request_count;          /**< 1 .. 2^31 - 1 rows in all */
  uint32_t padded_draft_count;     /**< 0 .. 65,536; a request with a larger draft_count counts as
                                        having this many */
  uint32_t vocab_size;             /**< 1 .. 2^20 */
  uint32_t block_threads;          /**< a multiple of 32 up to 512; 0: the library chooses */
} draftproof_adjust_rows_arguments;

#endif
