/* Adjustments: what requests do to their rows of target logits before any shaping, as kernels read
 * it: penalties, logit bias, allowed ids, bad words, minimum length, grammar mask, in an order that
 * each request states (engines differ in it). Plain C, read by hosts and kernels alike.
 *
 * Sparse: a request lists the tokens that it does something to, ascending by id; every other logit
 * passes as it is, but for a mask and for "allowed ids only". Nothing of the size of the vocabulary
 * is ever written, and a logit is adjusted where it is read. Everything below lies in device
 * memory, so that a captured graph can be replayed with other requests behind the same pointers;
 * offsets are in elements of the array that they point into. Draft rows are not adjusted: a
 * drafter's law is the one it drew from.
 *
 * History. `counts` of an entry are those of the moment in which it was packed. Tokens committed
 * since then need no repacking: append them to the request's tail (tail_count grows, tail_counted
 * stays), and they count as drafted tokens on the way to a row do. Drafted tokens are looked up by
 * the kernel itself. Each operation is one IEEE fp32 operation: repetition (r), then frequency (F),
 * then presence (p), unless a flag says otherwise; what is off takes part in none. */
#ifndef DRAFTPROOF_GPU_KERNELS_ARGUMENTS_ADJUSTMENTS_H
#define DRAFTPROOF_GPU_KERNELS_ARGUMENTS_ADJUSTMENTS_H

#include <stdint.h>

#include "gpu/kernels/arguments/result.h"

/** One step, four bits of draftproof_adjusted_request::steps. A step whose code is not listed is
 * off for the request. */
enum draftproof_adjustment_step {
  DRAFTPROOF_ADJUST_END = 0,
  DRAFTPROOF_ADJUST_PENALTIES = 1,
  DRAFTPROOF_ADJUST_LOGIT_BIAS = 2,
  DRAFTPROOF_ADJUST_ALLOWED_IDS = 3, /**< bans what has no entry with DRAFTPROOF_ENTRY_ALLOWED */
  DRAFTPROOF_ADJUST_BAD_WORDS = 4,
  DRAFTPROOF_ADJUST_MIN_TOKENS = 5,  /**< bans DRAFTPROOF_ENTRY_ENDS while the output is short */
  DRAFTPROOF_ADJUST_GRAMMAR_MASK = 6 /**< bans what the row's mask does not allow */
};

/** Bits of draftproof_adjusted_request::flags. */
enum draftproof_adjustment_flag {
  DRAFTPROOF_REPETITION_RECIPROCAL = 1, /**< z * (z > 0 ? 1 / r : r), else z > 0 ? z / r : z * r */
  DRAFTPROOF_FREQUENCY_SUMMED = 2,      /**< f + f + ... from 0, else count * f */
  DRAFTPROOF_PENALTIES_FROZEN = 4,      /**< drafted tokens do not count for penalties */
  DRAFTPROOF_MIN_TOKENS_FROZEN = 8,     /**< nor for the minimum length */
  DRAFTPROOF_FREQUENCY_PLUS_PRESENCE = 16, /**< z - (F + p), else (z - F) - p */
  DRAFTPROOF_REPETITION_LAST = 32          /**< the repetition penalty after the other two */
};

/** Bits of draftproof_adjusted_token::flags. */
enum draftproof_adjusted_token_flag {
  DRAFTPROOF_ENTRY_BIAS = 1,      /**< `bias` is added */
  DRAFTPROOF_ENTRY_BIAS_BANS = 2, /**< the bias is -inf; with DRAFTPROOF_ENTRY_BIAS */
  DRAFTPROOF_ENTRY_ALLOWED = 4,
  DRAFTPROOF_ENTRY_ENDS = 8,      /**< an end token */
  DRAFTPROOF_ENTRY_ENDS_WORD = 16 /**< the last token of the words from first_word on */
};

/** `window` of a request whose penalties count its whole history. */
#define DRAFTPROOF_NO_WINDOW 0xffffffffu

/** A token that a request does something to. 24 bytes, aligned to 4. */
typedef struct draftproof_adjusted_token {
  uint32_t id;
  uint32_t flags;            /**< enum draftproof_adjusted_token_flag */
  uint32_t repetition_count; /**< how often it counts for the repetition penalty, window applied */
  uint32_t frequency_count;  /**< the same for frequency and presence */
  float bias;                /**< finite */
  uint32_t first_word;       /**< index into draftproof_adjustments::words */
} draftproof_adjusted_token;

/** A bad word: token_count >= 1 ids at tokens[token_begin]. A request's words are ascending by
 * their last token. 8 bytes, aligned to 4. */
typedef struct draftproof_bad_word {
  uint32_t token_begin;
  uint32_t token_count;
} draftproof_bad_word;

/** What one request asks for; all bits zero: nothing. 80 bytes, aligned to 4. */
typedef struct draftproof_adjusted_request {
  uint32_t steps; /**< enum draftproof_adjustment_step, the first in the lowest 4 bits; at most 7 */
  uint32_t flags; /**< enum draftproof_adjustment_flag */
  uint32_t entry_begin; /**< its entries, strictly ascending by id */
  uint32_t entry_count;
  uint32_t word_begin; /**< its bad words */
  uint32_t word_count;
  float repetition;         /**< > 0; 1 is off */
  float frequency;          /**< finite; 0 is off */
  float presence;           /**< finite; 0 is off */
  uint32_t min_tokens_left; /**< of the minimum, what the packed history does not have yet */
  /** The last committed tokens, oldest first, as far back as bad words need them (the longest word
   * but one token, or all that they see). From tail_counted on they are in no count yet. */
  uint32_t tail_begin; /**< into tokens */
  uint32_t tail_count;
  uint32_t tail_counted; /**< <= tail_count */
  /** DRAFTPROOF_NO_WINDOW, or how many of the last tokens count. Then the packed counts are those
   * of the last held tokens, which lie oldest first at held_begin, and tokens behind the packed
   * history push the oldest of them out. */
  uint32_t window;
  uint32_t repetition_held_begin; /**< into tokens */
  uint32_t repetition_held_count; /**< <= window */
  uint32_t frequency_held_begin;
  uint32_t frequency_held_count; /**< <= window */
  uint32_t reserved[2];          /**< 0 */
} draftproof_adjusted_request;

/** The adjustments of a batch. 48 bytes, aligned to 8. Read only; none of it may overlap anything
 * that the launch writes. */
typedef struct draftproof_adjustments {
  draftproof_pointer
      requests; /**< draftproof_adjusted_request[request_count]; null: no adjustments,
                   and the rest is not read. Aligned to 4, as all arrays below */
  draftproof_pointer
      entries;              /**< draftproof_adjusted_token[]; may be null when no request has any */
  draftproof_pointer words; /**< draftproof_bad_word[]; the same */
  draftproof_pointer tokens; /**< int32_t[]; the same */
  /** uint32_t[target row slots][mask_stride]: bit id % 32 of word id / 32 is 1 when the row's token
   * may be `id`. May be null when no request has the step; rows of other requests are not read, nor
   * are bits behind the vocabulary's last word. */
  draftproof_pointer masks;
  uint64_t mask_stride; /**< words from one row slot to the next, >= ceil(vocab_size / 32) */
} draftproof_adjustments;

#endif
