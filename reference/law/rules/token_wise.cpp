// Token-wise verification.
#include "reference/law/rules/token_wise.h"

#include "reference/error.h"
#include "reference/law/rules/residual.h"

namespace draftproof::reference::law::rules {
namespace {

Exact expected_behind(const ModelCase& tiny, const std::function<Exact(const Drafted&)>& kept,
                      Context& context, int offset) {
  if (offset == tiny.draft_count()) return 1;
  const LawRow& target = tiny.target->row(context);
  const LawRow& draft = tiny.draft->row(context);
  Exact sum = 1;
  for (Token x = 0; x < tiny.vocab_size(); ++x) {
    if (draft[x] == 0) continue;
    const Exact mass = kept({target, draft, x, offset, tiny.report == DraftReport::kOneHot});
    if (mass == 0) continue;
    context.push_back(x);
    sum += mass * expected_behind(tiny, kept, context, offset + 1);
    context.pop_back();
  }
  return sum;
}

}  // namespace

Decision walk(const Verification& step, Chooser& chooser,
              const std::function<Exact(const Judged&)>& acceptance,
              const std::function<LawRow(const Judged&)>& recovered) {
  DRAFTPROOF_CHECK(step.draft.is_chain(), "not a chain");
  Decision decision;
  for (int node = 0; node < step.draft.size(); ++node) {
    const LawRow draft = step.draft.reported_row(node, step.vocab_size());
    const Judged judged{step.behind(node - 1), draft, step.draft.nodes[node].token, node};
    DRAFTPROOF_CHECK(draft[judged.token] > 0, "drafted, but of probability 0 in what was reported");
    if (!chooser.accept(acceptance(judged), {node, Purpose::kAccept})) {
      decision.last = chooser.draw(recovered(judged), {node, Purpose::kRecovered});
      return decision;
    }
    decision.accepted.push_back(node);
  }
  const int count = step.draft.size();
  decision.last = chooser.draw(step.behind(count - 1), {count, Purpose::kBonus});
  return decision;
}

LawRow residual_or_target(const LawRow& target, const LawRow& draft) {
  for (std::size_t v = 0; v < target.size(); ++v)
    if (target[v] > draft[v]) return residual(target, draft);
  return target;
}

int whole_number(const OptionValues& options, const std::string& name) {
  const Exact& value = options.at(name);
  if (boost::multiprecision::denominator(value) != 1)
    throw Error(ErrorKind::kInput,
                name + " = " + to_string(value) + " is not a whole number; give a whole one");
  return value.convert_to<int>();
}

Exact expected_of_walk(const ModelCase& tiny, const std::function<Exact(const Drafted&)>& kept) {
  Context context;
  return expected_behind(tiny, kept, context, 0);
}

}  // namespace draftproof::reference::law::rules
