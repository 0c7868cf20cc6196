/* Trees: what the kernels that lay out and select draft trees take, and what they leave.
 * Plain C, read by hosts and kernels alike.
 *
 * Node i of a request continues node parents[i] < i, or -1: nothing of the draft. Buffers with an
 * entry a node have node_capacity entries a request, the first one request after the other. */
#ifndef DRAFTPROOF_GPU_KERNELS_ARGUMENTS_TREE_H
#define DRAFTPROOF_GPU_KERNELS_ARGUMENTS_TREE_H

#include <stdint.h>

#include "gpu/kernels/arguments/result.h"

/** Nodes a request may have room for. */
#define DRAFTPROOF_NODE_CAPACITY_MAX 65536

/** Bits of draftproof_tree_record.flags. */
enum draftproof_tree_flag {
  DRAFTPROOF_EQUAL_SIBLINGS = 1 /**< two nodes with one parent carry the same token */
};

/** What is known of a request's tree. 16 bytes, aligned to 4. */
typedef struct draftproof_tree_record {
  uint32_t status;      /**< 0, or DRAFTPROOF_STATUS_MALFORMED_TREE of rows.h: no node is there */
  uint32_t node_count;  /**< nodes that are there */
  uint32_t level_count; /**< their greatest depth + 1; 0 without nodes */
  uint32_t flags;       /**< enum draftproof_tree_flag */
} draftproof_tree_record;

/** draftproof_tree_layout: from parents to depths, positions, child links and ancestor masks.
 *
 * A tree is malformed when its count exceeds node_capacity, or a parent is below -1 or not below
 * its node (so is every cycle): then no node is there and the record says so; other requests are
 * not touched by it. Of a node that is not there, because its tree is malformed or a placeholder is
 * on its path, depth, position and next sibling are -1 and the mask is 0. Entries behind a
 * request's own nodes are neither read nor written. Buffers that are written may overlap nothing.
 */
typedef struct draftproof_tree_layout_arguments {
  /** int32 [request_count][node_capacity], aligned to 4. */
  draftproof_pointer parents;
  /** int32 [request_count][node_capacity], aligned to 4. -1 is a placeholder: it is not there, nor
   * is what continues it. Nullable: every node is there, and no two siblings are equal. With them
   * equal siblings are looked for, which costs the square of the largest family. */
  draftproof_pointer tokens;
  /** uint32 node count of request r at node_counts + r * node_count_stride, aligned to 4. So counts
   * may be an array (stride 4) or a field of another one's records, for instance draft_count of
   * draftproof_request (stride 64). */
  draftproof_pointer node_counts;
  uint64_t node_count_stride; /**< bytes; a multiple of 4 */
  /** uint32 position of request r's first drafted token, as above. Nullable: 0. */
  draftproof_pointer base_positions;
  uint64_t base_position_stride; /**< bytes; a multiple of 4 */
  /** Written: int32 [request_count][node_capacity], aligned to 4. How many drafted tokens a node
   * continues. Nullable. */
  draftproof_pointer depths;
  /** Written: int32 as depths. base + depth, modulo 2^32. Nullable. */
  draftproof_pointer positions;
  /** Written: int32 [request_count][node_capacity + 1], aligned to 4. Entry i + 1 is the first node
   * that continues node i, entry 0 the first that continues nothing; -1: none. */
  draftproof_pointer first_children;
  /** Written: int32 as depths. The next node with the same parent; -1: none. */
  draftproof_pointer next_siblings;
  /** Written: uint64 [request_count][node_capacity][mask_words], aligned to 8. Bit m % 64 of word
   * m / 64 says that a node may look at node m: m is the node itself, or it continues m. The
   * pending token and all before it are no nodes, and every node may look at them. Read as 32-bit
   * words, twice as many, the bits are in the same order. Nullable. */
  draftproof_pointer ancestor_masks;
  /** Written: draftproof_tree_record [request_count], aligned to 4. */
  draftproof_pointer records;
  uint32_t request_count; /**< 1 .. 2^31 - 1; a request may have no nodes */
  uint32_t node_capacity; /**< 1 .. DRAFTPROOF_NODE_CAPACITY_MAX */
  uint32_t mask_words;    /**< at least node_capacity / 64, rounded up; without masks not read */
  uint32_t equal_siblings_are_malformed; /**< 0: they only set a flag; 1 */
} draftproof_tree_layout_arguments;

/** draftproof_tree_select: of many candidates the few of the greatest scores (EAGLE-2).
 *
 * A candidate counts for the least score on its path; of equal ones the lower number goes first. So
 * what is selected has all that it continues, whatever the scores; where they never grow along a
 * path, each counts for its own. Selected nodes keep their order and are numbered anew. A malformed
 * tree (as above) has status 8, a NaN among the scores of candidates that are there status 1; then
 * nothing is selected. Entries behind a request's own candidates are not read, those behind its
 * selected nodes not written. Buffers that are written may overlap nothing. What is selected can be
 * laid out as it is: its parents are kept_parents, its counts node_count of the records. */
typedef struct draftproof_tree_selection_arguments {
  /** int32 [request_count][candidate_capacity], aligned to 4. */
  draftproof_pointer parents;
  /** int32 as parents. -1 is a placeholder: it is not there, nor is what continues it. Nullable:
   * every candidate is there. */
  draftproof_pointer tokens;
  /** fp32 as parents, aligned to 4. */
  draftproof_pointer scores;
  /** uint32 candidates of request r at candidate_counts + r * candidate_count_stride, aligned to
   * 4. */
  draftproof_pointer candidate_counts;
  uint64_t candidate_count_stride; /**< bytes; a multiple of 4 */
  /** uint32 nodes to keep of request r, as above; more than keep_capacity count as keep_capacity.
   * Nullable: keep_capacity. */
  draftproof_pointer keep_counts;
  uint64_t keep_count_stride; /**< bytes; a multiple of 4 */
  /** Written: int32 [request_count][keep_capacity], aligned to 4. The candidate that a selected
   * node is, ascending. */
  draftproof_pointer kept_candidates;
  /** Written: int32 as kept_candidates. A selected node's parent among the selected; -1: none. */
  draftproof_pointer kept_parents;
  /** Written: int32 as kept_candidates. Its token. Nullable, and null where tokens is null. */
  draftproof_pointer kept_tokens;
  /** Written: draftproof_tree_record [request_count], aligned to 4, of what is selected; no
   * flags. */
  draftproof_pointer records;
  uint32_t request_count;      /**< 1 .. 2^31 - 1; a request may have no candidates */
  uint32_t candidate_capacity; /**< 1 .. DRAFTPROOF_NODE_CAPACITY_MAX */
  uint32_t keep_capacity;      /**< 1 .. candidate_capacity */
  uint32_t reserved;           /**< 0 */
} draftproof_tree_selection_arguments;

#endif
