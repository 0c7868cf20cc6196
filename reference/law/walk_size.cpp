// Walk sizes.
#include "reference/law/walk_size.h"

#include <cmath>
#include <vector>

#include "reference/error.h"

namespace draftproof::reference::law {
namespace {

/// Branches of one iteration of one request.
double branches_of_iteration(const WalkShape& shape) {
  const double ends = shape.stops_at_first_failure
                          ? shape.node_count + 1.0
                          : std::exp2(static_cast<double>(shape.node_count));
  return std::pow(shape.vocab_size, shape.node_count + 1.0) * ends;
}

/// Sequences of fewer than `length` tokens.
double shorter_sequences(int vocab_size, int length) {
  double count = 0;
  for (int l = 0; l < length; ++l) count += std::pow(vocab_size, l);
  return count;
}

/// Branches along all paths of iterations until `horizon` tokens are there. On a chain an iteration
/// emits each of 1 .. node_count + 1 tokens on at most `share` of its branches; on a tree all of
/// them may emit one.
double branches_of_paths(const WalkShape& shape) {
  const double all = branches_of_iteration(shape);
  const double share = shape.stops_at_first_failure ? all / (shape.node_count + 1.0) : all;
  std::vector<double> from(static_cast<std::size_t>(shape.horizon) + 1);  // tokens still to come
  for (int remaining = 1; remaining <= shape.horizon; ++remaining) {
    double count = all;
    if (shape.is_chain) {
      for (int emitted = 1; emitted <= shape.node_count + 1 && emitted < remaining; ++emitted)
        count += share * from[remaining - emitted];
    } else {
      count += all * from[remaining - 1];
    }
    from[remaining] = count;
  }
  return from[shape.horizon];
}

template <class Change>
std::optional<int> largest(int least, int most, double branches_max, WalkShape shape,
                           const Change& change) {
  std::optional<int> found;
  for (int size = least; size <= most; ++size) {
    change(shape, size);
    if (branches_at_most(shape) > branches_max) break;
    found = size;
  }
  return found;
}

}  // namespace

double branches_at_most(const WalkShape& shape) {
  DRAFTPROOF_CHECK(shape.vocab_size >= 1 && shape.node_count >= 0 && shape.horizon >= 0 &&
                       shape.request_count >= 1,
                   "no size");
  if (shape.request_count == 1)
    return shape.states_meet
               ? branches_of_iteration(shape) * shorter_sequences(shape.vocab_size, shape.horizon)
               : branches_of_paths(shape);
  // Each request stands behind any sequence, the whole of one that is over included.
  const double contexts = shape.states_meet ? shorter_sequences(shape.vocab_size, shape.horizon + 1)
                                            : branches_of_paths(shape) + 1;
  return std::pow(branches_of_iteration(shape) * contexts, shape.request_count);
}

FittingSizes fitting_sizes(const WalkShape& shape, double branches_max) {
  FittingSizes sizes;
  sizes.vocab_size = largest(2, shape.vocab_size, branches_max, shape,
                             [](WalkShape& s, int size) { s.vocab_size = size; });
  sizes.node_count = largest(1, shape.node_count, branches_max, shape,
                             [](WalkShape& s, int size) { s.node_count = size; });
  sizes.horizon = largest(1, shape.horizon, branches_max, shape,
                          [](WalkShape& s, int size) { s.horizon = size; });
  return sizes;
}

std::string sizes_that_fit(const WalkShape& shape, double branches_max) {
  const FittingSizes sizes = fitting_sizes(shape, branches_max);
  std::vector<std::string> advice;
  if (sizes.horizon) advice.push_back("a horizon of " + std::to_string(*sizes.horizon));
  if (sizes.node_count)
    advice.push_back("a draft of " + std::to_string(*sizes.node_count) +
                     (*sizes.node_count == 1 ? " token" : " tokens"));
  if (sizes.vocab_size) advice.push_back("a vocabulary of " + std::to_string(*sizes.vocab_size));
  if (advice.empty()) return "shorten draft and horizon together";
  std::string text = advice.front();
  for (std::size_t i = 1; i < advice.size(); ++i)
    text += (i + 1 == advice.size() ? " or " : ", ") + advice[i];
  return text + " would work";
}

}  // namespace draftproof::reference::law
