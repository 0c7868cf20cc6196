#include "gpu/torch/operators.h"

#include <torch/library.h>

namespace operators = draftproof::gpu::torch;

TORCH_LIBRARY(draftproof, library) {
  library.def(
      "requests(Tensor temperature, Tensor top_k, Tensor top_p, Tensor min_p, Tensor draft_counts, "
      "Tensor coin_requests, Tensor coin_positions, Tensor coin_iterations, str preset, "
      "int vocab_size) -> Tensor");
  library.def(
      "verify(Tensor target_rows, Tensor? draft_rows, Tensor draft_tokens, Tensor? parents, "
      "Tensor requests, Tensor? coins, int seed, str rule, str draft_kind, int stream) -> "
      "(Tensor, Tensor, Tensor, Tensor)");
  library.def(
      "acceptance_workspace(Tensor target_rows, Tensor? draft_rows, str draft_kind) -> Tensor");
  library.def(
      "accept(Tensor target_rows, Tensor? draft_rows, Tensor draft_tokens, Tensor requests, "
      "Tensor? coins, Tensor? kv_lengths, int seed, str draft_kind, Tensor(a!) workspace, "
      "int stream) -> (Tensor, Tensor, Tensor, Tensor)");
  library.def(
      "kv_commit(Tensor(a!)[] planes, Tensor tables, Tensor lengths, Tensor fed_counts, "
      "Tensor outcomes, Tensor? nodes, int leading_count, Tensor(b!) new_lengths, "
      "Tensor(c!) statuses, int stream) -> ()");
}

TORCH_LIBRARY_IMPL(draftproof, CPU, library) {
  library.impl("requests", &operators::requests);
  library.impl("verify", &operators::verify);
  library.impl("acceptance_workspace", &operators::acceptance_workspace);
  library.impl("accept", &operators::accept);
  library.impl("kv_commit", &operators::kv_commit);
}

TORCH_LIBRARY_IMPL(draftproof, CUDA, library) {
  library.impl("verify", &operators::verify);
  library.impl("acceptance_workspace", &operators::acceptance_workspace);
  library.impl("accept", &operators::accept);
  library.impl("kv_commit", &operators::kv_commit);
}

TORCH_LIBRARY_IMPL(draftproof, Meta, library) {
  library.impl("verify", &operators::verify_shapes);
  library.impl("accept", &operators::accept_shapes);
  library.impl("kv_commit",
               [](at::TensorList, const at::Tensor&, const at::Tensor&, const at::Tensor&,
                  const at::Tensor&, const std::optional<at::Tensor>&, std::int64_t,
                  const at::Tensor&, const at::Tensor&, std::int64_t) {});
}
