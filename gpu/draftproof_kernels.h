/* draftproof_kernels: the kernels of this project for engines, in plain C (C99 or C++).
 *
 *   draftproof_library_create(ordinal)          loads the kernels into a CUDA context, once
 *   draftproof_X_plan(library, &arguments, &p)  checks, and says how X would be launched
 *   draftproof_X_launch(library, &arguments, s) checks, and launches X on stream s
 *
 * Results. Nothing throws, aborts or prints. Every call answers with a code and a static text that
 * names the field at fault and the remedy (kernels/arguments/result.h). Whatever is not
 * DRAFTPROOF_OK has launched nothing, except for faults that the emulated device saw on the way.
 *
 * Launching. A launch is one kernel. It allocates nothing, waits for nothing and asks the driver
 * for nothing but the launch, so that a CUDA graph may capture it. `stream` is a CUstream or
 * cudaStream_t; null is the context's default stream. The struct of arguments is read before the
 * call returns; a captured graph keeps its own copy of it. What a launch reads and writes on the
 * device must stay there until it is done. What the host can see of the arguments is checked before
 * every launch: null and misaligned pointers, ranges, products of sizes, workspaces, and buffers
 * that are written and share a byte with another one. What lies in device memory (draft counts,
 * tokens, tables, logits) is judged by the kernels and ends in a status word of its request; a
 * draft_count above padded_draft_count counts as that many, but ends trees in a status. Two
 * things there are taken as they are, and have to be right: records are those of shape_rows, and
 * lists of adjustments lie inside their arrays.
 *
 * Threads. A library is never changed after its creation: any number of threads may plan and launch
 * with one at the same time, each with its own arguments, outputs and workspaces. Destroy it when
 * no call is under way and no graph that was captured with it is to run again. The emulated device
 * takes one call at a time and lets the others wait.
 *
 * Determinism. The same inputs give the same bytes for every GPU, block size, batch order and
 * schedule ("gpu to gpu"): every sum is one of integers.
 *
 * tools/docs/kernels.md is the page: a screen for each operation. */
#ifndef DRAFTPROOF_GPU_DRAFTPROOF_KERNELS_H
#define DRAFTPROOF_GPU_DRAFTPROOF_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/arguments/acceptance.h"
#include "kernels/arguments/adjust_rows.h"
#include "kernels/arguments/kv.h"
#include "kernels/arguments/model.h"
#include "kernels/arguments/result.h"
#include "kernels/arguments/rows.h"
#include "kernels/arguments/shaping.h"
#include "kernels/arguments/tree.h"
#include "kernels/arguments/verify.h"
#include "kernels/arguments/verify_adjusted.h"

#if defined(__GNUC__)
#define DRAFTPROOF_API __attribute__((visibility("default")))
#else
#define DRAFTPROOF_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The library ----------------------------------------------------------------------------- */

#define DRAFTPROOF_VERSION_MAJOR 0
#define DRAFTPROOF_VERSION_MINOR 1
#define DRAFTPROOF_VERSION_PATCH 0

/** Of the library that runs: major << 16 | minor << 8 | patch. Structs keep their layout as long as
 * the major and, below 1.0, the minor number stay. */
DRAFTPROOF_API uint32_t draftproof_version(void);

/** Kernels on one device. */
typedef struct draftproof_library draftproof_library;

/** For `device`: the CUDA context that is current on the calling thread. */
#define DRAFTPROOF_CURRENT_CONTEXT (-1)

/** Loads the kernels into the primary context of a device (its ordinal), or into the current
 * context, which must then outlive the library. The driver compiles them for the GPU at this place,
 * which takes seconds the first time and is kept in its cache. Needs compute capability 8.0,
 * cooperative launches, and a driver of at least the CUDA version that the kernels were built with.
 * On failure *library is null. */
DRAFTPROOF_API draftproof_result draftproof_library_create(int32_t device,
                                                           draftproof_library** library);

