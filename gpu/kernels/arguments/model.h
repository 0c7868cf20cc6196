/* Model: arguments of the kernels of a Llama-architecture target forward over a paged K/V window.
 * One step computes M rows at once: the prompt's, one decoded token's, or a pending token's and its
 * draft's, as a chain or a tree.
 *
 *   embed -> { rms_norm -> gemm (q, k, v) -> rope_scatter -> attention -> gemm -> residual_add
 *              -> rms_norm -> gemm (gate, up) -> swiglu -> gemm -> residual_add } a layer
 *         -> rms_norm -> gemm (lm_head)
 *
 * Activations are fp32 rows, `stride` elements apart. Every sum has an order that depends on its
 * length alone: a row has the same bits whether it is computed at M = 1 or with others, at any
 * block size, and whatever unseen cells lie between those that it sees. What the batch is (the
 * number of rows, tokens, positions, slots, tables, lengths, masks) lies on the device, so that a
 * captured graph is replayable; only capacities are the host's. Buffers that are written overlap no
 * other buffer of the launch unless a field says so. Counts are at least 1, and pointers are
 * aligned to their elements, unless a field says otherwise. */
#ifndef DRAFTPROOF_GPU_KERNELS_ARGUMENTS_MODEL_H
#define DRAFTPROOF_GPU_KERNELS_ARGUMENTS_MODEL_H

#include <stdint.h>

#include "gpu/kernels/arguments/result.h"
#include "gpu/kernels/arguments/rows.h"

/** The rows of a step. */
typedef struct draftproof_model_rows {
  draftproof_pointer
      count;         /**< uint32, nullable: row_max rows. Above row_max it counts as row_max */
  uint32_t row_max;  /**< rows that buffers have room for */
  uint32_t reserved; /**< 0 */
} draftproof_model_rows;

/** output[m] = embedding[tokens[m]]. A token outside [0, vocab_size) gives a row of zeros. */
typedef struct draftproof_embed_arguments {
  draftproof_model_rows rows;
  draftproof_pointer tokens;    /**< int32 [row_max] */
  draftproof_pointer embedding; /**< [vocab_size][width], embedding_stride apart */
  draftproof_pointer output;    /**< written: fp32 [row_max][width] */
  uint64_t embedding_stride;    /**< elements, >= width */
  uint64_t output_stride;       /**< elements, >= width */
  uint32_t vocab_size;
  uint32_t width;
  uint32_t format;   /**< DRAFTPROOF_FLOAT32 or DRAFTPROOF_BFLOAT16, of the embedding */
  uint32_t reserved; /**< 0 */
} draftproof_embed_arguments;

/** output[m][i] = input[m][i] * r * weight[i], r = 1 / sqrt(sum of squares / width + epsilon). */
typedef struct draftproof_rms_norm_arguments {
  draftproof_model_rows rows;
  draftproof_pointer input;  /**< fp32 [row_max][width] */
  draftproof_pointer weight; /**< fp32 [width] */
  draftproof_pointer output; /**< written: fp32 [row_max][width] */
  uint64_t input_stride;     /**< elements, >= width */
  uint64_t output_stride;    /**< elements, >= width */
  uint32_t width;
  float epsilon; /**< > 0, finite */
} draftproof_rms_norm_arguments;

/** output[m][n] = sum over k of input[m][k] * weight[n][k], fp32 sums of fused products: lane l of
 * 32 takes k = l, l + 32, ..., and the lanes' sums are added pairwise. */
typedef struct draftproof_gemm_arguments {
  draftproof_model_rows rows;
  draftproof_pointer input;  /**< fp32 [row_max][input_width] */
  draftproof_pointer weight; /**< [output_width][input_width], weight_stride apart */
  draftproof_pointer output; /**< written: fp32 [row_max][output_width] */
  uint64_t input_stride;     /**< elements, >= input_width */
  uint64_t weight_stride;    /**< elements, >= input_width */
  uint64_t output_stride;    /**< elements, >= output_width */
  uint32_t input_width;
  uint32_t output_width;
  uint32_t format;   /**< DRAFTPROOF_FLOAT32 or DRAFTPROOF_BFLOAT16, of the weights */
  uint32_t reserved; /**< 0 */
} draftproof_gemm_arguments;

/** Rotates queries in place, and writes rotated keys, and values, where the slots say. Coordinate i
 * of a head turns with coordinate i + head_dim / 2, by the angle of (position, i) in the tables. A
 * row whose position is outside the tables is absent: its queries stay and nothing is written. A
 * slot outside [0, slot_count), -1 among them, is not written. */
