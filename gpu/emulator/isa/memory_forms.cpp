// Forms of ld, st, atom, red and cp.async: words in the order of the PTX ISA (9.0, chapter 9.7.9),
// with the orders that older compilers write (ld.volatile.global, atom.global.relaxed...).
#include <optional>
#include <string_view>
#include <vector>

#include "gpu/emulator/isa/families.h"

namespace draftproof::gpu::emulator::isa {
namespace {

/// The words of an opcode, consumed from the front or wherever a set of words may stand once.
class Words {
 public:
  explicit Words(std::string_view name) : words_(split_words(name)) {}
  bool accept(std::string_view word) {
    if (at_ >= words_.size() || words_[at_] != word) return false;
    ++at_;
    return true;
  }
  std::string_view peek() const { return at_ < words_.size() ? words_[at_] : std::string_view{}; }
  void skip() { ++at_; }
  bool done() const { return at_ >= words_.size(); }

 private:
  std::vector<std::string_view> words_;
  std::size_t at_ = 0;
};

std::optional<Space> space_of(std::string_view word) {
  if (word == "global") return Space::kGlobal;
  if (word == "shared" || word == "shared::cta") return Space::kShared;
  if (word == "shared::cluster") return Space::kSharedCluster;
  if (word == "local") return Space::kLocal;
  if (word == "param" || word == "param::entry" || word == "param::func") return Space::kParam;
  if (word == "const") return Space::kConst;
  return std::nullopt;
}

std::optional<Order> order_of(std::string_view word) {
  if (word == "weak") return Order::kWeak;
  if (word == "volatile") return Order::kVolatile;
  if (word == "relaxed") return Order::kRelaxed;
  if (word == "acquire") return Order::kAcquire;
  if (word == "release") return Order::kRelease;
  if (word == "acq_rel") return Order::kAcquireRelease;
  return std::nullopt;
}

std::optional<Scope> scope_of(std::string_view word) {
  if (word == "cta") return Scope::kCta;
  if (word == "cluster") return Scope::kCluster;
  if (word == "gpu") return Scope::kGpu;
  if (word == "sys") return Scope::kSystem;
  return std::nullopt;
}

bool is_eviction(std::string_view word) {
  return word == "L1::evict_normal" || word == "L1::evict_unchanged" || word == "L1::evict_first" ||
         word == "L1::evict_last" || word == "L1::no_allocate" || word == "L2::evict_first" ||
         word == "L2::evict_last" || word == "L2::evict_normal";
}
bool is_prefetch(std::string_view word) {
  return word == "L2::64B" || word == "L2::128B" || word == "L2::256B";
}

struct Element {
  ElementType type;
  std::uint8_t bytes;
};

std::optional<Element> element_of(std::string_view word) {
  if (word == "bf16") return Element{ElementType::kBfloat, 2};
  if (word == "f16") return Element{ElementType::kFloat, 2};
  if (word == "f16x2") return Element{ElementType::kFloat16x2, 4};
  if (word == "bf16x2") return Element{ElementType::kBfloat16x2, 4};
  if (word.size() < 2) return std::nullopt;
  const std::string_view size = word.substr(1);
  const std::uint8_t bytes = size == "8" ? 1 : size == "16" ? 2 : size == "32" ? 4 : 8;
  if (bytes == 8 && size != "64") return std::nullopt;
  switch (word.front()) {
    case 'b':
      return Element{ElementType::kBits, bytes};
    case 'u':
      return Element{ElementType::kUnsigned, bytes};
    case 's':
      return Element{ElementType::kSigned, bytes};
    case 'f':
      if (bytes < 4) return std::nullopt;
      return Element{ElementType::kFloat, bytes};
    default:
      return std::nullopt;
  }
}

/// What may stand between the opcode and the type of a memory instruction.
struct Qualifiers {
  bool has_order = false, has_scope = false, has_space = false;
  bool scope_needs_order = true;  ///< atom and red are relaxed without an order
};

/// Order, scope and space, each at most once, in any order.
void parse_qualifiers(Words& words, Access& access, Qualifiers& seen) {
  while (!words.done()) {
    const std::string_view word = words.peek();
    if (const auto order = order_of(word); order && !seen.has_order) {
      access.order = *order;
      seen.has_order = true;
    } else if (const auto scope = scope_of(word);
               scope && !seen.has_scope && (seen.has_order || !seen.scope_needs_order)) {
      access.scope = *scope;
      seen.has_scope = true;
    } else if (const auto space = space_of(word); space && !seen.has_space) {
      access.space = *space;
      seen.has_space = true;
    } else {
      return;
    }
    words.skip();
  }
}

/// A scope belongs to relaxed, acquire and release, and to them only.
bool is_scope_right(const Access& access, const Qualifiers& seen) {
  const bool needs = access.order == Order::kRelaxed || access.order == Order::kAcquire ||
                     access.order == Order::kRelease || access.order == Order::kAcquireRelease;
  return needs == seen.has_scope;
}

bool parse_vector(Words& words, Access& access) {
  if (words.accept("v2")) access.elements = 2;
  if (words.accept("v4")) access.elements = 4;
  const std::optional<Element> element = element_of(words.peek());
  if (!element) return false;
  words.skip();
  access.type = element->type;
  access.element_bytes = element->bytes;
  return words.done() && access.elements * access.element_bytes <= 16;
}

Form memory_form(Kind kind, Binding binding) {
  Form form;
  form.prototype.kind = kind;
  form.binding = binding;
  return form;
}

std::optional<Form> find_load(Words& words) {
  Form form = memory_form(Kind::kLoad, Binding::kLoad);
  Access& access = form.prototype.access;
  Qualifiers seen;
  parse_qualifiers(words, access, seen);
  if (access.order == Order::kRelease || access.order == Order::kAcquireRelease ||
      !is_scope_right(access, seen)) {
    return std::nullopt;
  }
  const bool is_weak = !seen.has_order || access.order == Order::kWeak;
  bool has_cache = false;
  for (const std::string_view cache : {"ca", "cg", "cs", "lu", "cv"}) {
    if (!has_cache && is_weak && words.accept(cache)) has_cache = true;
  }
  if (is_weak && access.space == Space::kGlobal && words.accept("nc")) access.noncoherent = true;
  while (is_eviction(words.peek())) words.skip();
  if (is_prefetch(words.peek())) words.skip();
  if (!parse_vector(words, access)) return std::nullopt;
  if (access.type == ElementType::kBfloat || access.type == ElementType::kFloat16x2 ||
      access.type == ElementType::kBfloat16x2) {
    return std::nullopt;
  }
  return form;
}

std::optional<Form> find_store(Words& words) {
  Form form = memory_form(Kind::kStore, Binding::kStore);
  Access& access = form.prototype.access;
  Qualifiers seen;
  parse_qualifiers(words, access, seen);
  if (access.order == Order::kAcquire || access.order == Order::kAcquireRelease ||
      access.space == Space::kConst || !is_scope_right(access, seen)) {
    return std::nullopt;
  }
  const bool is_weak = !seen.has_order || access.order == Order::kWeak;
  bool has_cache = false;
  for (const std::string_view cache : {"wb", "cg", "cs", "wt"}) {
    if (!has_cache && is_weak && words.accept(cache)) has_cache = true;
  }
  while (is_eviction(words.peek())) words.skip();
  if (!parse_vector(words, access)) return std::nullopt;
  if (access.type == ElementType::kBfloat || access.type == ElementType::kFloat16x2 ||
      access.type == ElementType::kBfloat16x2) {
    return std::nullopt;
  }
  return form;
}

bool accept_operation(Words& words, Access& access) {
  struct Name {
    std::string_view word;
    AtomicOperation operation;
  };
  constexpr Name kNames[] = {
      {"add", AtomicOperation::kAdd},       {"and", AtomicOperation::kAnd},
      {"or", AtomicOperation::kOr},         {"xor", AtomicOperation::kXor},
      {"exch", AtomicOperation::kExchange}, {"cas", AtomicOperation::kCompareAndSwap},
      {"inc", AtomicOperation::kIncrement}, {"dec", AtomicOperation::kDecrement},
      {"min", AtomicOperation::kMin},       {"max", AtomicOperation::kMax}};
  for (const Name& name : kNames) {
    if (words.accept(name.word)) {
      access.atomic = name.operation;
      return true;
    }
  }
  return false;
}

/// Which types an operation has (PTX ISA 9.0, 9.7.13.5 and .6).
bool is_atomic_legal(const Access& access, bool is_atom, bool has_noftz) {
  const ElementType type = access.type;
  const int bytes = access.element_bytes;
  const bool is_half = type == ElementType::kFloat16x2 || type == ElementType::kBfloat16x2 ||
                       type == ElementType::kBfloat || (type == ElementType::kFloat && bytes == 2);
  const bool is_swap = access.atomic == AtomicOperation::kCompareAndSwap;
  if (is_swap) return type == ElementType::kBits && bytes >= 2 && is_atom && !has_noftz;
  if (has_noftz != is_half || (bytes < 4 && !is_half)) return false;
  switch (access.atomic) {
    case AtomicOperation::kAdd:
      return type == ElementType::kUnsigned || type == ElementType::kFloat || is_half ||
             (type == ElementType::kSigned && bytes == 4);
    case AtomicOperation::kAnd:
    case AtomicOperation::kOr:
    case AtomicOperation::kXor:
      return type == ElementType::kBits;
    case AtomicOperation::kExchange:
      return type == ElementType::kBits && is_atom;
    case AtomicOperation::kCompareAndSwap:
      break;
    case AtomicOperation::kIncrement:
    case AtomicOperation::kDecrement:
      return type == ElementType::kUnsigned && bytes == 4;
    case AtomicOperation::kMin:
    case AtomicOperation::kMax:
      return type == ElementType::kUnsigned || type == ElementType::kSigned;
  }
  return false;
}

std::optional<Form> find_atomic(Words& words, bool is_atom) {
  Form form = is_atom ? memory_form(Kind::kAtomic, Binding::kAtomic)
                      : memory_form(Kind::kReduction, Binding::kReduction);
  Access& access = form.prototype.access;
  access.order = Order::kRelaxed;
  access.scope = Scope::kGpu;
  Qualifiers seen;
  seen.scope_needs_order = false;
  parse_qualifiers(words, access, seen);
  if (!accept_operation(words, access)) return std::nullopt;
  // CUDA 12 and later write atom.add.release.gpu.u32: the qualifiers behind the operation.
  parse_qualifiers(words, access, seen);
  const bool has_noftz = words.accept("noftz");
  if (!parse_vector(words, access) || access.elements != 1) return std::nullopt;
  if (access.order == Order::kWeak || access.order == Order::kVolatile) return std::nullopt;
  if (!is_atom && access.order != Order::kRelaxed && access.order != Order::kRelease) {
    return std::nullopt;
  }
  if (access.space == Space::kLocal || access.space == Space::kParam ||
      access.space == Space::kConst) {
    return std::nullopt;
  }
  if (!is_atomic_legal(access, is_atom, has_noftz)) return std::nullopt;
  return form;
}

std::optional<Form> find_copy_async(Words& words) {
  if (words.accept("commit_group")) {
    return words.done() ? std::optional(memory_form(Kind::kCopyCommit, Binding::kPlain))
                        : std::nullopt;
  }
  if (words.accept("wait_all")) {
    return words.done() ? std::optional(memory_form(Kind::kCopyWait, Binding::kPlain))
                        : std::nullopt;
  }
  if (words.accept("wait_group")) {
    Form form = memory_form(Kind::kCopyWait, Binding::kPlain);
    form.signature = ":i";
    return words.done() ? std::optional(form) : std::nullopt;
  }
  Form form = memory_form(Kind::kCopyAsync, Binding::kCopyAsync);
  form.prototype.access.space = Space::kShared;
  if (!words.accept("ca") && !words.accept("cg")) return std::nullopt;
  if (!words.accept("shared") && !words.accept("shared::cta")) return std::nullopt;
  if (!words.accept("global")) return std::nullopt;
  if (is_prefetch(words.peek())) words.skip();
  return words.done() ? std::optional(form) : std::nullopt;
}

}  // namespace

std::optional<Form> find_memory_form(std::string_view name) {
  Words words(name);
  if (words.accept("ld")) return find_load(words);
  if (words.accept("st")) return find_store(words);
  if (words.accept("atom")) return find_atomic(words, true);
  if (words.accept("red")) return find_atomic(words, false);
  if (words.accept("cp") && words.accept("async")) return find_copy_async(words);
  return std::nullopt;
}

}  // namespace draftproof::gpu::emulator::isa
