/* KV: arguments of the kernels that keep caches in step with what a verification accepted. A cell
 * is what one token left in a cache; its bytes are moved and never converted, so that every element
 * type is served (fp32, fp16, bf16, fp8, packed integers), and its scales travel with it.
 *
 *   slots of a sequence:   0 .. length-1 committed | length .. length+fed-1 temporary
 *   before a step          copy_pages     pages that others hold are copied, the table says so
 *                          map_slots      where the fed tokens' cells go
 *   in every layer         append         their keys and values are written there
 *   behind the acceptance  commit         accepted cells move together; lengths; nothing else moves
 *                          gather_rows    hidden rows and positions of the accepted ones
 *                          select_states  recurrent layers: the state behind the last accepted one
 *                          release_pages  pages that are not needed any more leave the table
 *   for debugging          poison         fills dropped slots, so that whoever reads them shows
 * A rollback is a commit of nothing: no byte moves, the length stays.
 *
 * In-place moves (commit). Offsets behind the length that are kept, o(0) < o(1) < ..., go to
 * offsets 0, 1, ...; strictly increasing, so i <= o(i). A column is a range of bytes inside a cell,
 * at one place of one plane of one layer; one thread owns a column for all moves of its sequence,
 * and makes them in this order, so it alone reads and writes those bytes. Move j > i reads offset
 * o(j), and o(j) > o(i) >= i: it reads no offset that move i wrote. What move i overwrites, offset
 * i, was the source of a move j only if o(j) = i, so j <= i: it has been read. So loads may run
 * ahead of stores, a store never runs ahead of a load of a lower number, and no barrier or staging
 * is needed. It takes that offsets are different slots: a page is once in a table, and of pages
 * that several tables hold no temporary slot is used (copy_pages comes first). Committed slots are
 * never written.
 *
 * Whatever is wrong with a sequence ends in its status word: a block looks at all that it is told
 * of it before it moves a byte, and no block moves a byte that another one looks at, so that all
 * come to one word. A sequence with a status is left as it was, its length too.
 */
#ifndef DRAFTPROOF_GPU_KERNELS_ARGUMENTS_KV_H
#define DRAFTPROOF_GPU_KERNELS_ARGUMENTS_KV_H

#include <stdint.h>

#include "gpu/kernels/arguments/result.h"

/** Status words; 0: done. Of several the least one is told. */
enum draftproof_kv_status {
  DRAFTPROOF_KV_OK = 0,
  DRAFTPROOF_KV_BAD_ROW = 1,    /**< its row of the tables is outside them */
  DRAFTPROOF_KV_BAD_LENGTH = 2, /**< a negative length or count, more than the table can hold, or a
                                   length that int32 cannot, with what was fed */
  DRAFTPROOF_KV_BAD_KEPT = 3,   /**< kept offsets that do not increase, or that were not fed */
  DRAFTPROOF_KV_BAD_PAGE = 4,   /**< an entry that is needed is no page of the pool */
  DRAFTPROOF_KV_BAD_SLOT = 5,   /**< a slot that is needed is outside the pool */
  /** A cell would move to a page with other scales of its own: its bytes would mean something else.
   */
  DRAFTPROOF_KV_PAGE_SCALES_DIFFER = 6
};

/** What a plane has one entry of. */
enum draftproof_kv_unit {
  DRAFTPROOF_KV_SLOT = 0, /**< a slot: keys, values, scales of slots */
  DRAFTPROOF_KV_PAGE = 1  /**< a page: scales of pages; copied with pages, compared by commit */
};

/** One buffer of a cache, or one half of an interleaved one: keys, values, or scales of either. The
 * entry of layer l, page p, slot s, head h is head_bytes bytes at
 *   base(l) + p * page_stride + s * slot_stride + h * head_stride
 * so any order of the dimensions is a choice of strides: [page][slot][head] and [page][head][slot],
 * keys and values apart or page by page beside each other (base of the values = base of the keys +
 * the distance). Bytes between entries are never touched. Copies are as wide, up to 16 bytes, as
 * what base, strides and head_bytes are all multiples of. 64 bytes. */
typedef struct draftproof_kv_plane {
  draftproof_pointer base;  /**< of layer 0; with `bases` 0 */
  draftproof_pointer bases; /**< nullable: device array of layer_count addresses instead */
  uint64_t layer_stride;    /**< bytes, all strides are; ignored with `bases` */
  uint64_t page_stride;
  uint64_t slot_stride; /**< ignored of DRAFTPROOF_KV_PAGE */
  uint64_t head_stride; /**< ignored when head_count is 1 */
  uint32_t head_count;  /**< >= 1 */
  uint32_t head_bytes;  /**< >= 1 */
  uint32_t unit;        /**< enum draftproof_kv_unit */
  /** With `bases`: what all of them are multiples of, a power of two up to 16. Else 0. */
  uint32_t bases_alignment;
} draftproof_kv_plane;

