// Maximum flows.
#include "reference/law/maximum_flow.h"

#include <algorithm>

#include "reference/error.h"

namespace draftproof::reference::law {

MaximumFlow::MaximumFlow(int node_count) : leaving_(static_cast<std::size_t>(node_count)) {}

void MaximumFlow::add_edge(int from, int to, const Exact& capacity) {
  DRAFTPROOF_CHECK(capacity >= 0, to_string(capacity));
  leaving_.at(from).push_back(static_cast<int>(edges_.size()));
  edges_.push_back({to, capacity});
  leaving_.at(to).push_back(static_cast<int>(edges_.size()));
  edges_.push_back({from, 0});
}

Exact MaximumFlow::maximum(int source, int sink) {
  Exact sum = 0;
  for (Exact sent = augment(source, sink); sent > 0; sent = augment(source, sink)) sum += sent;
  return sum;
}

Exact MaximumFlow::augment(int source, int sink) {
  std::vector<int> reached_by(leaving_.size(), -1);
  std::vector<int> queue = {source};
  for (std::size_t next = 0; next < queue.size() && reached_by[sink] < 0; ++next) {
    for (int edge : leaving_[queue[next]]) {
      const int to = edges_[edge].to;
      if (to == source || reached_by[to] >= 0 || edges_[edge].left == 0) continue;
      reached_by[to] = edge;
      queue.push_back(to);
    }
  }
  if (reached_by[sink] < 0) return 0;
  const auto before = [&](int node) { return edges_[reached_by[node] ^ 1].to; };
  Exact sent = edges_[reached_by[sink]].left;
  for (int node = sink; node != source; node = before(node))
    sent = std::min(sent, edges_[reached_by[node]].left);
  for (int node = sink; node != source; node = before(node)) {
    edges_[reached_by[node]].left -= sent;
    edges_[reached_by[node] ^ 1].left += sent;
  }
  return sent;
}

}  // namespace draftproof::reference::law