/** The same calls on the emulated device: kernels run on the CPU before a launch returns, and every
 * byte is watched. Streams are not looked at. It allocates as it runs. */
DRAFTPROOF_API draftproof_result draftproof_library_create_emulated(draftproof_library** library);

/** Null is fine. */
DRAFTPROOF_API void draftproof_library_destroy(draftproof_library* library);

typedef struct draftproof_capabilities {
  uint32_t compute_major;
  uint32_t compute_minor;
  uint32_t multiprocessor_count;
  uint32_t shared_bytes_max; /**< of one block */
  uint32_t is_cooperative;   /**< 1: launches whose blocks wait for each other are possible */
  uint32_t is_emulated;
  char name[256]; /**< of the device */
} draftproof_capabilities;

DRAFTPROOF_API draftproof_result draftproof_library_capabilities(
    const draftproof_library* library, draftproof_capabilities* capabilities);

/** How a call is launched. */
typedef struct draftproof_plan {
  const char* entry; /**< of the PTX; static */
  uint32_t grid_x;
  uint32_t grid_y;
  uint32_t grid_z;
  uint32_t block_threads;
  uint32_t dynamic_shared_bytes;
  uint32_t is_cooperative; /**< its blocks wait for each other */
  uint32_t launch_count;   /**< 0: there is nothing to do */
} draftproof_plan;

/* ---- Requests -------------------------------------------------------------------------------- */

/** What a user asks for. Off: top_k <= 0 or >= vocab_size, top_p >= 1, min_p <= 0. */
typedef struct draftproof_sampling {
  double temperature; /**< >= 0; 0 is greedy, infinity is uniform over the finite logits */
  int64_t top_k;
  double top_p; /**< <= 0 keeps one token */
  double min_p; /**< above 1 acts as 1 */
  /** The order of the steps and what happens to ties, by an engine's name; null: "default". */
  const char* preset;
} draftproof_sampling;

/** temperature 1, nothing filtered, preset "default". */
#define DRAFTPROOF_SAMPLING_DEFAULT \
  { 1.0, 0, 1.0, 0.0, NULL }

/** Writes the record of one request as kernels read it: steps, exact fractions, the scale with its
 * one rounding. Its draft and coins are left 0, for the engine to fill in: draft_count,
 * coin_request, coin_position, coin_iteration. `vocab_size` 1 .. 2^20. A NaN, a negative
 * temperature and an unknown preset are refused, and *request is not written. */
DRAFTPROOF_API draftproof_result draftproof_request_init(const draftproof_sampling* sampling,
                                                         uint32_t vocab_size,
                                                         draftproof_request* request);

/** Names of presets by number, "default" first; null from the number of presets on. */
DRAFTPROOF_API const char* draftproof_preset_name(uint32_t index);

/* ---- Fused acceptance (one launch) ------------------------------------------------------------
 */

/** Fills in the division of the work, from block_threads to rows_ahead, for what the device holds
 * at once. Capacities, vocab_size, format, draft_kind and draft_records are read and must be final;
 * block_threads is kept unless it is 0. On failure nothing is written. */
DRAFTPROOF_API draftproof_result draftproof_acceptance_divide(
    const draftproof_library* library, draftproof_acceptance_arguments* arguments);
/** Bytes of `workspace`, under the division. Zero them once, before the first launch. Pointers are
 * not looked at. */
DRAFTPROOF_API draftproof_result
draftproof_acceptance_workspace(const draftproof_acceptance_arguments* arguments, uint64_t* bytes);
/** The chain rule: logits in, tokens, accepted lengths, statuses and KV plans out. */
DRAFTPROOF_API draftproof_result
draftproof_acceptance_plan(const draftproof_library* library,
                           const draftproof_acceptance_arguments* arguments, draftproof_plan* plan);
DRAFTPROOF_API draftproof_result
draftproof_acceptance_launch(const draftproof_library* library,
                             const draftproof_acceptance_arguments* arguments, void* stream);

/* ---- Shaping, and rules behind it (two launches) ----------------------------------------------
 */

