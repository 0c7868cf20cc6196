// Lengths from the past: how many tokens the next iteration drafts, from how many the last ones
// kept. transformers' heuristic schedule (2026-02), SGLang's adaptive steps
// (srt/speculative/adaptive_spec_params.py, read at 015c8726), TensorRT-LLM's SpeculationGate, and
// the tables by batch size of vLLM and TensorRT-LLM.
#pragma once

#include <map>
#include <vector>

#include "reference/draft/length/length_policy.h"

namespace draftproof::reference::draft {

/// transformers: two more when all were kept, else one fewer, never less than 1. Starts with
/// `initial` (the engine: 20). Memory: the length.
LengthPolicy heuristic_length(int initial);

/// SGLang's defaults of one batch-size slot.
struct AverageLengthOptions {
  std::vector<int> candidates = {1, 3, 5, 7};  ///< ascending
  int initial = 3;
  Exact weight = Exact(1, 5);  ///< of the newest observation
  int warmup = 10;             ///< iterations before the first change
  int interval = 5;            ///< iterations between changes
  Exact rise_margin = 0;
  Exact fall_margin = Exact(-1, 4);
};

/// An exponential average of the accepted length, which starts at initial - 1, decides between
/// candidates: down while it is at most the next lower candidate - 1/2 + fall_margin (for candidate
/// 0: 1/2 + fall_margin), else up while it exceeds the current one - 1/2 + rise_margin. From 0 it
/// always goes one up. Memory: length, iterations, and the average as a fraction.
/// Throws Error(kInput) when `initial` is no candidate or the average needs more than 63 bits.
LengthPolicy average_length(const AverageLengthOptions& options);

/// TensorRT-LLM: once the mean accepted length of the last `window` iterations is below
/// `threshold`, nothing is drafted any more, ever. Memory: 1 when off, then the window.
LengthPolicy acceptance_gate(int window, const Exact& threshold);

/// So many tokens at so many running requests: the entry with the largest key that does not exceed
/// `running`; none: as asked for.
LengthPolicy scheduled_length(std::map<int, int> by_running, int running);

/// Tokens drafted by all requests of one round share a budget: a request gets what those before it
/// left. It depends on their drafts, not on its own. Memory (shared): tokens left.
LengthPolicy shared_budget(int budget, LengthPolicy inner = {});

}  // namespace draftproof::reference::draft
