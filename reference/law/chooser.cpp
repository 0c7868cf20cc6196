// The enumerator: re-runs a rule from the start for every branch, first answers first. Nothing of
// the rule's state is saved, so that a rule is plain straight-line code.
#include "reference/law/chooser.h"

#include "reference/error.h"
#include "reference/scalar.h"

namespace draftproof::reference::law {
namespace {

template <class Scalar>
class Branches final : public Chooser<Scalar> {
 public:
  bool accept(const Scalar& probability) override {
    DRAFTPROOF_CHECK(probability >= 0 && probability <= 1, "acceptance outside [0, 1]");
    return answer({probability, Scalar(1 - probability)}) == 0;
  }

  Token draw(const std::vector<Scalar>& law) override { return static_cast<Token>(answer(law)); }

  void restart() { asked_ = 0; }

  Scalar probability() const {
    DRAFTPROOF_CHECK(asked_ == path_.size(), "the rule asked less than on the run before");
    Scalar product = 1;
    for (const Question& question : path_) product *= question.odds[question.answer];
    return product;
  }

  /// Moves to the next branch; false when there is none.
  bool advance() {
    while (!path_.empty()) {
      Question& last = path_.back();
      last.answer = possible_from(last.odds, last.answer + 1);
      if (last.answer < last.odds.size()) return true;
      path_.pop_back();
    }
    return false;
  }

 private:
  struct Question {
    std::vector<Scalar> odds;
    std::size_t answer;
  };

  static std::size_t possible_from(const std::vector<Scalar>& odds, std::size_t index) {
    while (index < odds.size() && odds[index] == 0) ++index;
    return index;
  }

  std::size_t answer(std::vector<Scalar> odds) {
    if (asked_ == path_.size()) {
      const std::size_t first = possible_from(odds, 0);
      DRAFTPROOF_CHECK(first < odds.size(), "a question without a possible answer");
      path_.push_back({std::move(odds), first});
    } else {
      DRAFTPROOF_CHECK(path_[asked_].odds == odds, "the rule asked something else than before");
    }
    return path_[asked_++].answer;
  }

  std::vector<Question> path_;
  std::size_t asked_ = 0;
};

}  // namespace

template <class Scalar>
void for_each_branch(const std::function<void(Chooser<Scalar>&)>& run,
                     const std::function<void(const Scalar& probability)>& finished) {
  Branches<Scalar> branches;
  do {
    branches.restart();
    run(branches);
    finished(branches.probability());
  } while (branches.advance());
}

template void for_each_branch<Exact>(const std::function<void(Chooser<Exact>&)>&,
                                     const std::function<void(const Exact&)>&);
template void for_each_branch<double>(const std::function<void(Chooser<double>&)>&,
                                      const std::function<void(const double&)>&);

}  // namespace draftproof::reference::law