#define DRAFTPROOF_KV_PLANES_MAX 6

/** The layers of a cache that share their tables. Planes share no byte. An engine whose tables hold
 * single slots says page_size 1. */
typedef struct draftproof_kv_pool {
  draftproof_kv_plane planes[DRAFTPROOF_KV_PLANES_MAX];
  uint32_t plane_count; /**< 1 .. DRAFTPROOF_KV_PLANES_MAX */
  uint32_t layer_count; /**< >= 1 */
  uint32_t page_size;   /**< slots, >= 1 */
  uint32_t page_count;  /**< of the pool, 1 .. 2^31 - 1; page_count * page_size < 2^62 */
} draftproof_kv_pool;

/** The sequences of a launch. All arrays are on the device and may change between replays. No row
 * of the tables belongs to two sequences. */
typedef struct draftproof_kv_sequences {
  draftproof_pointer tables; /**< int32 [row_count][table_stride]: pages in order, -1: none */
  draftproof_pointer rows; /**< int32 [sequence_count], nullable: each sequence's row, -1: there is
                              no such sequence, and nothing is done for it; null: s has row s */
  draftproof_pointer lengths;    /**< int32 [sequence_count], committed slots */
  draftproof_pointer fed_counts; /**< int32 [sequence_count], temporary slots behind them; with the
                                    length at most 2^31 - 1 */
  uint64_t table_stride;         /**< elements, >= page_max */
  uint32_t row_count;            /**< >= 1; >= sequence_count when rows is null */
  uint32_t page_max;             /**< entries of a row, >= 1; page_max * page_size < 2^62 */
  uint32_t sequence_count;       /**< 0 .. 65,535; 0: nothing is launched */
  uint32_t reserved;             /**< 0 */
} draftproof_kv_sequences;

enum draftproof_kv_flag {
  /** Kept nodes that were never fed end the list instead of being an error: a draft's cache, which
   * lacks the cells of the last drafted tokens. */
  DRAFTPROOF_KV_CLIP = 1,
  /** select_states exchanges the numbers of slots instead of copying states. */
  DRAFTPROOF_KV_EXCHANGE = 2
};

/** Which temporary cells of each sequence are kept: the first leading_count, and then of every
 * accepted node n the one at offset leading_count + n, or, with node_offsets, at
 * leading_count + node_offsets[n]. A target that was fed the pending token and then the draft says
 * leading_count 1 and hands in the accepted_count of draftproof_outcome, 16 bytes apart; or, of
 * chains, leading_count 0 and the kept_count of draftproof_kv_plan, which counts the pending token.
 * A sequence without fed cells keeps nothing. */
typedef struct draftproof_kv_kept {
  draftproof_pointer
      nodes; /**< int32 [sequence_count][node_stride], nullable: a chain's, 0, 1, ... */
  draftproof_pointer counts; /**< uint32 each, count_stride_bytes apart */
  draftproof_pointer
      node_offsets;            /**< int32 [sequence_count][offset_stride], nullable; -1: not fed */
  uint64_t node_stride;        /**< elements, >= kept_max with `nodes` */
  uint64_t offset_stride;      /**< elements, >= node_max with `node_offsets` */
  uint32_t count_stride_bytes; /**< >= 4, a multiple of 4 */
  uint32_t kept_max;           /**< no count is larger; < 2^24 */
  uint32_t node_max;           /**< with `node_offsets`: nodes are below it */
  uint32_t leading_count;      /**< < 2^24 */
} draftproof_kv_kept;

/** draftproof_kv_commit: moves the kept cells of all sequences and layers together, in place. Grid
 * (column blocks, sequences). */
typedef struct draftproof_kv_commit_arguments {
  draftproof_kv_pool pool;
  draftproof_kv_sequences sequences;
  draftproof_kv_kept kept;
  draftproof_pointer new_lengths; /**< int32 [sequence_count], nullable; not `lengths` itself */
  draftproof_pointer statuses;    /**< uint32 [sequence_count] */
  uint32_t flags;                 /**< 0 or DRAFTPROOF_KV_CLIP */
  uint32_t block_threads;         /**< a multiple of 32 up to 1,024; 0: 256 */
} draftproof_kv_commit_arguments;

