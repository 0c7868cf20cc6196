// The enumerator: re-runs a program from the start for every branch, first answers first. Nothing
// of the program's state is saved, so that rules and drafters are plain straight-line code. What
// the questions of the current path have told is kept between runs, as a run repeats it.
#include "reference/law/chooser.h"

#include <algorithm>

#include "reference/error.h"

namespace draftproof::reference::law {
namespace {

class Branches final : public Chooser {
 public:
  Branches(const RevealedCoins& before, const AddressOf& address_of)
      : address_of_(address_of), coins_(before) {}

  bool accept(const Exact& probability, const CoinUse& use) override {
    const CoinAddress address = address_of_(use);
    if (asked_ < path_.size()) {
      const Question& question = repeated(address);
      DRAFTPROOF_CHECK(question.cuts.size() == 3 && question.cuts[1] == probability,
                       "the program asked something else than before");
      return question.answer == 0;
    }
    DRAFTPROOF_CHECK(probability.sign() >= 0 && numerator(probability) <= denominator(probability),
                     "acceptance outside [0, 1]");
    return answer({Exact(0), probability, Exact(1)}, address) == 0;
  }

  Token draw(const LawRow& row, const CoinUse& use) override {
    const CoinAddress address = address_of_(use);
    if (asked_ < path_.size()) {
      const Question& question = repeated(address);
      DRAFTPROOF_CHECK(question.row == row, "the program asked something else than before");
      return static_cast<Token>(question.answer);
    }
    std::vector<Exact> cuts = {0};
    for (const Exact& probability : row) {
      DRAFTPROOF_CHECK(probability.sign() >= 0, "a negative probability");
      cuts.push_back(cuts.back() + probability);
    }
    DRAFTPROOF_CHECK(cuts.back() == 1, "a draw from a row that sums to " + to_string(cuts.back()));
    const std::size_t token = answer(std::move(cuts), address);
    path_.back().row = row;
    return static_cast<Token>(token);
  }

  void restart() { asked_ = 0; }

  /// Of the branch that was just run.
  Exact probability() const {
    DRAFTPROOF_CHECK(asked_ == path_.size(), "the program asked less than on the run before");
    return path_.empty() ? Exact(1) : path_.back().reach;
  }

  const RevealedCoins& coins() const { return coins_; }

  /// Moves to the next branch; false when there is none.
  bool advance() {
    while (!path_.empty()) {
      if (settle(path_.back(), path_.back().answer + 1)) return true;
      const Question& last = path_.back();
      if (last.is_new) {
        coins_.erase(last.address);
      } else {
        coins_[last.address] = last.known;
      }
      path_.pop_back();
    }
    return false;
  }

 private:
  struct Question {
    CoinAddress address;
    std::vector<Exact> cuts;  // answers are the cells between them
    LawRow row;               // what was drawn from
    Interval known;           // of the coin, before this question
    bool is_new = true;       // nobody asked about the coin before
    std::size_t answer = 0;
    Exact reach;  // probability of the answers up to this one
  };

  const Question& repeated(const CoinAddress& address) {
    const Question& question = path_[asked_++];
    DRAFTPROOF_CHECK(question.address == address, "the program asked something else than before");
    return question;
  }

  std::size_t answer(std::vector<Exact> cuts, const CoinAddress& address) {
    Question question;
    question.address = address;
    question.cuts = std::move(cuts);
    if (const auto known = coins_.find(address); known != coins_.end()) {
      question.known = known->second;
      question.is_new = false;
    }
    path_.push_back(std::move(question));
    ++asked_;
    DRAFTPROOF_CHECK(settle(path_.back(), 0), "a question without a possible answer");
    return path_.back().answer;
  }

  /// Gives `last`, the last of the path, the first answer from `first` on that its coin can give.
  bool settle(Question& last, std::size_t first) {
    for (std::size_t cell = first; cell + 1 < last.cuts.size(); ++cell) {
      const Interval then = meeting(last, cell);
      // Comparing rationals costs more than subtracting them, and a sign costs nothing.
      last.reach = then.high - then.low;
      if (last.reach.sign() <= 0) continue;
      last.answer = cell;
      if (!last.is_new) last.reach /= last.known.high - last.known.low;
      if (path_.size() > 1) last.reach *= path_[path_.size() - 2].reach;
      coins_[last.address] = then;
      return true;
    }
    return false;
  }

  /// Where the coin lies if it is in that cell; nowhere if low >= high.
  static Interval meeting(const Question& question, std::size_t cell) {
    const Exact& low = question.cuts[cell];
    const Exact& high = question.cuts[cell + 1];
    if (question.is_new) return {low, high};
    return {std::max(question.known.low, low), std::min(question.known.high, high)};
  }

  const AddressOf& address_of_;
  RevealedCoins coins_;
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
