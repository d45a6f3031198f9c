// Artifacts, attachments and their bytes.
#include <optional>
#include <utility>

#include "base/sha256.hpp"
#include "store/memory/backend_impl.hpp"
#include "store/rules.hpp"

namespace millrace::store::memory {

Result<void> Backend::put_artifact(const ArtifactRow& artifact) {
  if (!tables_.threads.contains(owned(artifact.principal, artifact.thread))) {
    return make_error(Errc::invalid_argument, "There is no thread '" + artifact.thread + "'.");
  }
  tables_.artifacts[owned(artifact.principal, artifact.id)] = artifact;
  return {};
}

Result<std::optional<ArtifactRow>> Backend::artifact(std::string_view principal,
                                                     std::string_view id) {
  return found_in(tables_.artifacts, owned(principal, id));
}

Result<std::vector<ArtifactRow>> Backend::artifacts(std::string_view principal,
                                                    std::string_view thread) {
  std::vector<ArtifactRow> rows;
  for (const auto& [id, row] : tables_.artifacts) {
    if (row.principal != principal || row.thread != thread) continue;
    rows.push_back(row);
    rows.back().content.clear();
  }
  return rows;
}

Result<std::vector<ArtifactRow>> Backend::artifacts_of(std::string_view principal,
                                                       std::string_view after, std::size_t limit) {
  std::vector<ArtifactRow> rows;
  for (auto at = tables_.artifacts.upper_bound(owned(principal, after));
       at != tables_.artifacts.end() && at->first.first == principal && rows.size() < limit; ++at) {
    rows.push_back(at->second);
    rows.back().content.clear();
  }
  return rows;
}

Result<bool> Backend::delete_artifact(std::string_view principal, std::string_view id) {
  return tables_.artifacts.erase(owned(principal, id)) == 1;
}

Result<std::string> Backend::put_blob(std::string_view bytes) {
  std::string hash = sha256_hex(bytes);
  tables_.blobs.try_emplace(hash, memory::Blob{std::string(bytes), now()});
  return hash;
}

Result<std::optional<std::string>> Backend::blob(std::string_view hash) {
  const auto found = found_in(tables_.blobs, std::string(hash));
  return found ? std::optional(found->bytes) : std::nullopt;
}

Result<void> Backend::put_attachment(const AttachmentRow& attachment) {
  if (!tables_.blobs.contains(attachment.hash)) {
    return make_error(Errc::invalid_argument, "There is no blob '" + attachment.hash + "'.");
  }
  AttachmentRow& row = tables_.attachments[attachment.id];
  const std::string replaced = std::exchange(row, attachment).hash;
  tables_.erase_blob(replaced);
  return {};
}

Result<std::optional<AttachmentRow>> Backend::attachment(std::string_view principal,
                                                         std::string_view id) {
  auto found = owned_in(tables_.attachments, principal, id);
  if (!found) return found;
  const auto blob = tables_.blobs.find(found->hash);
  if (blob != tables_.blobs.end())
    found->size = static_cast<std::int64_t>(blob->second.bytes.size());
  return found;
}

Result<bool> Backend::delete_attachment(std::string_view principal, std::string_view id) {
  const auto row = owned_in(tables_.attachments, principal, id);
  if (!row) return false;
  tables_.attachments.erase(std::string(id));
  tables_.erase_blob(row->hash);
  return true;
}

}  // namespace millrace::store::memory
