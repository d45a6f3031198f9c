#include "app/undefined_import.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

#include "api/api_answers.hpp"
#include "api/memory_routes.hpp"
#include "base/ascii.hpp"
#include "base/shown.hpp"
#include "chat/ids.hpp"
#include "chat/legacy_import.hpp"

namespace millrace::app {
namespace {

using json::Tree;
namespace fs = std::filesystem;

constexpr std::string_view marker_name = "legacy_private_42_migrated.json";
constexpr std::string_view memory_name = "memory.json";

std::optional<std::string> file_text(const fs::path& path) {
  std::error_code failed;
  if (!fs::is_regular_file(path, failed)) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

// It becomes the field of a response.
bool is_media_type(std::string_view text) {
  const auto fits = [](char c) {
    return is_ascii_alphanumeric(c) || c == '/' || c == '+' || c == '-' || c == '.';
  };
  return std::all_of(text.begin(), text.end(), fits) &&
         std::count(text.begin(), text.end(), '/') == 1;
}

// The files of a folder in the order of their names; none where there is no such folder.
std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    if (entry.is_regular_file(failed)) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

class UndefinedImport {
 public:
  UndefinedImport(store::StorageBackend& backend, std::string principal,
                  const StoreProgress& progress)
      : backend_(backend),
        principal_(std::move(principal)),
        progress_(progress),
        offset_(api::utc_offset_minutes(backend.now())) {}

  Result<void> read_conversations(const fs::path& folder) {
    for (const fs::path& path : files_in(folder)) {
      if (path.extension() != ".json") continue;
      const auto text = file_text(path);
      auto file = Tree::parse(text.value_or(""));
      auto conversation =
          file ? chat::import_conversation(file.value(), offset_, backend_.now()) : std::nullopt;
      if (!conversation) {
        ++skipped_;
        continue;
      }
      MILLRACE_TRY(keep(std::move(*conversation)));
    }
    return {};
  }

  Result<void> read_history(const fs::path& data) {
    const fs::path marker = data / "webchat" / marker_name;
    const fs::path source = data / "history" / "private_42.json";
    std::error_code failed;
    if (fs::exists(marker, failed) || !fs::exists(source, failed)) return {};
    const auto text = file_text(source);
    auto records = Tree::parse(text.value_or(""));
    if (!records || !records.value().is_array()) {
      ++skipped_;
      return {};
    }
    auto conversation = chat::import_history(records.value(), "data/history/private_42.json",
                                             offset_, backend_.now());
    const auto count = static_cast<std::int64_t>(conversation.messages.items().size());
    if (count > 0) MILLRACE_TRY(keep(std::move(conversation)));
    return write_marker(marker, source, count);
  }

  Result<void> read_attachments(const fs::path& folder) {
    for (const fs::path& path : files_in(folder / "metadata")) {
      const auto text = file_text(path);
      auto metadata = Tree::parse(text.value_or(""));
      const std::string id(metadata ? metadata.value()["id"].string() : std::string_view());
      const auto bytes = chat::is_attachment_id(id) ? file_text(folder / "blobs" / id)
                                                    : std::optional<std::string>();
      if (!bytes) {
        ++skipped_;
        continue;
      }
      store::AttachmentRow row;
      row.id = id;
      row.principal = principal_;
      row.name = chat::attachment_name(metadata.value()["name"].string());
      row.media = metadata.value()["media_type"].string();
      if (!is_media_type(row.media)) row.media = "application/octet-stream";
      auto hash = backend_.put_blob(*bytes);
      if (!hash) return std::move(hash).error();
      row.hash = std::move(hash).value();
      row.created = chat::parse_time(metadata.value()["created_at"].string(), offset_)
                        .value_or(backend_.now());
      MILLRACE_TRY(backend_.put_attachment(row));
      ++attachments_;
      report();
    }
    return {};
  }

  Result<void> read_facts(const fs::path& path, std::size_t most) {
    const auto text = file_text(path);
    if (!text) return {};
    auto list = Tree::parse(*text);
    if (!list || !list.value().is_array()) {
      ++skipped_;
      return {};
    }
    auto imported = api::import_facts(backend_, principal_, list.value(), most);
    if (!imported) return std::move(imported).error();
    facts_ += imported.value().added;
    facts_beyond_ += imported.value().beyond;
    skipped_ += imported.value().skipped;
    report();
    return {};
  }

  [[nodiscard]] Tree result() const {
    Tree result = Tree::object();
    result.set("conversations", Tree::integer(conversations_));
    result.set("messages", Tree::integer(messages_));
    result.set("attachments", Tree::integer(attachments_));
    result.set("facts", Tree::integer(facts_));
    result.set("factsBeyond", Tree::integer(facts_beyond_));
    result.set("skipped", Tree::integer(skipped_));
    return result;
  }

 private:
  void report() const {
    progress_(static_cast<std::uint64_t>(conversations_ + messages_ + attachments_ + facts_));
  }

  Result<void> keep(chat::ImportedConversation conversation) {
    auto known = backend_.thread(principal_, conversation.id);
    if (!known) return std::move(known).error();
    skipped_ += static_cast<std::int64_t>(conversation.skipped);
    if (known.value()) {
      ++skipped_;
      return {};
    }
    store::ThreadRow row{
        principal_, conversation.id, {}, conversation.created_ms, conversation.updated_ms, {}};
    row.title = conversation.titled["title"].string();
    conversation.titled.erase("title");
    row.extra = conversation.titled.to_json();
    MILLRACE_TRY(backend_.put_thread(row));
    std::vector<store::MessageRow> rows;
    for (const Tree& message : conversation.messages.items()) {
      rows.push_back({std::string(message["id"].string()), static_cast<std::int64_t>(rows.size()),
                      message.to_json(json::Surrogates::keep)});
    }
    MILLRACE_TRY(backend_.put_messages(principal_, conversation.id, rows));
    // Messages set the time of their thread.
    MILLRACE_TRY(backend_.put_thread(row));
    ++conversations_;
    messages_ += static_cast<std::int64_t>(rows.size());
    report();
    return {};
  }

  Result<void> write_marker(const fs::path& marker, const fs::path& source, std::int64_t count) {
    Tree text = Tree::object();
    text.set("version", Tree::integer(1));
    text.set("migrated_at", Tree::integer(backend_.now()));
    text.set("source", source.string());
    text.set("count", Tree::integer(count));
    std::error_code failed;
    fs::create_directories(marker.parent_path(), failed);
    std::ofstream file(marker, std::ios::binary);
    file << text.to_json();
    file.close();
    if (file) return {};
    return make_error(Errc::store_failed, "The marker of the import could not be written to " +
                                              shown_text(marker.string()) + ".");
  }

  store::StorageBackend& backend_;
  std::string principal_;
  const StoreProgress& progress_;
  std::int64_t offset_;
  std::int64_t conversations_ = 0;
  std::int64_t messages_ = 0;
  std::int64_t attachments_ = 0;
  std::int64_t facts_ = 0;
  std::int64_t facts_beyond_ = 0;
  std::int64_t skipped_ = 0;
};

}  // namespace

Result<Tree> import_undefined(store::StorageBackend& backend, const std::string& folder,
                              const std::string& principal, std::size_t most_facts,
                              const StoreProgress& progress) {
  const fs::path data(folder);
  std::error_code failed;
  const bool has_any = fs::is_directory(data / "webchat", failed) ||
                       fs::is_directory(data / "history", failed) ||
                       fs::is_regular_file(data / memory_name, failed);
  if (!has_any) {
    return make_error(Errc::invalid_option, shown_text(folder) +
                                                " is no data folder: it has neither `webchat` nor "
                                                "`history`, and no `memory.json`.");
  }
  UndefinedImport work(backend, principal, progress);
  MILLRACE_TRY(work.read_conversations(data / "webchat" / "conversations"));
  MILLRACE_TRY(work.read_history(data));
  MILLRACE_TRY(work.read_attachments(data / "webchat" / "attachments"));
  MILLRACE_TRY(work.read_facts(data / memory_name, most_facts));
  return work.result();
}

}  // namespace millrace::app
