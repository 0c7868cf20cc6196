/* Acceptance: the arguments of fused acceptance, logits in and tokens, accepted lengths, statuses
 * and KV plans out, in one launch. Plain C, passed by value.
 *
 * Rows. A request has padded_draft_count + 1 slots on the target side and padded_draft_count on the
 * draft side, of which it uses draft_count + 1 and draft_count (draftproof_request); target row i
 * holds the logits behind i drafted tokens. Slot s of an array of rows starts s * stride elements
 * behind its pointer. Unused slots, rows behind a placeholder (-1), and elements from vocab_size on
 * are never touched, so that rows may lie at any alignment and stride.
 *
 * Replay. Only capacities are host-side. Everything about a batch lies in device memory and may be
 * another one each time that a captured launch is replayed: request_count, the requests with their
 * draft counts, temperatures and filters, tokens, rows, coins, KV lengths.
 *
 * Workspace. Fixed size, no host synchronisation, no memset between launches. Zero it once, when it
 * is allocated and whenever vocab_size, capacities or the division below change; every launch
 * leaves it as the next one needs it. Two launches that may run at the same time need two
 * workspaces.
 *
 * Residency. Blocks of a team wait for each other, so all block_count blocks must be resident at
 * once: launch cooperatively, with block_count <= block_capacity = multiprocessors * blocks that
 * the occupancy query of the driver answers for the entry, block_threads and shared_bytes. */
#ifndef DRAFTPROOF_GPU_KERNELS_ARGUMENTS_ACCEPTANCE_H
#define DRAFTPROOF_GPU_KERNELS_ARGUMENTS_ACCEPTANCE_H

#include <stdint.h>

#include "gpu/kernels/arguments/result.h"
#include "gpu/kernels/arguments/rows.h"

/** Blocks a team at most, and with them slices a row. */
#define DRAFTPROOF_TEAM_SIZE_MAX 32

/** What becomes of one request's KV cache. Before the launch it holds kv_length tokens; the
 * target's forward pass over the pending token and the draft_count drafted ones has written the
 * slots from kv_length on, one a token. Afterwards the sequence's committed tokens are those in the
 * cache and the pending one behind them. 16 bytes, aligned to 4. */
typedef struct draftproof_kv_plan {
  uint32_t kept_count;    /**< of those slots, the first so many stay: accepted_count + 1 */
  uint32_t dropped_count; /**< and so many behind them roll back: draft_count - accepted_count */
  uint32_t kv_length;     /**< old kv_length + kept_count: the cache's length from now on, the first
                               slot to roll back, and the position of the pending token */
  int32_t pending_token;  /**< the token drawn here, which has no slot yet; -1: a status ended the
                               request, and no token was drawn */
} draftproof_kv_plan;

typedef struct draftproof_acceptance_arguments {
  /* Inputs, never written. */
  draftproof_pointer target_rows; /**< logits; aligned to an element */
  uint64_t target_row_stride;     /**< elements, >= vocab_size */
  draftproof_pointer
      draft_rows;            /**< null exactly when draft_kind is one-hot; aligned to an element */
  uint64_t draft_row_stride; /**< elements, >= vocab_size; 0 without rows */
  draftproof_pointer draft_tokens; /**< int32_t[request_capacity][padded_draft_count]; -1 is a
                                        placeholder; null when padded_draft_count is 0 */
  draftproof_pointer requests;     /**< draftproof_request[request_capacity]; aligned to 8 */
  /** draftproof_row_record[request_capacity][padded_draft_count], as they were made when the
   * drafted tokens were drawn; aligned to 8. Null: draft rows are shaped here, for each row that is
   * judged, which reads them too. Not read for one-hot drafts. */
  draftproof_pointer draft_records;
  /** uint64_t[request_capacity][padded_draft_count + 1][3]: accept, recovered and bonus coins;
   * aligned to 8. Null: coins are those of Philox under `seed`. */
  draftproof_pointer coins;
  uint64_t seed;
  draftproof_pointer request_count; /**< uint32_t, aligned to 4; null: request_capacity. 0 is fine,
                                         more than request_capacity counts as request_capacity */
  draftproof_pointer kv_lengths;    /**< uint32_t[request_capacity], aligned to 4; null: all 0 */
  /* Outputs; slots of requests from the request count on are not written. */
  draftproof_pointer emitted_tokens;  /**< int32_t[request_capacity][padded_draft_count + 1]:
                                         accepted tokens, the drawn one, then -1; aligned to 4 */
  draftproof_pointer emitted_reasons; /**< int32_t, the same shape: 0 accepted, 1 recovered, 2
                                         bonus, -1 none; aligned to 4 */
  draftproof_pointer outcomes;        /**< draftproof_outcome[request_capacity]; aligned to 4 */
  draftproof_pointer kv_plans;        /**< draftproof_kv_plan[request_capacity], aligned to 4; null:
                                           not wanted */
  draftproof_pointer workspace;       /**< aligned to 128 */
  uint64_t workspace_bytes;
  /* Capacities and formats. */
  uint32_t request_capacity;
  uint32_t
      padded_draft_count; /**< a request with a larger draft_count counts as having this many */
  uint32_t vocab_size;    /**< 1 .. 2^20 */
  uint32_t format;        /**< enum draftproof_logit_format, of target and draft logits */
  uint32_t draft_kind;    /**< enum draftproof_draft_kind */
  /* The division of the work, as draftproof's plan for it fills in. It changes no output. */
  uint32_t block_threads;  /**< a multiple of 32 up to 1,024 */
  uint32_t block_count;    /**< the grid: a multiple of team_size, <= block_capacity */
  uint32_t block_capacity; /**< blocks resident at once */
  uint32_t team_size;      /**< blocks a row, 1 .. DRAFTPROOF_TEAM_SIZE_MAX */
  uint32_t shared_bytes;   /**< dynamic shared memory: room for a block's slice of a target row, and
                                of a draft row that is shaped here; 0: rows are read from global
                                memory in every sweep. Above 48 KiB the entry needs the attribute
                                "maximum dynamic shared memory" */
  /** So many rows of one request may be read before the verdict on the first of them: row i is read
   * when rows 0 .. i - rows_ahead are accepted. 1: in turn, no row behind a rejection is read; from
   * padded_draft_count + 1 on: all at once. */
  uint32_t rows_ahead;
  uint32_t reserved; /**< 0 */
} draftproof_acceptance_arguments;

#endif
