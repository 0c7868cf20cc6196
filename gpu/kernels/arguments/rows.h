/* Rows: what a request asks of its rows of logits, and what is known of a row when it was shaped.
 * Plain C, read by hosts and kernels alike. It holds no arithmetic, so that nothing a kernel
 * decides is shared with what it is checked against. */
#ifndef DRAFTPROOF_GPU_KERNELS_ARGUMENTS_ROWS_H
#define DRAFTPROOF_GPU_KERNELS_ARGUMENTS_ROWS_H

#include <stdint.h>

/** Storage types of logits. */
enum draftproof_logit_format {
  DRAFTPROOF_FLOAT32 = 0,
  DRAFTPROOF_BFLOAT16 = 1,
  DRAFTPROOF_FLOAT16 = 2
};

/** What one request asks for. A fraction f is mantissa * 2^-exponent, exactly the double it was.
 * 64 bytes, aligned to 8. */
typedef struct draftproof_request {
  uint64_t steps;          /**< StepCode of gpu/kernels/layout.h, the first in the lowest 4 bits */
  uint64_t top_p_mantissa; /**< < 2^53 */
  uint64_t min_p_mantissa; /**< < 2^53 */
  int32_t top_p_exponent;
  int32_t min_p_exponent;
  float initial_scale; /**< before any temperature step */
  float scale;         /**< from the temperature step on */
  uint32_t top_k;      /**< 0: off */
  uint32_t flags;      /**< RequestFlag of gpu/kernels/layout.h */
  uint32_t draft_count;
  uint32_t coin_request;   /**< `request` of its coin addresses */
  uint32_t coin_position;  /**< `position` of the first drafted token's coins */
  uint32_t coin_iteration; /**< < 2^24; read by the rules that look past the first failure */
} draftproof_request;

/** The law of one row, enough to recompute any token's mass from the row alone. Tokens are ordered
 * by logit descending, then id ascending; the cut keeps a prefix of this order: larger keys, and of
 * cut_key itself the ids up to cut_id. A record with a status has no law. 32 bytes, aligned to 8.
 */
typedef struct draftproof_row_record {
  uint64_t total;
  float maximum;
  float scale;
  uint32_t cut_key;
  uint32_t cut_id;
  uint32_t status; /**< reference::Status by value */
  uint32_t kind;   /**< LawKind of gpu/kernels/layout.h */
} draftproof_row_record;

/** One request's outcome without its tokens. 16 bytes. */
typedef struct draftproof_outcome {
  uint32_t accepted_count;
  uint32_t emitted_count;
  uint32_t status;
  uint32_t status_position;
} draftproof_outcome;

#endif
