// Coin schemes.
#include "reference/law/coin_scheme.h"

#include "reference/error.h"

namespace draftproof::reference::law {
namespace {

CoinAddress by_position(const CoinUse& use, const CoinPlace& place) {
  return {place.request, place.base + static_cast<std::uint32_t>(use.offset), use.purpose,
          static_cast<std::uint32_t>(use.slot), 0};
}

/// The base grows with every iteration of a request, so base + 1 tells iterations apart.
CoinAddress fresh(const CoinUse& use, const CoinPlace& place) {
  CoinAddress address = by_position(use, place);
  address.iteration = place.base + 1;
  return address;
}

bool decides(Purpose purpose) {
  return purpose == Purpose::kAccept || purpose == Purpose::kTreeLevel;
}

bool recurs_by_position(const CoinAddress& address, std::uint32_t base) {
  return address.iteration == 0 && address.position >= base;
}

bool never(const CoinAddress&, std::uint32_t) { return false; }

/// By position where `is_keyed` says so, else fresh.
CoinScheme keyed(std::string name, std::string statement,
                 const std::function<bool(Purpose)>& is_keyed) {
  return {std::move(name), std::move(statement),
          [is_keyed](const CoinUse& use, const CoinPlace& place) {
            return is_keyed(use.purpose) ? by_position(use, place) : fresh(use, place);
          },
          recurs_by_position};
}

CoinScheme offset_keyed() {
  return {"offset-keyed", "accept coins by offset: the same ones in every iteration",
          [](const CoinUse& use, const CoinPlace& place) {
            return decides(use.purpose) ? by_position(use, {place.request, 0}) : fresh(use, place);
          },
          [](const CoinAddress& address, std::uint32_t) { return address.iteration == 0; }};
}

std::vector<CoinScheme> all_schemes() {
  return {
      {"fresh", "every coin of every iteration at an address of its own", fresh, never},
      keyed("position-keyed", "every coin keyed by request, position, purpose and slot",
            [](Purpose) { return true; }),
      keyed("accept-keyed", "accept coins keyed by position, all others fresh", decides),
      keyed("draft-keyed", "the draft's noise keyed by position, all others fresh",
            [](Purpose purpose) { return purpose == Purpose::kDraft; }),
      offset_keyed(),
      {"request-shared", "fresh in every iteration, but the same for all requests of a batch",
       [](const CoinUse& use, const CoinPlace& place) {
         return fresh(use, {0, place.batch_base});
       },
       never},
      {"row-keyed", "keyed by position and by the request's row in the batch, not by the request",
       [](const CoinUse& use, const CoinPlace& place) {
         return by_position(use, {place.row, place.base});
       },
       recurs_by_position},
      {"one-coin", "fresh, but one accept coin serves all positions of an iteration",
       [](const CoinUse& use, const CoinPlace& place) {
         CoinUse first = use;
         if (decides(use.purpose)) first.offset = 0;
         return fresh(first, place);
       },
       never},
  };
}

}  // namespace

const std::vector<CoinScheme>& coin_schemes() {
  static const std::vector<CoinScheme> list = all_schemes();
  return list;
}

const CoinScheme& coin_scheme(std::string_view name) {
  std::string known;
  for (const CoinScheme& scheme : coin_schemes()) {
    if (scheme.name == name) return scheme;
    known += (known.empty() ? "" : ", ") + scheme.name;
  }
  throw Error(ErrorKind::kInput,
              "unknown coin scheme '" + std::string(name) + "'; known: " + known);
}

}  // namespace draftproof::reference::law