/** Shaping: every row of logits becomes a record of 32 bytes. */
DRAFTPROOF_API draftproof_result
draftproof_shape_rows_plan(const draftproof_library* library,
                           const draftproof_shape_rows_arguments* arguments, draftproof_plan* plan);
DRAFTPROOF_API draftproof_result
draftproof_shape_rows_launch(const draftproof_library* library,
                             const draftproof_shape_rows_arguments* arguments, void* stream);
/** Bytes of `workspace` that the arguments need. Pointers are not looked at. */
DRAFTPROOF_API draftproof_result
draftproof_shape_rows_workspace(const draftproof_shape_rows_arguments* arguments, uint64_t* bytes);

/** Acceptance by a rule, behind shape_rows on the same stream: "chain", "greedy", ... */
DRAFTPROOF_API draftproof_result
draftproof_verify_plan(const draftproof_library* library, const char* rule,
                       const draftproof_verify_arguments* arguments, draftproof_plan* plan);
DRAFTPROOF_API draftproof_result
draftproof_verify_launch(const draftproof_library* library, const char* rule,
                         const draftproof_verify_arguments* arguments, void* stream);

/** The chain rule over target rows that requests adjust (penalties, bias, bans, masks), behind
 * shape_rows with the same adjustments. */
DRAFTPROOF_API draftproof_result draftproof_verify_adjusted_plan(
    const draftproof_library* library, const draftproof_verify_adjusted_arguments* arguments,
    draftproof_plan* plan);
DRAFTPROOF_API draftproof_result draftproof_verify_adjusted_launch(
    const draftproof_library* library, const draftproof_verify_adjusted_arguments* arguments,
    void* stream);

/** Rows as the requests adjust them, written out in fp32: for every other rule, and for fused
 * acceptance, which take rows as they come. */
DRAFTPROOF_API draftproof_result
draftproof_adjust_rows_plan(const draftproof_library* library,
                            const draftproof_adjust_rows_arguments* arguments,
                            draftproof_plan* plan);
DRAFTPROOF_API draftproof_result
draftproof_adjust_rows_launch(const draftproof_library* library,
                              const draftproof_adjust_rows_arguments* arguments, void* stream);

/** What a rule reads. */
typedef struct draftproof_rule {
  const char* name;           /**< static */
  uint32_t takes_trees;       /**< reads parents, writes accepted_nodes */
  uint32_t reads_target_rows; /**< else the records say enough */
  uint32_t reads_draft_rows;
  uint32_t is_greedy;             /**< shape the rows with every request greedy */
  uint32_t coin_columns;          /**< of a buffer of coins; 0: the rule reads no coins */
  uint32_t is_keyed_by_iteration; /**< coin_iteration must be another one in every verification */
} draftproof_rule;

/** Rules by number; DRAFTPROOF_OUT_OF_RANGE from the number of rules on. */
DRAFTPROOF_API draftproof_result draftproof_verify_rule(uint32_t index, draftproof_rule* rule);

/* ---- Trees ----------------------------------------------------------------------------------- */

/** From parents to depths, positions, child links and ancestor masks. */
DRAFTPROOF_API draftproof_result draftproof_tree_layout_plan(
    const draftproof_library* library, const draftproof_tree_layout_arguments* arguments,
    draftproof_plan* plan);
DRAFTPROOF_API draftproof_result
draftproof_tree_layout_launch(const draftproof_library* library,
                              const draftproof_tree_layout_arguments* arguments, void* stream);

/** Of many candidates the few of the greatest scores, closed under parents. */
DRAFTPROOF_API draftproof_result draftproof_tree_selection_plan(
    const draftproof_library* library, const draftproof_tree_selection_arguments* arguments,
    draftproof_plan* plan);
DRAFTPROOF_API draftproof_result draftproof_tree_selection_launch(
    const draftproof_library* library, const draftproof_tree_selection_arguments* arguments,
    void* stream);

/* ---- KV caches (kernels/arguments/kv.h says in which order) ------------------------------------
 */