/** draftproof_kv_map_slots: where the cells of the fed tokens go. One block a sequence. */
typedef struct draftproof_kv_map_slots_arguments {
  draftproof_kv_sequences sequences;
  draftproof_pointer slots;    /**< int64: page * page_size + slot; -1 in places without a token */
  draftproof_pointer starts;   /**< int32 [sequence_count], nullable: a sequence's first place; its
                                  fed_count places are then written, and no other; no place is one
                                  of two sequences */
  draftproof_pointer statuses; /**< uint32 [sequence_count] */
  uint64_t slot_stride; /**< places of a sequence without `starts`; all of them are written */
  uint64_t slot_count;  /**< places in all; >= sequence_count * slot_stride without `starts` */
  uint32_t page_size;
  uint32_t page_count;
  uint32_t block_threads; /**< as above; 0: 128 */
  uint32_t reserved;      /**< 0 */
} draftproof_kv_map_slots_arguments;

/** Where the entries of one plane come from, in the order of the tokens. */
typedef struct draftproof_kv_source {
  draftproof_pointer base; /**< of layer 0, token 0, head 0 */
  uint64_t layer_stride;   /**< bytes, all strides are */
  uint64_t token_stride;
  uint64_t head_stride; /**< ignored when the plane's head_count is 1 */
} draftproof_kv_source;

/** draftproof_kv_append: writes each token's entries to its slot. A slot below 0 is no slot:
 * nothing is written. No slot is there twice. Grid (tokens, column blocks). Planes of pages are
 * left out. */
typedef struct draftproof_kv_append_arguments {
  draftproof_kv_pool pool;
  draftproof_kv_source sources[DRAFTPROOF_KV_PLANES_MAX]; /**< sources[i] of planes[i] */
  draftproof_pointer slots;    /**< int64 [token_count]: page * page_size + slot */
  draftproof_pointer statuses; /**< uint32 [token_count], nullable */
  uint32_t token_count;        /**< < 2^31; 0: nothing is launched */
  uint32_t block_threads;      /**< as above; 0: 128 */
} draftproof_kv_append_arguments;

/** One page to be copied because its destination is to be written. 20 bytes. */
typedef struct draftproof_kv_page_copy {
  int32_t source;      /**< -1: no copy, and nothing is done */
  int32_t destination; /**< another page, nobody's yet */
  int32_t slot_count;  /**< slots that are copied, from the first one; 0: no byte is, of scales
                          neither */
  int32_t row;         /**< whose table is to hold the destination; -1: none */
  int32_t index;       /**< its entry there */
} draftproof_kv_page_copy;

/** draftproof_kv_copy_pages: copies pages, and puts the copies into tables. No page is the
 * destination of one copy and in another one, and no entry of the tables is that of two copies.
 * Grid (column blocks, copies). */
typedef struct draftproof_kv_copy_pages_arguments {
  draftproof_kv_pool pool;
  draftproof_pointer copies; /**< draftproof_kv_page_copy [copy_count] */
  draftproof_pointer tables; /**< int32 [row_count][table_stride]; nullable when every row is -1 */
  draftproof_pointer statuses; /**< uint32 [copy_count] */
  uint64_t table_stride;       /**< elements, >= page_max */
  uint32_t row_count;
  uint32_t page_max;
  uint32_t copy_count;    /**< 0 .. 65,535; 0: nothing is launched */
  uint32_t block_threads; /**< as above; 0: 256 */
} draftproof_kv_copy_pages_arguments;

/** draftproof_kv_release_pages: pages leave the table that hold no slot below
 * new_length + spare_count, and those that lie wholly in front of the window; their entries become
 * -1, and they are listed, the last one first, then those in front of the window, nearest first.
 * One block a sequence. */
typedef struct draftproof_kv_release_pages_arguments {
  draftproof_kv_sequences sequences; /**< lengths and fed_counts as they were before the commit */
  draftproof_pointer new_lengths;    /**< int32 [sequence_count], <= length + fed_count */
  draftproof_pointer freed; /**< int32 [sequence_count][freed_stride], behind the list: kept */
  draftproof_pointer freed_counts; /**< uint32 [sequence_count] */
  /** int32 [sequence_count], nullable: entries that each row has; written: what is left of them,
   * with those in front of the window. null: as many as length + fed_count slots need. */
  draftproof_pointer held_counts;
  draftproof_pointer statuses; /**< uint32 [sequence_count] */
  uint64_t freed_stride;       /**< elements, >= sequences.page_max */
  uint32_t page_size;
  uint32_t page_count;
  uint32_t spare_count;   /**< slots behind the new length whose pages stay; < 2^24 */
  uint32_t window;        /**< so many last slots are visible; 0: all of them */
  uint32_t block_threads; /**< as above; 0: 128 */
  uint32_t reserved;      /**< 0 */
} draftproof_kv_release_pages_arguments;

