// Alert rules: what an audit cannot watch for ever, as Prometheus rules over the counters that
// engines export. An alarm of these is no verdict: acceptance near 0 or 1 has been a sign of
// corruption as often as of load (vllm-project/vllm#44487), and a draft that was never made looks
// like a slow engine (ggml-org/llama.cpp#25345).
#pragma once

#include <string>
#include <vector>

namespace draftproof::tools::audit {

/// Engines that rules are written for, and where their metrics were read.
std::vector<std::string> alert_engines();

/// A file of rules (YAML) for one engine, or for all of them ("auto"). Throws Error(kInput) at
/// "--engine" that lists the engines.
std::string alert_rules(const std::string& engine);

}  // namespace draftproof::tools::audit
