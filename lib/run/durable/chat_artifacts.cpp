// Artifacts of a chat front end, and what all of its operations read of their options.
#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/letter_case.hpp"
#include "base/shown.hpp"
#include "run/durable/chat_options.hpp"

namespace millrace::run::front {
namespace {

using json::Tree;
using store::StorageBackend;

constexpr std::size_t default_limit = 50;
constexpr std::int64_t most_limit = 1000;

// Ids that are made later are greater.
std::string new_artifact_id(std::int64_t now) {
  static std::atomic<std::int64_t> last = 0;
  constexpr int room = 12;  // bits for ids of one millisecond
  std::int64_t before = last;
  std::int64_t made = 0;
  do {
    made = std::max(before + 1, now << room);
  } while (!last.compare_exchange_weak(before, made));
  constexpr std::size_t digits = 16;
  std::array<char, digits> text{};
  const auto written = std::to_chars(text.data(), text.data() + digits, made, digits);
  const auto count = static_cast<std::size_t>(written.ptr - text.data());
  return "art_" + std::string(digits - count, '0') + std::string(text.data(), count);
}

Tree artifact_info(const store::ArtifactRow& row) {
  Tree info = Tree::object();
  info.set("id", row.id);
  info.set("title", row.title);
  info.set("type", row.type);
  info.set("threadId", row.thread);
  info.set("updatedAt", Tree::integer(row.updated));
  return info;
}

Result<Tree> whole_artifact(const store::ArtifactRow& row) {
  Tree info = artifact_info(row);
  auto content = Tree::parse(row.content);
  if (!content) return make_error(Errc::store_damaged, "The content of an artifact is not JSON.");
  info.set("content", std::move(content).value());
  return info;
}

struct ArtifactFilter {
  std::string name;
  std::string thread;  // "": any
  std::optional<std::vector<std::string>> types;

  [[nodiscard]] bool fits(const store::ArtifactRow& row) const {
    if (!thread.empty() && row.thread != thread) return false;
    if (types && std::find(types->begin(), types->end(), row.type) == types->end()) return false;
    return name.empty() || find_folded(row.title, name) != std::string::npos;
  }
};

ArtifactFilter filter_of(const Tree& options) {
  ArtifactFilter filter;
  filter.name = folded(options["name"].string());
  filter.thread = options["threadId"].string();
  const Tree& type = options["type"];
  if (type.is_string()) filter.types = {std::string(type.string())};
  if (!type.is_array()) return filter;
  filter.types.emplace();
  for (const Tree& one : type.items()) filter.types->emplace_back(one.string());
  return filter;
}

Error no_artifact_here(std::string_view id) {
  return make_error(Errc::artifact_not_found, "There is no artifact " + shown_text(id) + ".");
}

Result<store::ArtifactRow> artifact_at(StorageBackend& backend, const Tree& options) {
  const std::string id = text_at(options, "id");
  auto row = backend.artifact(principal_of(options), id);
  if (!row) return row.error();
  if (!row.value()) return no_artifact_here(id);
  return std::move(*row.value());
}

}  // namespace

std::string text_at(const Tree& options, std::string_view name) {
  return std::string(options[name].string());
}

std::string principal_of(const Tree& options) {
  return text_at(options, "principal");
}

Error wrong_value(std::string_view name, std::string_view wanted, const Tree& value) {
  return make_error(Errc::invalid_argument, "`" + std::string(name) + "` must be " +
                                                std::string(wanted) + ", not " +
                                                shown_value(value) + ".");
}

Result<std::size_t> limit_of(const Tree& options) {
  const Tree& given = options["limit"];
  if (given.is_null()) return default_limit;
  const std::int64_t limit = given.integer_or(0);
  if (limit < 1) return wrong_value("limit", "a positive whole number", given);
  return static_cast<std::size_t>(std::min(limit, most_limit));
}

Result<std::string> text_option(const Tree& value, std::string_view name) {
  if (value.is_string()) return std::string(value.string());
  return wrong_value(name, "a string", value);
}

Result<store::ThreadRow> thread_at(StorageBackend& backend, const std::string& principal,
                                   const std::string& id) {
  auto row = backend.thread(principal, id);
  if (!row) return row.error();
  if (!row.value()) {
    return make_error(Errc::thread_not_found, "There is no thread " + shown_text(id) + ".");
  }
  return std::move(*row.value());
}

Result<Tree> list_artifacts(StorageBackend& backend, const Tree& options) {
  const auto limit = limit_of(options);
  if (!limit) return limit.error();
  const ArtifactFilter filter = filter_of(options);
  Tree page = Tree::object();
  Tree& artifacts = page.set("artifacts", Tree::array());
  std::string after = text_at(options, "cursor");
  std::string last;
  while (true) {
    auto rows = backend.artifacts_of(principal_of(options), after, most_limit);
    if (!rows) return rows.error();
    if (rows.value().empty()) return page;
    after = rows.value().back().id;
    for (const store::ArtifactRow& row : rows.value()) {
      if (!filter.fits(row)) continue;
      if (artifacts.items().size() == limit.value()) {
        page.set("nextCursor", last);
        return page;
      }
      artifacts.push(artifact_info(row));
      last = row.id;
    }
  }
}

Result<Tree> get_artifact(StorageBackend& backend, const Tree& options) {
  auto row = artifact_at(backend, options);
  if (!row) return std::move(row).error();
  return whole_artifact(row.value());
}

Result<Tree> create_artifact(StorageBackend& backend, const Tree& options) {
  const Tree& given = options["artifact"];
  store::ArtifactRow row;
  row.principal = principal_of(options);
  for (const auto& [name, target] :
       {std::pair("title", &row.title), {"type", &row.type}, {"threadId", &row.thread}}) {
    auto text = text_option(given[std::string_view(name)], name);
    if (!text) return std::move(text).error();
    *target = std::move(text).value();
  }
  auto thread = thread_at(backend, row.principal, row.thread);
  if (!thread) return std::move(thread).error();
  row.updated = backend.now();
  row.id = given["id"].is_string() ? text_at(given, "id") : new_artifact_id(row.updated);
  row.content = given["content"].to_json(json::Surrogates::keep);
  MILLRACE_TRY(backend.put_artifact(row));
  return whole_artifact(row);
}

Result<Tree> update_artifact(StorageBackend& backend, const Tree& options) {
  auto row = artifact_at(backend, options);
  if (!row) return std::move(row).error();
  const Tree& title = options["title"];
  if (!title.is_null() && !title.is_string()) return wrong_value("title", "a string", title);
  if (title.is_string()) row.value().title = title.string();
  if (options.find("content") != nullptr) {
    row.value().content = options["content"].to_json(json::Surrogates::keep);
  }
  row.value().updated = backend.now();
  MILLRACE_TRY(backend.put_artifact(row.value()));
  return artifact_info(row.value());
}

Result<Tree> delete_artifact(StorageBackend& backend, const Tree& options) {
  auto was_there = backend.delete_artifact(principal_of(options), text_at(options, "id"));
  if (!was_there) return was_there.error();
  return Tree::flag(was_there.value());
}

}  // namespace millrace::run::front
