// Maximum flows with rational capacities: shortest augmenting paths (Edmonds, Karp, J. ACM 19(2),
// 1972), which end after a number of steps that does not depend on the capacities.
#pragma once

#include <vector>

#include "reference/scalar.h"

namespace draftproof::reference::law {

class MaximumFlow {
 public:
  /// Nodes are 0 .. node_count - 1.
  explicit MaximumFlow(int node_count);
  /// Precondition: capacity >= 0.
  void add_edge(int from, int to, const Exact& capacity);
  /// The value of a maximum flow; what it used is gone afterwards.
  Exact maximum(int source, int sink);

 private:
  struct Edge {
    int to;
    Exact left;
  };
  /// Sends as much as one shortest path can take; 0 when there is none.
  Exact augment(int source, int sink);

  std::vector<Edge> edges_;                // an edge and its reverse are neighbours
  std::vector<std::vector<int>> leaving_;  // numbers of edges, by node
};

}  // namespace draftproof::reference::law
