// PtxPatch: a fault planted in a kernel as compiled. Mutation of the text that runs, not of its
// source, shows that the properties see what a compiler, a merge or a hand can do to PTX.
//
// A patch is a text: a header of "key: value" lines, then hunks.
//
//   name: kernel_nan_ignored
//   statement: the maximum of a row skips NaN                    one sentence: what is wrong
//   report: vllm-project/vllm#53029                               the public report it stands for
//   kills: unjudgeable_rows_give_a_status                         the property expected to kill it
//   module: shaping
//   entry: draftproof_shape_rows_*                                may end in *
//
//   @@ 12                                                         places it must match, all entries
//    setp.lt.s32 {p}, {value}, 0;                                 ' ' must be there and stays
//   ...                                                           up to 24 lines of anything
//   -max.NaN.f32 {to}, {a}, {b};                                  '-' must be there and goes
//   +max.f32 {to}, {a}, {b};                                      '+' comes in its place
//
// PTX register numbers differ between builds of nvcc, so {name} captures one operand word
// ([A-Za-z0-9_$%.]+); named again, in the pattern or in a replacement, it means the same word.
// {entry} is the entry's name. Blanks count as one blank; empty lines, .loc lines and comments are
// stepped over, except comments that begin "draftproof:", with which a kernel's source marks a
// place (gpu/kernels/anchor.cuh).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/verifiers.h"

namespace draftproof::gpu {

struct PtxPatchLine {
  enum class Kind : unsigned char { kKeep, kRemove, kAdd, kSkip };
  Kind kind = Kind::kKeep;
  std::string pattern;
};

struct PtxPatchHunk {
  std::size_t matches = 0;
  std::vector<PtxPatchLine> lines;
  std::string place;  ///< "FILE:LINE"
};

struct PtxPatch {
  std::string name;
  std::string statement;
  std::string report;
  std::string kills;
  std::string module;
  std::string entry;
  std::vector<PtxPatchHunk> hunks;
};

/// Throws Error(kInput) with "file_name:line" for anything that is not as above.
PtxPatch parse_ptx_patch(std::string_view text, std::string_view file_name);

/// The broken module. Throws Error(kInput) "patch NAME no longer applies" when a hunk matches any
/// other number of places than it declares.
std::string patched(const PtxPatch& patch, std::string_view ptx);

/// The rules whose launches run what the patch breaks: those of its entries, or all of them for
/// shape_rows, which comes before every rule. None for the kernels of other families.
std::vector<std::string> rules_of(const PtxPatch& patch);

/// `texts` with the patch applied, named "mutant:NAME".
PatchedText patched_kernels(const PtxPatch& patch, KernelTexts texts);

}  // namespace draftproof::gpu
