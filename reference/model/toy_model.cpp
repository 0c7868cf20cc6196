// Toy models.
#include "reference/model/toy_model.h"

#include <algorithm>
#include <utility>

#include "reference/error.h"

namespace draftproof::reference::model {
namespace {

class FunctionModel final : public ToyModel {
 public:
  FunctionModel(int vocab_size, std::function<LawRow(const Context&)> law)
      : vocab_size_(vocab_size), law_(std::move(law)) {}
  int vocab_size() const override { return vocab_size_; }

 protected:
  LawRow compute(const Context& context) const override { return law_(context); }

 private:
  int vocab_size_;
  std::function<LawRow(const Context&)> law_;
};

}  // namespace

const LawRow& ToyModel::row(const Context& context) const {
  const auto found = known_.find(context);
  if (found != known_.end()) return found->second;
  LawRow row = compute(context);
  DRAFTPROOF_CHECK(row.size() == static_cast<std::size_t>(vocab_size()), "a row of another size");
  Exact sum = 0;
  for (const Exact& probability : row) {
    DRAFTPROOF_CHECK(probability >= 0, "a negative probability");
    sum += probability;
  }
  DRAFTPROOF_CHECK(sum == 1, "a row that sums to " + to_string(sum));
  return known_.emplace(context, std::move(row)).first->second;
}

ToyModelPtr function_model(int vocab_size, std::function<LawRow(const Context&)> law) {
  return std::make_shared<FunctionModel>(vocab_size, std::move(law));
}

ToyModelPtr position_model(const std::vector<Distribution>& rows) {
  if (rows.empty()) throw Error(ErrorKind::kInput, "no row; give at least one law");
  for (const Distribution& row : rows)
    if (row.vocab_size() != rows[0].vocab_size())
      throw Error(ErrorKind::kInput, "laws have " + std::to_string(rows[0].vocab_size()) + " and " +
                                         std::to_string(row.vocab_size()) +
                                         " tokens; give all of them the same number");
  return function_model(static_cast<int>(rows[0].vocab_size()), [rows](const Context& context) {
    return rows[std::min(context.size(), rows.size() - 1)].probabilities();
  });
}

ToyModelPtr greedy_model(ToyModelPtr target) {
  const int vocab_size = target->vocab_size();
  return function_model(vocab_size,
                        [target = std::move(target), vocab_size](const Context& context) {
                          return one_hot_row(vocab_size, first_maximum(target->row(context)));
                        });
}

}  // namespace draftproof::reference::model
