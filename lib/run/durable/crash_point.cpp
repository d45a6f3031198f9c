#include "run/durable/crash_point.hpp"

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "base/json_tree.hpp"
#include "journal/page.hpp"
#include "journal/record_json.hpp"

namespace millrace::run {
namespace {

constexpr std::string_view before_commit = "before_commit";
constexpr std::string_view after_commit = "commit";
// What a shell reports of a process that SIGKILL ended.
constexpr int killed = 128 + 9;

struct SharedPoint {
  std::atomic<bool> is_set = false;
  std::mutex mutex;
  CrashPoint point;
};

SharedPoint& shared_point() {
  static SharedPoint shared;
  return shared;
}

// ToolResult is tool_result.
bool is_kind(std::string_view type, std::string_view kind) {
  std::string name;
  for (const char letter : type) {
    const bool is_upper = letter >= 'A' && letter <= 'Z';
    if (is_upper && !name.empty()) name.push_back('_');
    name.push_back(is_upper ? static_cast<char>(letter - 'A' + 'a') : letter);
  }
  return name == kind;
}

bool is_at(const journal::Record& record, const CrashPoint& point) {
  const json::Tree json = journal::record_json(record);
  const json::Tree& body = json[json.find("fact") != nullptr ? "fact" : "event"];
  if (!is_kind(body["type"].string(), point.kind)) return false;
  return point.name.empty() || body["name"].string() == point.name;
}

void pass(CrashPoint& point) {
  if (--point.count == 0) std::_Exit(killed);
}

}  // namespace

void set_crash_point(CrashPoint point) {
  SharedPoint& shared = shared_point();
  const std::lock_guard lock(shared.mutex);
  shared.point = std::move(point);
  shared.is_set = shared.point.count > 0;
}

void pass_commit_begin() {
  SharedPoint& shared = shared_point();
  if (!shared.is_set) return;
  const std::lock_guard lock(shared.mutex);
  if (shared.point.kind == before_commit) pass(shared.point);
}

void pass_crash_point(std::string_view page, std::uint64_t last, std::uint64_t count) {
  SharedPoint& shared = shared_point();
  if (!shared.is_set) return;
  const std::lock_guard lock(shared.mutex);
  if (shared.point.kind == after_commit) return pass(shared.point);
  if (page.empty()) return;
  journal::PageReader reader(page, last, count);
  for (;;) {
    const auto record = reader.next();
    if (!record || record.value() == nullptr) return;
    if (is_at(*record.value(), shared.point)) pass(shared.point);
  }
}

}  // namespace millrace::run
