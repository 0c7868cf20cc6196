// cvta and isspacep: generic addresses are a window's base plus the address in the space, global
// and constant addresses are generic as they are (program.h).
#include <string>

#include "gpu/emulator/isa/families.h"
#include "gpu/emulator/isa/lanes.h"

namespace draftproof::gpu::emulator::isa {
namespace {

template <std::uint64_t kBase>
struct ToGeneric {
  DRAFTPROOF_INLINE static std::uint64_t apply(std::uint64_t a) { return a + kBase; }
};
template <std::uint64_t kBase>
struct FromGeneric {
  DRAFTPROOF_INLINE static std::uint64_t apply(std::uint64_t a) { return a - kBase; }
};
template <std::uint64_t kBase>
struct IsInSpace {
  DRAFTPROOF_INLINE static bool apply(std::uint64_t a) { return a - kBase < kWindowBytes; }
};

template <std::uint64_t kBase>
void add_space(FormTable& table, const std::string& name) {
  table.add("cvta" + name + ".u64", "q:q", lanes<ToGeneric<kBase>>());
  table.add("cvta.to" + name + ".u64", "q:q", lanes<FromGeneric<kBase>>());
}

}  // namespace

void add_address_forms(FormTable& table) {
  add_space<0>(table, ".global");
  add_space<0>(table, ".const");
  add_space<kSharedWindow>(table, ".shared");
  add_space<kSharedWindow>(table, ".shared::cta");
  add_space<kLocalWindow>(table, ".local");
  add_space<kParamWindow>(table, ".param");
  table.add("isspacep.global", "p:q", lanes<IsInSpace<0>>());
  table.add("isspacep.shared", "p:q", lanes<IsInSpace<kSharedWindow>>());
  table.add("isspacep.shared::cta", "p:q", lanes<IsInSpace<kSharedWindow>>());
  table.add("isspacep.local", "p:q", lanes<IsInSpace<kLocalWindow>>());
}

}  // namespace draftproof::gpu::emulator::isa
