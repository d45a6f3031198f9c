#include "store/types.hpp"

#include <algorithm>

#include "journal/wire.hpp"

namespace millrace::store {
namespace {

constexpr std::string_view run_prefix = "run_";

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
