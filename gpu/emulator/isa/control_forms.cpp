// Forms of control flow, barriers, fences and instructions without visible effect.
// PTX ISA 9.0, chapters 9.7.12, 9.7.13 and 9.7.19.
#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "gpu/emulator/isa/families.h"

namespace draftproof::gpu::emulator::isa {
namespace {

Form control(Kind kind, Binding binding, std::string signature = "") {
  Form form;
  form.prototype.kind = kind;
  form.binding = binding;
  form.signature = std::move(signature);
  return form;
}

std::optional<Form> find_branch(std::string_view name) {
  const bool is_uniform = name.size() > 4 && name.substr(name.size() - 4) == ".uni";
  const std::string_view base = is_uniform ? name.substr(0, name.size() - 4) : name;
  std::optional<Form> form;
  if (base == "bra") form = control(Kind::kBranch, Binding::kBranch);
  if (base == "brx.idx") form = control(Kind::kIndexedBranch, Binding::kIndexedBranch);
  if (base == "call") form = control(Kind::kNothing, Binding::kCall);
  if (base == "ret") form = control(Kind::kExit, Binding::kReturn);
  if (form) form->prototype.is_uniform = is_uniform;
  return form;
}

std::optional<Form> find_barrier(std::string_view name) {
  const bool is_bar = name.substr(0, 4) == "bar.";
  const bool is_barrier = name.substr(0, 8) == "barrier.";
  if (!is_bar && !is_barrier) return std::nullopt;
  std::string_view rest = name.substr(is_bar ? 4 : 8);
  if (rest.substr(0, 5) == "cta::") return std::nullopt;
  bool is_aligned = is_bar;
  // .aligned stands behind the operation, or for .red before the type; only `barrier` has it.
  std::string text(rest);
  if (const std::size_t at = text.find(".aligned"); is_barrier && at != std::string::npos) {
    text.erase(at, 8);
    is_aligned = true;
  }
  Form form = control(Kind::kBarrier, Binding::kBarrier);
  form.prototype.is_aligned = is_aligned;
  if (text == "sync") {
    form.prototype.barrier = BarrierMode::kSync;
    form.signature = ":ww?";
  } else if (text == "arrive") {
    form.prototype.barrier = BarrierMode::kArrive;
    form.signature = ":ww";
  } else if (text == "red.popc.u32") {
    form.prototype.barrier = BarrierMode::kReducePopc;
    form.signature = "w:wwp";
  } else if (text == "red.and.pred" || text == "red.or.pred") {
    form.prototype.barrier =
        text == "red.and.pred" ? BarrierMode::kReduceAnd : BarrierMode::kReduceOr;
    form.signature = "p:wwp";
  } else {
    return std::nullopt;
  }
  return form;
}

std::optional<Form> find_cluster_barrier(std::string_view name) {
  constexpr std::string_view kNames[] = {
      "barrier.cluster.arrive",         "barrier.cluster.arrive.aligned",
      "barrier.cluster.arrive.relaxed", "barrier.cluster.arrive.relaxed.aligned",
      "barrier.cluster.arrive.release", "barrier.cluster.arrive.release.aligned",
      "barrier.cluster.wait",           "barrier.cluster.wait.aligned",
      "barrier.cluster.wait.acquire",   "barrier.cluster.wait.acquire.aligned"};
  if (std::find(std::begin(kNames), std::end(kNames), name) == std::end(kNames)) {
    return std::nullopt;
  }
  Form form = control(Kind::kClusterBarrier, Binding::kPlain);
  const bool is_arrive = name.find("arrive") != std::string_view::npos;
  form.prototype.barrier = is_arrive ? BarrierMode::kArrive : BarrierMode::kSync;
  form.prototype.access.order = name.find("relaxed") != std::string_view::npos ? Order::kRelaxed
                                : is_arrive                                    ? Order::kRelease
                                                                               : Order::kAcquire;
  form.prototype.access.scope = Scope::kCluster;
  form.prototype.is_aligned = name.find("aligned") != std::string_view::npos;
  return form;
}

std::optional<Form> find_fence(std::string_view name) {
  Form form = control(Kind::kFence, Binding::kPlain);
  Access& access = form.prototype.access;
  const auto words = split_words(name);
  const auto scope = [&](std::string_view word) {
    if (word == "cta")
      access.scope = Scope::kCta;
    else if (word == "cluster")
      access.scope = Scope::kCluster;
    else if (word == "gpu" || word == "gl")
      access.scope = Scope::kGpu;
    else if (word == "sys")
      access.scope = Scope::kSystem;
    else
      return false;
    return true;
  };
  if (words[0] == "membar" && words.size() == 2) {
    // membar.{cta,gl,sys} is fence.sc of the scope (PTX ISA 9.0, 9.7.13.4).
    access.order = Order::kSequential;
    if (words[1] == "gpu" || words[1] == "cluster" || !scope(words[1])) return std::nullopt;
    return form;
  }
  if (words[0] != "fence") return std::nullopt;
  if (words.size() == 2) {
    access.order = Order::kAcquireRelease;
    if (words[1] == "gl" || !scope(words[1])) return std::nullopt;
    return form;
  }
  if (words.size() != 3 || words[2] == "gl" || !scope(words[2])) return std::nullopt;
  if (words[1] == "sc")
    access.order = Order::kSequential;
  else if (words[1] == "acq_rel")
    access.order = Order::kAcquireRelease;
  else if (words[1] == "acquire")
    access.order = Order::kAcquire;
  else if (words[1] == "release")
    access.order = Order::kRelease;
  else
    return std::nullopt;
  return form;
}

bool is_without_effect(std::string_view name) {
  constexpr std::string_view kNames[] = {"griddepcontrol.launch_dependents",
                                         "griddepcontrol.wait",
                                         "prefetch.global.L1",
                                         "prefetch.global.L2",
                                         "prefetch.local.L1",
                                         "prefetch.local.L2",
                                         "prefetch.L1",
                                         "prefetch.L2",
                                         "prefetchu.L1",
                                         "prefetch.global.L2::evict_last",
                                         "prefetch.global.L2::evict_normal",
                                         "applypriority.global.L2::evict_normal",
                                         "applypriority.L2::evict_normal",
                                         "pmevent",
                                         "setmaxnreg.inc.sync.aligned.u32",
                                         "setmaxnreg.dec.sync.aligned.u32"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

}  // namespace

std::optional<Form> find_control_form(std::string_view name) {
  if (auto form = find_branch(name)) return form;
  if (auto form = find_cluster_barrier(name)) return form;
  if (name == "bar.warp.sync") return control(Kind::kWarpBarrier, Binding::kPlain, ":w");
  if (auto form = find_barrier(name)) return form;
  if (auto form = find_fence(name)) return form;
  if (name == "exit") return control(Kind::kExit, Binding::kPlain);
  if (name == "trap" || name == "brkpt") return control(Kind::kTrap, Binding::kPlain);
  if (name == "nanosleep.u32") return control(Kind::kSleep, Binding::kPlain, ":w");
  if (is_without_effect(name)) return control(Kind::kNothing, Binding::kPlain, ":*");
  return std::nullopt;
}

std::optional<Form> find_collective_form(std::string_view name) {
  Form form = control(Kind::kShuffle, Binding::kPlain);
  Instruction& prototype = form.prototype;
  const auto is = [&](std::string_view text, Kind kind, std::string_view signature) {
    if (name != text) return false;
    prototype.kind = kind;
    form.signature = signature;
    return true;
  };
  const std::pair<std::string_view, ShuffleMode> shuffles[] = {
      {"shfl.sync.up.b32", ShuffleMode::kUp},
      {"shfl.sync.down.b32", ShuffleMode::kDown},
      {"shfl.sync.bfly.b32", ShuffleMode::kButterfly},
      {"shfl.sync.idx.b32", ShuffleMode::kIndex}};
  for (const auto& [text, mode] : shuffles) {
    prototype.shuffle = mode;
    if (is(text, Kind::kShuffle, "W:wwww")) return form;
  }
  const std::pair<std::string_view, VoteMode> votes[] = {
      {"vote.sync.all.pred", VoteMode::kAll},
      {"vote.sync.any.pred", VoteMode::kAny},
      {"vote.sync.uni.pred", VoteMode::kUniform}};
  for (const auto& [text, mode] : votes) {
    prototype.vote = mode;
    if (is(text, Kind::kVote, "p:pw")) return form;
  }
  prototype.vote = VoteMode::kBallot;
  if (is("vote.sync.ballot.b32", Kind::kVote, "w:pw")) return form;
  // Match: destinations[1] is the predicate of .all; modifier 1 means .all.
  if (is("match.any.sync.b32", Kind::kMatch, "w:ww")) return form;
  if (is("match.any.sync.b64", Kind::kMatch, "w:qw")) return form;
  prototype.modifier = 1;
  if (is("match.all.sync.b32", Kind::kMatch, "W:ww")) return form;
  if (is("match.all.sync.b64", Kind::kMatch, "W:qw")) return form;
  prototype.modifier = 0;
  struct ReduxName {
    std::string_view text;
    ReduxMode mode;
    ElementType type;
  };
  const ReduxName reductions[] = {{"redux.sync.add.s32", ReduxMode::kAdd, ElementType::kSigned},
                                  {"redux.sync.add.u32", ReduxMode::kAdd, ElementType::kUnsigned},
                                  {"redux.sync.min.s32", ReduxMode::kMin, ElementType::kSigned},
                                  {"redux.sync.min.u32", ReduxMode::kMin, ElementType::kUnsigned},
                                  {"redux.sync.max.s32", ReduxMode::kMax, ElementType::kSigned},
                                  {"redux.sync.max.u32", ReduxMode::kMax, ElementType::kUnsigned},
                                  {"redux.sync.and.b32", ReduxMode::kAnd, ElementType::kBits},
                                  {"redux.sync.or.b32", ReduxMode::kOr, ElementType::kBits},
                                  {"redux.sync.xor.b32", ReduxMode::kXor, ElementType::kBits}};
  for (const auto& [text, mode, type] : reductions) {
    prototype.redux = mode;
    prototype.access.type = type;
    if (is(text, Kind::kRedux, "w:ww")) return form;
  }
  if (is("activemask.b32", Kind::kActiveMask, "w:")) return form;
  // The leader's lane is destinations[0], absent for a sink; the predicate is destinations[1].
  if (is("elect.sync", Kind::kElect, "W:w")) return form;
  return std::nullopt;
}

}  // namespace draftproof::gpu::emulator::isa