/** Before a step: pages that others hold are copied, and tables say so. */
DRAFTPROOF_API draftproof_result draftproof_kv_copy_pages_plan(
    const draftproof_library* library, const draftproof_kv_copy_pages_arguments* arguments,
    draftproof_plan* plan);
DRAFTPROOF_API draftproof_result
draftproof_kv_copy_pages_launch(const draftproof_library* library,
                                const draftproof_kv_copy_pages_arguments* arguments, void* stream);

/** Where the cells of the tokens that are fed go. */
DRAFTPROOF_API draftproof_result draftproof_kv_map_slots_plan(
    const draftproof_library* library, const draftproof_kv_map_slots_arguments* arguments,
    draftproof_plan* plan);
DRAFTPROOF_API draftproof_result
draftproof_kv_map_slots_launch(const draftproof_library* library,
                               const draftproof_kv_map_slots_arguments* arguments, void* stream);

/** In every layer: keys and values are written there. */
DRAFTPROOF_API draftproof_result
draftproof_kv_append_plan(const draftproof_library* library,
                          const draftproof_kv_append_arguments* arguments, draftproof_plan* plan);
DRAFTPROOF_API draftproof_result
draftproof_kv_append_launch(const draftproof_library* library,
                            const draftproof_kv_append_arguments* arguments, void* stream);

/** Behind the acceptance: accepted cells move together, in place; lengths. */
DRAFTPROOF_API draftproof_result
draftproof_kv_commit_plan(const draftproof_library* library,
                          const draftproof_kv_commit_arguments* arguments, draftproof_plan* plan);
DRAFTPROOF_API draftproof_result
draftproof_kv_commit_launch(const draftproof_library* library,
                            const draftproof_kv_commit_arguments* arguments, void* stream);

/** Hidden rows, positions, tokens of the accepted ones. */
DRAFTPROOF_API draftproof_result draftproof_kv_gather_rows_plan(
    const draftproof_library* library, const draftproof_kv_gather_rows_arguments* arguments,
    draftproof_plan* plan);
DRAFTPROOF_API draftproof_result draftproof_kv_gather_rows_launch(
    const draftproof_library* library, const draftproof_kv_gather_rows_arguments* arguments,
    void* stream);

/** Recurrent layers: the state behind the last accepted token. */
DRAFTPROOF_API draftproof_result draftproof_kv_select_states_plan(
    const draftproof_library* library, const draftproof_kv_select_states_arguments* arguments,
    draftproof_plan* plan);
DRAFTPROOF_API draftproof_result draftproof_kv_select_states_launch(
    const draftproof_library* library, const draftproof_kv_select_states_arguments* arguments,
    void* stream);

/** Pages that are not needed any more leave their table. */
DRAFTPROOF_API draftproof_result draftproof_kv_release_pages_plan(
    const draftproof_library* library, const draftproof_kv_release_pages_arguments* arguments,
    draftproof_plan* plan);
DRAFTPROOF_API draftproof_result draftproof_kv_release_pages_launch(
    const draftproof_library* library, const draftproof_kv_release_pages_arguments* arguments,
    void* stream);

/** For debugging: dropped slots are filled with one byte. */
DRAFTPROOF_API draftproof_result
draftproof_kv_poison_plan(const draftproof_library* library,
                          const draftproof_kv_poison_arguments* arguments, draftproof_plan* plan);
DRAFTPROOF_API draftproof_result
draftproof_kv_poison_launch(const draftproof_library* library,
                            const draftproof_kv_poison_arguments* arguments, void* stream);

/* ---- The target forward (kernels/arguments/model.h says in which order) ------------------------
 */

/** Rows of the embedding. */
DRAFTPROOF_API draftproof_result draftproof_embed_plan(const draftproof_library* library,
                                                       const draftproof_embed_arguments* arguments,
                                                       draftproof_plan* plan);
DRAFTPROOF_API draftproof_result draftproof_embed_launch(
    const draftproof_library* library, const draftproof_embed_arguments* arguments, void* stream);

