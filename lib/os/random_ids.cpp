#include "os/random_ids.hpp"

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <string_view>
#include <system_error>

namespace millrace::os {
namespace {

using Id = std::array<std::uint8_t, 16>;

// Random bytes for several ids: to ask the system for each takes longer than all else of it, tens
// of microseconds on some machines.
struct Store {
  std::array<Id, 16> ids;
  std::size_t used = ids.size();
};

Id random_id() {
  thread_local Store store;
  if (store.used == store.ids.size()) {
    if (getentropy(store.ids.data(), sizeof(store.ids)) != 0) {
      throw std::system_error(errno, std::generic_category(), "getentropy");
    }
    store.used = 0;
  }
  return store.ids[store.used++];
}

}  // namespace

std::string RandomIds::next_id() {
  Id bytes = random_id();
  bytes[6] = static_cast<std::uint8_t>((bytes[6] & 0x0FU) | 0x40U);
  bytes[8] = static_cast<std::uint8_t>((bytes[8] & 0x3FU) | 0x80U);
  constexpr std::string_view digits = "0123456789abcdef";
  std::string id;
  id.reserve(36);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    if (at == 4 || at == 6 || at == 8 || at == 10) id.push_back('-');
    id.push_back(digits[bytes[at] >> 4U]);
    id.push_back(digits[bytes[at] & 0x0FU]);
  }
  return id;
}

}  // namespace millrace::os
