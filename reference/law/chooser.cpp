// The enumerator: re-runs a program from the start for every branch, first answers first. Nothing
// of the program's state is saved, so that rules and drafters are plain straight-line code.
#include "reference/law/chooser.h"

#include <algorithm>

#include "reference/error.h"

namespace draftproof::reference::law {
namespace {

class Branches final : public Chooser {
 public:
  Branches(const RevealedCoins& before, const AddressOf& address_of)
      : before_(before), address_of_(address_of), coins_(before) {}

  bool accept(const Exact& probability, const CoinUse& use) override {
    DRAFTPROOF_CHECK(probability >= 0 && probability <= 1, "acceptance outside [0, 1]");
    cuts_ = {0, probability, 1};
    return answer(use) == 0;
  }

  Token draw(const LawRow& row, const CoinUse& use) override {
    cuts_ = {0};
    for (const Exact& probability : row) {
      DRAFTPROOF_CHECK(probability >= 0, "a negative probability");
      cuts_.push_back(cuts_.back() + probability);
    }
    DRAFTPROOF_CHECK(cuts_.back() == 1,
                     "a draw from a row that sums to " + to_string(cuts_.back()));
    return static_cast<Token>(answer(use));
  }

  void restart() {
    asked_ = 0;
    coins_ = before_;
  }

  Exact probability() const {
    DRAFTPROOF_CHECK(asked_ == path_.size(), "the program asked less than on the run before");
    Exact product = 1;
    for (const Question& question : path_) product *= question.odds;
    return product;
  }

  const RevealedCoins& coins() const { return coins_; }

  /// Moves to the next branch; false when there is none.
  bool advance() {
    while (!path_.empty()) {
      Question& last = path_.back();
      if (last.find(last.answer + 1)) return true;
      path_.pop_back();
    }
    return false;
  }

 private:
  struct Question {
    std::vector<Exact> cuts;  // answers are the cells between them
    CoinAddress address;
    Interval known;
    std::size_t answer = 0;
    Interval then;
    Exact odds;

    /// Settles on the first answer from `first` on that the coin can still give.
    bool find(std::size_t first) {
      for (answer = first; answer + 1 < cuts.size(); ++answer) {
        then = {std::max(known.low, cuts[answer]), std::min(known.high, cuts[answer + 1])};
        if (then.low < then.high) {
          odds = (then.high - then.low) / (known.high - known.low);
          return true;
        }
      }
      return false;
    }
  };

  std::size_t answer(const CoinUse& use) {
    const CoinAddress address = address_of_(use);
    if (asked_ == path_.size()) {
      Question question{std::move(cuts_), address, {}, 0, {}, 0};
      if (const auto known = coins_.find(address); known != coins_.end())
        question.known = known->second;
      DRAFTPROOF_CHECK(question.find(0), "a question without a possible answer");
      path_.push_back(std::move(question));
    } else {
      DRAFTPROOF_CHECK(path_[asked_].address == address && path_[asked_].cuts == cuts_,
                       "the program asked something else than before");
    }
    const Question& question = path_[asked_++];
    coins_[address] = question.then;
    return question.answer;
  }

  const RevealedCoins& before_;
  const AddressOf& address_of_;
  RevealedCoins coins_;
  std::vector<Exact> cuts_;
  std::vector<Question> path_;
  std::size_t asked_ = 0;
};

}  // namespace

void for_each_branch(
    const RevealedCoins& before, const AddressOf& address_of,
    const std::function<void(Chooser&)>& run,
    const std::function<void(const Exact& probability, const RevealedCoins& after)>& finished) {
  Branches branches(before, address_of);
  do {
    branches.restart();
    run(branches);
    finished(branches.probability(), branches.coins());
  } while (branches.advance());
}

}  // namespace draftproof::reference::law
