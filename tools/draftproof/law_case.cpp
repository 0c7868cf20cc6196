#include "tools/draftproof/law_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "reference/distribution.h"
#include "reference/error.h"
#include "reference/shaping.h"
#include "reference/status.h"
#include "tools/draftproof/typed_row.h"

namespace draftproof::tools {
namespace {

using reference::Distribution;

/// Every sequence is written down, so their number is what a case costs.
constexpr double kSequencesMax = 100000;

Distribution shaped(const std::string& row, const LawSettings& settings, const std::string& place) {
  reference::Sampling sampling;
  sampling.temperature = settings.temperature.value_or(1.0);
  sampling.top_k = settings.top_k.value_or(0);
  sampling.top_p = settings.top_p.value_or(1.0);
  sampling.min_p = settings.min_p.value_or(0.0);
  reference::validate(sampling);
  const reference::Preset& preset = reference::preset(settings.preset);
  std::vector<float> logits;
  for (const std::string& entry : parts_of(row, ',')) logits.push_back(logit_of(entry, place));
  const reference::Status status = reference::logit_status(logits);
  if (status == reference::Status::kOk && reference::is_greedy(sampling, preset)) {
    return reference::point_mass(logits.size(), reference::greedy_token(logits));
  }
  const reference::MassRow masses = reference::shape(logits, sampling, preset);
  if (masses.status != reference::Status::kOk) {
    refuse(fmt::format("this row has no law: {}", reference::to_string(masses.status)), place);
  }
  return reference::distribution_of(masses);
}

std::vector<Distribution> rows_of(const std::string& text, const LawSettings& settings,
                                  const std::string& option, std::size_t count) {
  std::vector<Distribution> rows;
  const std::vector<std::string> texts = parts_of(text, ';');
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string place = texts.size() == 1 ? option : fmt::format("{} row {}", option, i + 1);
    if (texts[i].empty()) refuse("no token; write a law as .1,.3,.6", place);
    rows.push_back(has_shaping(settings) ? shaped(texts[i], settings, place)
                                         : reference::distribution_from_text(texts[i], place));
    if (rows.back().vocab_size() != rows.front().vocab_size()) {
      refuse(fmt::format("{} tokens, the first row has {}; give every row the same vocabulary",
                         rows.back().vocab_size(), rows.front().vocab_size()),
             place);
    }
  }
  if (rows.size() == 1) rows.resize(count, rows.front());
  if (rows.size() != count) {
    refuse(fmt::format("{} rows; give one, or {}: one per position{}", rows.size(), count,
                       option == "--target" ? " and one for the bonus" : ""),
           option);
  }
  return rows;
}

}  // namespace

bool has_shaping(const LawSettings& settings) {
  return settings.temperature || settings.top_k || settings.top_p || settings.min_p;
}

reference::law::ModelCase law_case(const LawSettings& settings) {
  if (settings.length < 0) {
    refuse(fmt::format("{} is no draft length; give 0 or more", settings.length), "--length");
  }
  if (settings.preset != "default" && !has_shaping(settings)) {
    refuse("needs logits; add --temperature, --top-k, --top-p or --min-p", "--preset");
  }
  if (settings.target.empty()) {
    refuse("no token; write a law as .1,.3,.6, or take rows from --toy or --method", "--target");
  }
  const auto length = static_cast<std::size_t>(settings.length);
  // One row is resized to every position only after the size of the whole is known to be sane.
  const std::size_t vocab_size = parts_of(parts_of(settings.target, ';').front(), ',').size();
  const double sequences = std::pow(static_cast<double>(vocab_size), settings.length + 1.0);
  if (sequences > kSequencesMax || length > 16) {
    refuse(fmt::format("a vocabulary of {} and {} drafted tokens make {:.3g} sequences, more than "
                       "{:.0f}, or more than 16 tokens; shorten the draft",
                       vocab_size, length, sequences, kSequencesMax),
           "--length");
  }
  const auto target = rows_of(settings.target, settings, "--target", length + 1);
  std::vector<Distribution> draft;
  if (length > 0) {
    if (settings.draft.empty()) refuse("missing; write a law as .7,.2,.1", "--draft");
    draft = rows_of(settings.draft, settings, "--draft", length);
    if (draft.front().vocab_size() != target.front().vocab_size()) {
      refuse(fmt::format("{} tokens, the target has {}; give both the same vocabulary",
                         draft.front().vocab_size(), target.front().vocab_size()),
             "--draft");
    }
  }
  const auto target_model = reference::model::position_model(target);
  const auto draft_model = draft.empty() ? target_model : reference::model::position_model(draft);
  return reference::law::chain_case(target_model, draft_model, settings.length);
}

}  // namespace draftproof::tools
