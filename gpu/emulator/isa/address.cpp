// cvta, isspacep and mapa: generic addresses are a window's base plus the address in the space,
// global and constant addresses are generic as they are (program.h). A cluster is one block: its
// rank 0 has the address itself.
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

/// The same place in the shared memory of another block of the cluster. There is none but rank 0:
/// of every other rank the address is one that no block has, and its use is reported as out of
/// bounds.
template <class T, T kNowhere>
struct MapToBlock {
  DRAFTPROOF_INLINE static T apply(T a, std::uint32_t rank) { return rank == 0 ? a : a | kNowhere; }
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
  const Handler narrow = lanes<MapToBlock<std::uint32_t, std::uint32_t{1} << 31>>();
  const Handler wide = lanes<MapToBlock<std::uint64_t, kWindowBytes / 2>>();
  for (const std::string space : {"", ".shared::cluster"}) {
    table.add("mapa" + space + ".u32", "w:ww", narrow);
    table.add("mapa" + space + ".u64", "q:qw", wide);
  }
}

}  // namespace draftproof::gpu::emulator::isa
