// Trees from a model's rows: the likeliest children (fixed shapes as of Medusa and EAGLE, static
// trees of engines) and sampled ones (Jeon et al., "Recursive speculative decoding", 2024,
// arXiv:2402.14160: siblings without replacement). Grown breadth first, so that a cut at a number
// of nodes leaves out what would have been drawn last and selects by nothing that was drawn
// (theorem F of reference/README.md).
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "reference/decode/draft_path.h"
#include "reference/error.h"
#include "reference/verify/chain.h"

namespace draftproof::reference::decode {
namespace {

/// Tokens by logit descending, then id ascending (-0 == +0), at most `count`; -inf is left out.
std::vector<Token> likeliest(const Row& row, int count) {
  std::vector<Token> order(row.size());
  std::iota(order.begin(), order.end(), 0);
  std::erase_if(order,
                [&](Token token) { return std::isinf(row[static_cast<std::size_t>(token)]); });
  std::stable_sort(order.begin(), order.end(), [&](Token first, Token second) {
    return row[static_cast<std::size_t>(first)] > row[static_cast<std::size_t>(second)];
  });
  order.resize(std::min(order.size(), static_cast<std::size_t>(count)));
  return order;
}

class TreeSource final : public DraftSource {
 public:
  TreeSource(LanguageModelPtr model, std::vector<int> widths, bool is_sampled)
      : model_(std::move(model)), widths_(std::move(widths)), is_sampled_(is_sampled) {
    DRAFTPROOF_CHECK(model_ != nullptr, "a model is needed");
    if (widths_.empty())
      throw Error(ErrorKind::kInput, "widths: name the children of a node at every depth");
    for (const int width : widths_)
      if (width < 1)
        throw Error(ErrorKind::kInput,
                    "widths: " + std::to_string(width) + " children; at least 1 is needed");
  }

  std::string name() const override { return is_sampled_ ? "sampled-tree" : "tree"; }
  LanguageModelPtr model() const override { return model_; }
  bool draws() const override { return is_sampled_; }

  Draft draft(const DraftTask& task, law::Memory&, law::Memory&) const override {
    DRAFTPROOF_CHECK(task.draft_count_max > 0, "a draft of no tokens is not asked for");
    Draft draft;
    draft.kind = is_sampled_ ? RowKind::kLogits : RowKind::kOneHot;
    draft.context_length = static_cast<int>(task.tokens.size());
    // The nodes of one depth, each with the path to its parent.
    std::vector<std::pair<int, DraftPath>> level = {{-1, DraftPath(task, *model_)}};
    for (const int width : widths_) {
      std::vector<std::pair<int, DraftPath>> next;
      for (auto& [node, path] : level) {
        if (room(task, draft) == 0) return draft;
        feed(node, path, draft);
        const int first = static_cast<int>(draft.proposal.tokens.size());
        grow(task, node, path, std::min(width, room(task, draft)), next.size(), draft);
        for (int child = first; child < static_cast<int>(draft.proposal.tokens.size()); ++child)
          next.emplace_back(child, path);
      }
      level = std::move(next);
    }
    return draft;
  }

 private:
  static int room(const DraftTask& task, const Draft& draft) {
    return task.draft_count_max - static_cast<int>(draft.proposal.tokens.size());
  }

  static void feed(int node, DraftPath& path, Draft& draft) {
    if (node < 0) return;
    path.feed(draft.proposal.tokens[static_cast<std::size_t>(node)],
              static_cast<int>(draft.fed_nodes.size()));
    draft.fed_nodes.push_back(node);
  }

  /// Adds the children of `node`; `drawn_count` nodes of their depth are there already.
  void grow(const DraftTask& task, int node, const DraftPath& path, int count,
            std::size_t drawn_count, Draft& draft) const {
    Row row = path.row();
    if (logit_status(row) != Status::kOk) return;
    const auto add = [&](Token child) {
      draft.proposal.tokens.push_back(child);
      draft.proposal.parents.push_back(node);
    };
    if (!is_sampled_) {
      for (const Token child : likeliest(row, count)) add(child);
      return;
    }
    for (int sibling = 0; sibling < count; ++sibling) {
      const MassRow law = shape(row, task.sampling, task.preset);
      if (law.status != Status::kOk) return;
      const auto slot =
          static_cast<std::uint32_t>(drawn_count) + static_cast<std::uint32_t>(sibling);
      add(verify::draw(draft_coin(task, path.depth() + 1, slot), law));
      draft.proposal.rows.push_back(row);
      row[static_cast<std::size_t>(draft.proposal.tokens.back())] =
          -std::numeric_limits<float>::infinity();
    }
  }

  LanguageModelPtr model_;
  std::vector<int> widths_;
  bool is_sampled_;
};

}  // namespace

DraftSourcePtr tree_source(LanguageModelPtr model, std::vector<int> widths) {
  return std::make_shared<TreeSource>(std::move(model), std::move(widths), false);
}

DraftSourcePtr sampled_tree_source(LanguageModelPtr model, std::vector<int> widths) {
  return std::make_shared<TreeSource>(std::move(model), std::move(widths), true);
}

}  // namespace draftproof::reference::decode
