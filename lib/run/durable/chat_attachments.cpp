// Files that belong to conversations.
#include <optional>
#include <utility>

#include "base/base64.hpp"
#include "base/shown.hpp"
#include "os/random_ids.hpp"
#include "run/durable/chat_options.hpp"

namespace millrace::run::front {
namespace {

using json::Tree;
using store::StorageBackend;

constexpr std::string_view unknown_media = "application/octet-stream";

Tree attachment_info(const store::AttachmentRow& row) {
  Tree info = Tree::object();
  info.set("id", row.id);
  info.set("name", row.name);
  info.set("media", row.media);
  info.set("size", Tree::integer(row.size));
  info.set("sha256", row.hash);
  if (!row.thread.empty()) info.set("threadId", row.thread);
  info.set("createdAt", Tree::integer(row.created));
  return info;
}

}  // namespace

Result<Tree> put_attachment(StorageBackend& backend, const Tree& options) {
  store::AttachmentRow row;
  row.principal = principal_of(options);
  row.thread = text_at(options, "threadId");
  if (!row.thread.empty()) {
    auto thread = thread_at(backend, row.principal, row.thread);
    if (!thread) return std::move(thread).error();
  }
  auto name = text_option(options["name"], "name");
  if (!name) return std::move(name).error();
  row.name = std::move(name).value();
  row.media = options["media"].is_string() ? options["media"].string() : unknown_media;
  const auto bytes = base64::decode(options["data"].string());
  if (!bytes) return make_error(Errc::invalid_argument, "`data` must be Base64.");
  auto hash = backend.put_blob(*bytes);
  if (!hash) return std::move(hash).error();
  row.id = "att_" + os::RandomIds().next_id();
  row.hash = std::move(hash).value();
  row.size = static_cast<std::int64_t>(bytes->size());
  row.created = backend.now();
  MILLRACE_TRY(backend.put_attachment(row));
  return attachment_info(row);
}

Result<Tree> get_attachment(StorageBackend& backend, const Tree& options) {
  const std::string id = text_at(options, "id");
  auto row = backend.attachment(principal_of(options), id);
  if (!row) return row.error();
  if (!row.value()) {
    return make_error(Errc::attachment_not_found, "There is no attachment " + shown_text(id) + ".");
  }
  auto bytes = backend.blob(row.value()->hash);
  if (!bytes) return bytes.error();
  if (!bytes.value())
    return make_error(Errc::store_damaged, "The bytes of an attachment are gone.");
  Tree info = attachment_info(*row.value());
  info.set("data", base64::encode(*bytes.value()));
  return info;
}

Result<Tree> delete_attachment(StorageBackend& backend, const Tree& options) {
  auto was_there = backend.delete_attachment(principal_of(options), text_at(options, "id"));
  if (!was_there) return was_there.error();
  return Tree::flag(was_there.value());
}

}  // namespace millrace::run::front
