#include "oracle/explain.h"

#include <algorithm>

namespace draftproof::oracle {
namespace {

constexpr std::size_t kLabelWidth = 11;

/// "Label      text", later lines of the text indented to the same column.
std::string labelled(const std::string& label, const std::string& text) {
  if (text.empty()) return "";
  std::string result = label + std::string(kLabelWidth - label.size(), ' ');
  for (char character : text) {
    result += character;
    if (character == '\n') result += std::string(kLabelWidth, ' ');
  }
  return result + "\n";
}

std::string joined(const std::vector<Claim>& claims) {
  std::string text;
  for (Claim claim : claims) text += (text.empty() ? "" : ", ") + std::string(to_string(claim));
  return text;
}

std::string where(const reference::Place& place) {
  std::string text = place.kernel;
  if (place.ptx_line > 0) text += " at PTX line " + std::to_string(place.ptx_line);
  if (!place.source_file.empty())
    text += " (" + place.source_file + ":" + std::to_string(place.source_line) + ")";
  text += ", block " + std::to_string(place.block) + " warp " + std::to_string(place.warp);
  if (place.lanes != 0) {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string digits;
    for (std::uint32_t rest = place.lanes; rest != 0; rest >>= 4)
      digits.insert(digits.begin(), kDigits[rest & 15]);
    text += " lanes 0x" + digits;
  }
  return text;
}

}  // namespace

std::string explain(const Witness& witness) {
  return labelled("Let", witness.let) + labelled("Expected", witness.expected) +
         labelled("Observed", witness.observed) + labelled("Because", witness.because) +
         labelled("Replay", witness.replay);
}

std::string describe(const reference::Observation& observation) {
  std::string text = observation.check + " in " + where(observation.place);
  if (!observation.other.kernel.empty()) text += ", and " + where(observation.other);
  text += ": " + observation.message;
  if (!observation.schedule.empty()) text += " [" + observation.schedule + "]";
  if (observation.count > 1) text += " (seen " + std::to_string(observation.count) + " times)";
  return text;
}

std::string explain(const Verdict& verdict) {
  std::string text = std::string(to_string(verdict.kind)) + "  " + verdict.property + "  (" +
                     std::string(to_string(verdict.claim)) + ")  " + verdict.evidence + "\n";
  if (verdict.bound) text += labelled("Bound", "total variation <= " + *verdict.bound);
  if (verdict.kind == VerdictKind::kUpheld)
    text += labelled("Visible", verdict.smallest_visible_effect);
  text += labelled("Assuming", verdict.assumption);
  for (const std::string& note : verdict.notes) text += labelled("Note", note);
  for (const reference::Observation& observation : verdict.observations)
    text += labelled(observation.severity == reference::Severity::kUnsafe ? "Unsafe" : "Seen",
                     describe(observation));
  if (verdict.witness) text += explain(*verdict.witness);
  return text;
}

std::string headline(const std::vector<Verdict>& verdicts) {
  if (verdicts.empty()) return "Nothing was checked.";
  const Refutation result = refutation(verdicts);
  if (!result.refuted.empty()) {
    std::string text = "NOT " + joined(result.refuted);
    if (!result.also_refuted.empty()) text += " (also not: " + joined(result.also_refuted) + ")";
    return text;
  }
  if (merged(verdicts) == VerdictKind::kInconclusive) return "Inconclusive: not enough was shown.";
  std::vector<Claim> upheld;
  for (Claim claim : all_claims())
    for (const Verdict& verdict : verdicts)
      if (verdict.claim == claim && std::find(upheld.begin(), upheld.end(), claim) == upheld.end())
        upheld.push_back(claim);
  return "Upheld: " + joined(upheld) + ".";
}

}  // namespace draftproof::oracle
