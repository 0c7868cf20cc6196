/* Verify: what the acceptance rules take. One struct for every rule, so that an engine changes the
 * rule by changing an entry; a rule that does not read a buffer takes null for it.
 *
 * Slots. Every request has padded_draft_count draft slots and padded_draft_count + 1 target slots:
 * draft slot i of request r is number r * padded_draft_count + i, target slot i is number
 * r * (padded_draft_count + 1) + i. A request's drafted tokens are its first draft_count draft
 * slots. Target row 0 is the target's law where nothing of the draft is taken, target row i + 1 the
 * one behind drafted token i. Nothing behind a request's own slots is read.
 *
 * Trees. Drafted token i is node i and continues node parents[i] < i, or the base for -1. Children
 * of a node are tried in the order of their numbers. A drafted token of -1 is not there, nor is
 * what continues it. Without parents the draft is a chain: node i continues node i - 1.
 *
 * Buffers that are written must not share a byte with any other. Plain C, no arithmetic. */
#ifndef DRAFTPROOF_GPU_KERNELS_ARGUMENTS_VERIFY_H
#define DRAFTPROOF_GPU_KERNELS_ARGUMENTS_VERIFY_H

#include "gpu/kernels/arguments/result.h"
#include "gpu/kernels/arguments/rows.h"

/** Columns of a buffer of coins: five under the rules that take trees, whether the drafts are trees
 * or chains, the first three under the others (draftproof_rule.coin_columns). coin = coins[target
 * slot * columns + column]. In slot i the accept coin is the one that drafted token i is tested
 * with, all others are those of target row i. A rule reads only the columns that it has a use for.
 */
enum draftproof_coin_column {
  DRAFTPROOF_COIN_ACCEPT = 0,
  DRAFTPROOF_COIN_RECOVERED = 1,
  DRAFTPROOF_COIN_BONUS = 2,
  DRAFTPROOF_COIN_TREE_LEVEL = 3,
  DRAFTPROOF_COIN_TREE_SECOND = 4
};

/** One verification. Pointers are aligned to the size of what they point to, rows to their
 * element, structs to 8 bytes. */
typedef struct draftproof_verify_arguments {
  draftproof_pointer target_rows;    /**< logits of `format`, one row a target slot */
  uint64_t target_row_stride;        /**< elements from row to row, at least vocab_size */
  draftproof_pointer draft_rows;     /**< one row a draft slot; null for one-hot drafts */
  uint64_t draft_row_stride;         /**< elements, at least vocab_size; 0 without draft rows */
  draftproof_pointer draft_tokens;   /**< int32, one a draft slot; -1: not there */
  draftproof_pointer parents;        /**< int32, one a draft slot; null: all drafts are chains */
  draftproof_pointer requests;       /**< draftproof_request, request_count of them */
  draftproof_pointer target_records; /**< draftproof_row_record, one a target slot, shaped */
  draftproof_pointer draft_records;  /**< one a draft slot; null where draft_rows is null */
  draftproof_pointer coins;          /**< uint64, see above; null: from Philox under `seed` */
  uint64_t seed;
  draftproof_pointer emitted_tokens;  /**< out: int32, one a target slot; -1 behind the emitted */
  draftproof_pointer emitted_reasons; /**< out: int32, one a target slot; enum draftproof_reason */
  draftproof_pointer accepted_nodes;  /**< out: int32, one a draft slot, the nodes of the accepted
                                           tokens, then -1; null under rules that take no
                                           trees */
  draftproof_pointer outcomes;        /**< out: draftproof_outcome, one a request */
  uint32_t format;                    /**< enum draftproof_logit_format */
  uint32_t draft_kind;         /**< enum draftproof_draft_kind, of the drafted tokens' laws */
  uint32_t request_count;      /**< 1 .. 2^31 - 1 */
  uint32_t padded_draft_count; /**< 0 .. 65,536; 512 at most under the two sibling rules. A
                                    larger draft_count counts as this many, but under rules that
                                    take trees it ends in DRAFTPROOF_STATUS_MALFORMED_TREE */
  uint32_t vocab_size;         /**< 1 .. 2^20 */
  uint32_t block_threads;      /**< a multiple of 32 up to 1,024; 0: the library chooses */
} draftproof_verify_arguments;

#endif
