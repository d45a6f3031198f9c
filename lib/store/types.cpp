#include "store/types.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "journal/wire.hpp"
#include "os/random_ids.hpp"

namespace millrace::store {
namespace {

constexpr std::string_view run_prefix = "run_";
constexpr unsigned counter_bits = 12;

// Milliseconds of the clock, and a counter behind them: each is greater than the one before, also
// where the clock is set back.
std::uint64_t next_time() {
  static std::atomic<std::uint64_t> last{0};
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
  const std::uint64_t now = static_cast<std::uint64_t>(ms) << counter_bits;
  std::uint64_t before = last.load();
  std::uint64_t next = 0;
  do {
    next = std::max(now, before + 1);
  } while (!last.compare_exchange_weak(before, next));
  return next;
}

}  // namespace

RunId RunId::of_bytes(std::string_view bytes) {
  RunId id;
  if (bytes.size() == size) std::copy(bytes.begin(), bytes.end(), id.bytes_.begin());
  return id;
}

RunId RunId::of_uuid(std::string_view uuid) {
  const auto bytes = journal::uuid_bytes(uuid);
  return bytes ? of_bytes({bytes->data(), bytes->size()}) : RunId();
}

RunId RunId::next() {
  RunId id = of_uuid(os::RandomIds().next_id());
  const std::uint64_t time = next_time();
  const std::uint64_t ms = time >> counter_bits;
  for (unsigned at = 0; at < 6; ++at) id.bytes_[at] = static_cast<char>(ms >> (8 * (5 - at)));
  id.bytes_[6] = static_cast<char>(0x70U | ((time >> 8U) & 0x0FU));
  id.bytes_[7] = static_cast<char>(time & 0xFFU);
  return id;
}

std::optional<RunId> RunId::parse(std::string_view text) {
  if (text.size() != run_prefix.size() + 2 * size || !text.starts_with(run_prefix)) {
    return std::nullopt;
  }
  std::string uuid(text.substr(run_prefix.size()));
  for (const std::size_t dash : {8U, 13U, 18U, 23U}) uuid.insert(dash, 1, '-');
  const RunId id = of_uuid(uuid);
  return id.empty() ? std::nullopt : std::optional(id);
}

std::string RunId::text() const {
  std::string uuid = journal::uuid_text(bytes());
  std::erase(uuid, '-');
  return std::string(run_prefix) + uuid;
}

}  // namespace millrace::store