/** draftproof_kv_poison: fills slots new_length .. length + fed_count - 1 of every sequence with
 * one byte, in planes of slots. Between commit and release_pages. Grid (column blocks, sequences).
 */
typedef struct draftproof_kv_poison_arguments {
  draftproof_kv_pool pool;
  draftproof_kv_sequences sequences;
  draftproof_pointer new_lengths; /**< int32 [sequence_count], <= length + fed_count */
  draftproof_pointer statuses;    /**< uint32 [sequence_count] */
  uint32_t byte;                  /**< < 256 */
  uint32_t block_threads;         /**< as above; 0: 256 */
} draftproof_kv_poison_arguments;

/** One buffer of rows, one a fed token: hidden states, positions, tokens. */
typedef struct draftproof_kv_rows {
  draftproof_pointer source;
  draftproof_pointer destination; /**< shares no byte with the source */
  uint64_t source_stride;         /**< bytes between rows */
  uint64_t destination_stride;
  uint64_t row_bytes; /**< >= 1, < 2^32 */
} draftproof_kv_rows;

#define DRAFTPROOF_KV_ROWS_MAX 4

/** draftproof_kv_gather_rows: row source_start + o of every kept offset o goes to row
 * destination_start + its number. Rows behind the kept ones are left as they are. No row of a
 * destination is written for two sequences. Grid (column blocks, sequences). */
typedef struct draftproof_kv_gather_rows_arguments {
  draftproof_kv_rows buffers[DRAFTPROOF_KV_ROWS_MAX];
  draftproof_kv_kept kept;
  draftproof_pointer fed_counts;         /**< int32 [sequence_count], rows of each */
  draftproof_pointer source_starts;      /**< int32 [sequence_count], nullable: s * source_rows */
  draftproof_pointer destination_starts; /**< the same, nullable: s * destination_rows */
  draftproof_pointer kept_counts;        /**< uint32 [sequence_count], nullable: rows written */
  draftproof_pointer statuses;           /**< uint32 [sequence_count] */
  uint64_t source_row_count;             /**< rows of each source; none behind them is read */
  uint64_t destination_row_count;        /**< rows of each destination; none behind is written */
  uint32_t source_rows;                  /**< of a sequence, without source_starts */
  uint32_t destination_rows;             /**< of a sequence, without destination_starts */
  uint32_t buffer_count;                 /**< 1 .. DRAFTPROOF_KV_ROWS_MAX */
  uint32_t sequence_count;               /**< 0 .. 65,535 */
  uint32_t flags;                        /**< 0 or DRAFTPROOF_KV_CLIP */
  uint32_t block_threads;                /**< as above; 0: 256 */
} draftproof_kv_gather_rows_arguments;

/** draftproof_kv_select_states: the state behind the last kept token becomes the committed one. A
 * pool with page_size 1 whose pages are states: convolution and recurrent parts are planes, layers
 * as ever. Nothing kept: the committed state stays. Committed slot -1: there is no such sequence.
 * No slot is in two sequences. Grid (column blocks, sequences). */
typedef struct draftproof_kv_select_states_arguments {
  draftproof_kv_pool pool;
  draftproof_kv_kept kept;
  draftproof_pointer candidates; /**< int32 [sequence_count][candidate_stride]: slot of the state
                                    behind each fed token */
  draftproof_pointer committed;  /**< int32 [sequence_count]: slot of the committed state */
  draftproof_pointer fed_counts; /**< int32 [sequence_count] */
  draftproof_pointer statuses;   /**< uint32 [sequence_count] */
  uint64_t candidate_stride;     /**< elements, >= candidate_max */
  uint32_t candidate_max;        /**< no fed count is larger */
  uint32_t sequence_count;       /**< 0 .. 65,535 */
  /** DRAFTPROOF_KV_CLIP; DRAFTPROOF_KV_EXCHANGE: no state is copied, `candidates` and `committed`
   * are written. */
  uint32_t flags;
  uint32_t block_threads; /**< as above; 0: 256 */
} draftproof_kv_select_states_arguments;

#endif
