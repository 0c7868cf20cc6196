// Worked examples: published numbers of the field and numbers derived by hand, each computed again
// by this folder's functions. Published ones are quoted with the digits they were published with
// and agree when the computed value rounds to them; where the inputs were published rounded, the
// value must lie in what they allow.
#pragma once

#include <string>
#include <vector>

namespace draftproof::oracle::speed {

struct WorkedExample {
  std::string id;
  std::string source;    ///< who published it, where, when; "derived" where nobody did
  std::string given;     ///< the inputs, in words
  std::string quantity;  ///< what is computed, with its formula
  double published = 0;  ///< or derived
  int decimals = 0;      ///< of `published`; 0: an integer
  double low = 0;        ///< computed from the inputs at the ends of their rounding;
  double high = 0;       ///< both the computed value itself when the inputs are exact
  double computed = 0;

  /// The interval [low, high] meets what rounds to `published`.
  bool agrees() const;
};

std::vector<WorkedExample> worked_examples();

}  // namespace draftproof::oracle::speed
