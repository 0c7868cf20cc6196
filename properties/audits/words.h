// Words: how audits tell requests and completions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "properties/audits/audits.h"

namespace draftproof::properties::audits {

/// "1 2 3"; "none" for no token.
std::string words_of(std::span<const reference::Token> tokens);
/// "prompt 1 2 3, temperature 0, 8 tokens", other settings where they are on.
std::string words_of(const SamplingRequest& request);
/// "31.2": three digits. rounded_up: of four decimals, never below `value`.
std::string rounded(double value);
std::string rounded_up(double value);
/// "31.2%"
std::string percent(double share);

/// Why this is no completion of `request`, whatever its law: it failed, an id is no id, it is
/// longer than was asked for, or shorter with nothing that ended it.
std::optional<std::string> malformation(const SamplingRequest& request,
                                        const Completion& completion, int vocab_size);

/// `settings.request` for one of its prompts.
SamplingRequest request_for(const AuditSettings& settings, const Prompt& prompt,
                            const reference::Sampling& sampling);
/// The prompts, shortest first, those of one length in their order.
std::vector<Prompt> by_length(std::vector<Prompt> prompts);

/// A verdict that is not upheld yet.
oracle::Verdict verdict_of(const Engine& engine, const char* property, oracle::Claim claim);
void convict(oracle::Verdict& verdict, oracle::Witness witness, const AuditSettings& settings);

}  // namespace draftproof::properties::audits