/** Rows, normalised and weighted. */
DRAFTPROOF_API draftproof_result
draftproof_rms_norm_plan(const draftproof_library* library,
                         const draftproof_rms_norm_arguments* arguments, draftproof_plan* plan);
DRAFTPROOF_API draftproof_result
draftproof_rms_norm_launch(const draftproof_library* library,
                           const draftproof_rms_norm_arguments* arguments, void* stream);

/** Rows times a matrix; sums in an order that the length alone fixes. */
DRAFTPROOF_API draftproof_result draftproof_gemm_plan(const draftproof_library* library,
                                                      const draftproof_gemm_arguments* arguments,
                                                      draftproof_plan* plan);
DRAFTPROOF_API draftproof_result draftproof_gemm_launch(const draftproof_library* library,
                                                        const draftproof_gemm_arguments* arguments,
                                                        void* stream);

/** Queries and keys are rotated, keys and values go to their slots. */
DRAFTPROOF_API draftproof_result draftproof_rope_scatter_plan(
    const draftproof_library* library, const draftproof_rope_scatter_arguments* arguments,
    draftproof_plan* plan);
DRAFTPROOF_API draftproof_result
draftproof_rope_scatter_launch(const draftproof_library* library,
                               const draftproof_rope_scatter_arguments* arguments, void* stream);

/** Rows over the cells of the window that they see. */
DRAFTPROOF_API draftproof_result
draftproof_attention_plan(const draftproof_library* library,
                          const draftproof_attention_arguments* arguments, draftproof_plan* plan);
DRAFTPROOF_API draftproof_result
draftproof_attention_launch(const draftproof_library* library,
                            const draftproof_attention_arguments* arguments, void* stream);

/** The gate, applied. */
DRAFTPROOF_API draftproof_result
draftproof_swiglu_plan(const draftproof_library* library,
                       const draftproof_swiglu_arguments* arguments, draftproof_plan* plan);
DRAFTPROOF_API draftproof_result draftproof_swiglu_launch(
    const draftproof_library* library, const draftproof_swiglu_arguments* arguments, void* stream);

/** The residual, added. */
DRAFTPROOF_API draftproof_result draftproof_residual_add_plan(
    const draftproof_library* library, const draftproof_residual_add_arguments* arguments,
    draftproof_plan* plan);
DRAFTPROOF_API draftproof_result
draftproof_residual_add_launch(const draftproof_library* library,
                               const draftproof_residual_add_arguments* arguments, void* stream);

/* ---- The emulated device's memory --------------------------------------------------------------
 */

/** Fresh memory is unwritten, and reading it is an error. `label` names it in observations. All of
 * these are DRAFTPROOF_UNSUPPORTED for a library on a GPU, whose memory is the engine's own. */
DRAFTPROOF_API draftproof_result draftproof_emulated_allocate(const draftproof_library* library,
                                                              uint64_t bytes, const char* label,
                                                              draftproof_pointer* pointer);
DRAFTPROOF_API draftproof_result draftproof_emulated_free(const draftproof_library* library,
                                                          draftproof_pointer pointer);
DRAFTPROOF_API draftproof_result draftproof_emulated_write(const draftproof_library* library,
                                                           draftproof_pointer to, const void* from,
                                                           uint64_t bytes);
DRAFTPROOF_API draftproof_result draftproof_emulated_read(const draftproof_library* library,
                                                          draftproof_pointer from, void* to,
                                                          uint64_t bytes);

/** What the last launch or memory call had to say (out of bounds, unwritten bytes, races, ...): a
 * line each, cut at `bytes` - 1 characters and closed with 0. Returns the length of the whole, as
 * snprintf does; 0: nothing was observed. `text` may be null when `bytes` is 0. */
DRAFTPROOF_API uint64_t draftproof_emulated_observations(const draftproof_library* library,
                                                         char* text, uint64_t bytes);

#ifdef __cplusplus
}
#endif

#endif