typedef struct draftproof_rope_scatter_arguments {
  draftproof_model_rows rows;
  draftproof_pointer qkv; /**< read and written: fp32 [row_max][(heads + 2 kv_heads) head_dim]:
                             queries, keys, values */
  draftproof_pointer positions;   /**< int32 [row_max] */
  draftproof_pointer slots;       /**< int64 [row_max], each once or outside the pool */
  draftproof_pointer cosines;     /**< fp32 [position_count][head_dim / 2] */
  draftproof_pointer sines;       /**< fp32 [position_count][head_dim / 2] */
  draftproof_pointer key_cache;   /**< written: fp32 [slot_count][kv_heads][head_dim] */
  draftproof_pointer value_cache; /**< written: fp32 [slot_count][kv_heads][head_dim] */
  uint64_t qkv_stride;            /**< elements, >= (heads + 2 kv_heads) head_dim */
  uint64_t slot_count;            /**< page_count * page_size */
  uint32_t position_count;        /**< at most 2^31 - 1 */
  uint32_t heads;                 /**< a multiple of kv_heads, at most 2^16 */
  uint32_t kv_heads;
  uint32_t head_dim; /**< even, at most 256 */
} draftproof_rope_scatter_arguments;

/** Attention of each row over the cells of its sequence that it sees: those at logical places
 * 0 .. length - 1, and of the window behind them the place length + b where bit b % 64 of word
 * b / 64 of its mask is set. Its own place is one of these. Query head h reads K/V head
 * h / (heads / kv_heads). Places behind page_max pages, and pages outside [0, page_count), are not
 * read. A row that sees nothing, or has no sequence, gets zeros. */
typedef struct draftproof_attention_arguments {
  draftproof_model_rows rows;
  draftproof_pointer queries;     /**< fp32 [row_max][heads][head_dim], rotated */
  draftproof_pointer key_cache;   /**< fp32 [page_count][page_size][kv_heads][head_dim] */
  draftproof_pointer value_cache; /**< as key_cache */
  draftproof_pointer sequences;   /**< int32 [row_max]: the row's sequence, -1: none */
  draftproof_pointer tables;      /**< int32 [sequence_count][page_max], table_stride apart */
  draftproof_pointer lengths;     /**< int32 [sequence_count]: places that every row sees */
  draftproof_pointer masks;       /**< uint64 [row_max][mask_words], aligned to 8 */
  draftproof_pointer output;      /**< written: fp32 [row_max][heads][head_dim] */
  uint64_t query_stride;          /**< elements, >= heads * head_dim */
  uint64_t output_stride;         /**< elements, >= heads * head_dim */
  uint64_t table_stride;          /**< elements, >= page_max */
  uint32_t sequence_count;        /**< at most 2^31 - 1 */
  uint32_t page_max;
  uint32_t page_size;
  uint32_t page_count; /**< at most 2^31 - 1 */
  uint32_t mask_words; /**< at most 64 */
  uint32_t heads;      /**< a multiple of kv_heads, at most 2^16 */
  uint32_t kv_heads;
  uint32_t head_dim; /**< at most 256 */
  float scale;       /**< of scores: 1 / sqrt(head_dim); > 0, finite */
  uint32_t reserved; /**< 0 */
} draftproof_attention_arguments;

/** output[m][i] = silu(gate_up[m][i]) * gate_up[m][width + i]. */
typedef struct draftproof_swiglu_arguments {
  draftproof_model_rows rows;
  draftproof_pointer gate_up; /**< fp32 [row_max][2 width] */
  draftproof_pointer output;  /**< written: fp32 [row_max][width] */
  uint64_t gate_up_stride;    /**< elements, >= 2 width */
  uint64_t output_stride;     /**< elements, >= width */
  uint32_t width;             /**< at most 2^31 - 1 */
  uint32_t reserved;          /**< 0 */
} draftproof_swiglu_arguments;

/** sum[m][i] += addend[m][i]. */
typedef struct draftproof_residual_add_arguments {
  draftproof_model_rows rows;
  draftproof_pointer sum;    /**< read and written: fp32 [row_max][width] */
  draftproof_pointer addend; /**< fp32 [row_max][width] */
  uint64_t sum_stride;       /**< elements, >= width */
  uint64_t addend_stride;    /**< elements, >= width */
  uint32_t width;
  uint32_t reserved; /**< 0 */
} draftproof_residual_add_arguments;

#endif
