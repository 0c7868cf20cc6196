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

/** How draft laws are written down. */
enum draftproof_draft_kind {
  DRAFTPROOF_DRAFT_LOGITS = 0,        /**< rows of the target's format, shaped as the target is */
  DRAFTPROOF_DRAFT_PROBABILITIES = 1, /**< rows of fp32 probabilities */
  DRAFTPROOF_DRAFT_ONE_HOT = 2        /**< no rows: all mass on the drafted token */
};

/** One step of a shaping, four bits of draftproof_request::steps. */
enum draftproof_step {
  DRAFTPROOF_STEP_END = 0,
  DRAFTPROOF_STEP_TEMPERATURE = 1,
  DRAFTPROOF_STEP_TOP_K = 2,
  DRAFTPROOF_STEP_TOP_P = 3,
  DRAFTPROOF_STEP_MIN_P = 4,
  DRAFTPROOF_STEP_JOINT_TOP_K_TOP_P = 5
};

/** Bits of draftproof_request::flags. */
enum draftproof_request_flag {
  DRAFTPROOF_REQUEST_GREEDY = 1, /**< the law is one-hot at the lowest id of the maximum */
  DRAFTPROOF_REQUEST_TOP_P = 2,  /**< top_p_* mean something */
  DRAFTPROOF_REQUEST_MIN_P = 4,  /**< min_p_* mean something */
  DRAFTPROOF_REQUEST_TOP_K_LOWEST_IDS = 8,  /**< top-k keeps exactly k, lowest ids first; else all
                                                 boundary ties */
  DRAFTPROOF_REQUEST_TOP_P_LOWEST_IDS = 16, /**< top-p keeps lowest ids first inside the boundary
                                                 value; else all ties */
  DRAFTPROOF_REQUEST_ONE_HOT_DRAFT = 32 /**< fused acceptance: the drafts have one-hot laws whatever
                                             the batch says, and no draft rows are read */
};

/** Why a row could not be judged. Of several that apply to a row the least one is told. */
enum draftproof_status {
  DRAFTPROOF_STATUS_OK = 0,
  DRAFTPROOF_STATUS_NAN = 1,               /**< anywhere in a row of logits that is read */
  DRAFTPROOF_STATUS_POSITIVE_INFINITY = 2, /**< in a row of logits */
  DRAFTPROOF_STATUS_EMPTY_ROW = 3,         /**< nothing but -inf, or no mass at all */
  DRAFTPROOF_STATUS_RANGE = 4,             /**< |maximum * scale| > 2^21: too cold to resolve */
  DRAFTPROOF_STATUS_BAD_PROBABILITY = 5,   /**< a draft probability is NaN or outside [0, 1] */
  DRAFTPROOF_STATUS_DRAFT_TOKEN_RANGE = 6, /**< a drafted token outside the vocabulary, not -1 */
  DRAFTPROOF_STATUS_DRAFT_MASS_ZERO = 7,   /**< its own draft law gives the drafted token no mass */
  DRAFTPROOF_STATUS_MALFORMED_TREE = 8     /**< a parent that is no node before its child */
};

/** How a record and its row give the mass of a token. */
enum draftproof_law_kind {
  DRAFTPROOF_LAW_MASSES = 0,       /**< that of its logit under maximum and scale, if it is kept */
  DRAFTPROOF_LAW_ONE_HOT = 1,      /**< 1 at cut_id */
  DRAFTPROOF_LAW_PROBABILITIES = 2 /**< the probability in fixed point */
};

/** Why a token was emitted. */
enum draftproof_reason {
  DRAFTPROOF_REASON_NONE = -1, /**< none was: the slot lies behind the emitted ones */
  DRAFTPROOF_REASON_ACCEPTED = 0,
  DRAFTPROOF_REASON_RECOVERED = 1,
  DRAFTPROOF_REASON_BONUS = 2
};

/** What one request asks for. A fraction f is mantissa * 2^-exponent, exactly the double it was.
 * 64 bytes, aligned to 8. */
typedef struct draftproof_request {
  uint64_t steps;          /**< enum draftproof_step, the first in the lowest 4 bits */
  uint64_t top_p_mantissa; /**< < 2^53 */
  uint64_t min_p_mantissa; /**< < 2^53 */
  int32_t top_p_exponent;
  int32_t min_p_exponent;
  float initial_scale; /**< before any temperature step */
  float scale;         /**< from the temperature step on */
  uint32_t top_k;      /**< 0: off */
  uint32_t flags;      /**< enum draftproof_request_flag */
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
  uint32_t status; /**< enum draftproof_status */
  uint32_t kind;   /**< enum draftproof_law_kind */
} draftproof_row_record;

/** One request's outcome without its tokens. 16 bytes. */
typedef struct draftproof_outcome {
  uint32_t accepted_count;
  uint32_t emitted_count;
  uint32_t status;          /**< enum draftproof_status; KV calls have their own */
  uint32_t status_position; /**< the target row, from 0, that could not be judged */
} draftproof_outcome;

#endif
