#include "host/tool_stream.hpp"

#include <utility>

#include "base/json.hpp"
#include "tool/result_text.hpp"

namespace millrace::host {
namespace {

std::string outcome_json(const tool::ToolOutcome& outcome) {
  std::string out = "{";
  json::append_member(out, "content", outcome.content);
  json::append_raw_member(out, "success", outcome.is_error ? "false" : "true");
  if (outcome.is_error) {
    std::string error = "{";
    json::append_member(error, "type", outcome.code.empty() ? "tool_failed" : outcome.code);
    json::append_member(error, "message", outcome.content);
    json::append_raw_member(out, "error", error + "}");
  }
  if (!outcome.details.empty()) out.append(",").append(tool::members_json(outcome.details));
  out.push_back('}');
  return out;
}

}  // namespace

ToolRun::ToolRun(DrainQueue::StreamId id, HostServices& owner, ToolTask task)
    : id_(id), owner_(owner), task_(std::move(task)) {}

void ToolRun::start() {
  const auto self = shared_from_this();
  if (auto checked = task_.tools->check(task_.name, task_.arguments); !checked) {
    finished({.content = checked.error().message,
              .is_error = true,
              .code = std::string(checked.error().code_name())});
    return;
  }
  const std::string key = "call-" + std::to_string(id_);
  running_ = task_.tools->find(task_.name)->start({key, task_.name, task_.arguments, key}, self);
  if (is_over_) running_.reset();
}

void ToolRun::finished(tool::ToolOutcome outcome) {
  if (std::exchange(is_over_, true)) return;
  const auto self = shared_from_this();
  const tool::Tool* called = task_.tools->find(task_.name);
  outcome.content = tool::result_text(
      outcome.content, called != nullptr ? called->spec().result_limit : tool::result_limit_bytes);
  std::string json = outcome_json(outcome);
  owner_.on_output(json.size());
  owner_.queue.push_head(id_, std::move(json));
  owner_.queue.end(id_, {});
  owner_.forget(id_);
}

// The host waits for the outcome alone.
void ToolRun::progress(std::string_view json) {
  static_cast<void>(json);
}

void ToolRun::read_as(const PipeSpec& spec) {
  static_cast<void>(spec);
}

void ToolRun::cancel() {
  is_over_ = true;
  running_.reset();
}

void ToolRun::silence() {
  cancel();
}

}  // namespace millrace::host
