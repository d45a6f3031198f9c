#include "encoder/ag_ui.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/json.hpp"

namespace millrace::encoder {
namespace {

constexpr std::string_view protocol_version = "1.0";
constexpr std::string_view default_reason = "input_required";

// True when `version` is MAJOR.MINOR of at least 1.0.
bool is_modern(std::string_view version) {
  unsigned major = 0;
  const auto [end, error] = std::from_chars(version.data(), version.data() + version.size(), major);
  return error == std::errc() && major >= 1 && end != version.data();
}

// What happens to an event of the source that has no type of ours.
enum class Passage : std::uint8_t { drop, keep, modern_only, step_start, step_end, finished };

constexpr std::array<std::pair<std::string_view, Passage>, 9> passages{{
    {"RUN_STARTED", Passage::drop},
    {"RUN_FINISHED", Passage::finished},
    {"STEP_STARTED", Passage::step_start},
    {"STEP_FINISHED", Passage::step_end},
    {"SUBAGENT_STARTED", Passage::modern_only},
    {"SUBAGENT_FINISHED", Passage::modern_only},
    {"SUBAGENT_ERROR", Passage::modern_only},
    {"RAW", Passage::keep},
    {"CUSTOM", Passage::keep},
}};

Passage passage_of(std::string_view type) {
  const auto* row = std::find_if(passages.begin(), passages.end(),
                                 [&](const auto& r) { return r.first == type; });
  return row == passages.end() ? Passage::modern_only : row->second;
}

}  // namespace

AgUiEncoder::AgUiEncoder(AgUiOptions options)
    : options_(std::move(options)), modern_(is_modern(options_.client_version)) {
  spelling_.tool_result_parts = modern_;
}

void AgUiEncoder::start() {
  if (started_) return;
  started_ = true;
  frame_begin();
  out_.append(R"({"type":"RUN_STARTED")");
  json::append_member(out_, "threadId", options_.thread_id);
  json::append_member(out_, "runId", options_.run_id);
  if (!options_.parent_run_id.empty()) {
    json::append_member(out_, "parentRunId", options_.parent_run_id);
  }
  json::append_member(out_, "protocolVersion", protocol_version);
  out_.push_back('}');
  frame_end();
}

void AgUiEncoder::write(const event::Event& event) {
  frame_begin();
  event::write_json(out_, event, spelling_);
  frame_end();
}

void AgUiEncoder::on_event(const event::Event& event) {
  if (ended_) return;
  start();
  std::visit(event::Overloaded{
                 [&](const event::Usage& usage) { on_usage(usage); },
                 [&](const event::ToolResult& result) { on_tool_result(event, result); },
                 [&](const event::Foreign& foreign) { on_foreign(foreign); },
                 [&](const event::Failed& failed) { fail(failed.code, failed.message); },
                 [](const event::Finish&) { /* RUN_FINISHED says it */ },
                 [&](const event::TextStart&) { write(event); },
                 [&](const event::TextDelta&) { write(event); },
                 [&](const event::TextEnd&) { write(event); },
                 [&](const event::ReasoningSpanStart&) { write(event); },
                 [&](const event::ReasoningSpanEnd&) { write(event); },
                 [&](const event::ReasoningStart&) { write(event); },
                 [&](const event::ReasoningDelta&) { write(event); },
                 [&](const event::ReasoningEnd&) { write(event); },
                 [&](const event::EncryptedValue&) { write(event); },
                 [&](const event::ToolStart&) { write(event); },
                 [&](const event::ToolArgs&) { write(event); },
                 [&](const event::ToolEnd&) { write(event); },
                 [&](const event::StateSnapshot&) { write(event); },
                 [&](const event::StateDelta&) { write(event); },
                 [&](const event::MessagesSnapshot&) { write(event); },
                 [&](const event::ActivitySnapshot&) { write(event); },
                 [&](const event::ActivityDelta&) { write(event); },
                 [&](const event::ProviderState&) { write(event); },
                 [&](const event::Citation&) { write(event); },
                 [&](const event::Interrupt& interrupt) { on_interrupt(interrupt); },
                 [&](const event::Reset&) { write(event); },
                 [&](const event::Retry&) { write(event); },
                 [&](const event::Stage&) { write(event); },
                 [&](const event::Warning&) { write(event); },
             },
             event.body);
}

void AgUiEncoder::on_usage(const event::Usage& usage) {
  if (!usage_.empty()) usage_.push_back(',');
  event::write_usage(usage_, usage);
}

void AgUiEncoder::on_tool_result(const event::Event& event, const event::ToolResult& result) {
  write(event);
  if (!result.failed) return;
  frame_begin();
  out_.append(R"({"type":"CUSTOM","name":"millrace.tool_error","value":{)");
  json::append_member(out_, "toolCallId", result.id);
  json::append_member(out_, "error", result.error);
  out_.append("}}");
  frame_end();
}

void AgUiEncoder::on_foreign(const event::Foreign& foreign) {
  const auto pass = [&] { write(event::Event{foreign}); };
  const Passage passage = passage_of(foreign.type);
  if (passage == Passage::drop || (passage == Passage::modern_only && !modern_)) return;
  if (passage == Passage::keep || passage == Passage::modern_only) return pass();
  json::Document document;
  const auto source = document.parse(foreign.json);
  if (!source) return;
  const json::Value& value = source.value();
  if (passage == Passage::finished) {
    for (const std::string_view key : {"result", "outcome"}) {
      if (!value[key].is_nothing() && modern_) {
        json::append_raw_member(finished_members_, key, value[key].to_json());
      }
    }
    return;
  }
  const std::string name(value["stepName"].string());
  const auto open = std::find(open_steps_.begin(), open_steps_.end(), name);
  if (passage == Passage::step_start && open == open_steps_.end()) {
    open_steps_.push_back(name);
    pass();
  } else if (passage == Passage::step_end && open != open_steps_.end()) {
    open_steps_.erase(open);
    pass();
  }
}

// An interrupt ends the run: RUN_FINISHED says what the client must answer.
void AgUiEncoder::on_interrupt(const event::Interrupt& interrupt) {
  json::Document document;
  const auto parsed = document.parse(interrupt.json);
  if (!parsed) return;
  const json::Value& value = parsed.value();
  const std::string_view reason = interrupt.reason.empty() ? default_reason : interrupt.reason;
  for (const json::Value item : value.items()) add_interrupt(item, reason);
  if (!value.is_array() && !value.is_null()) add_interrupt(value, reason);
}

void AgUiEncoder::add_interrupt(const json::Value& value, std::string_view reason) {
  std::string id(value["id"].filled_string().value_or(value["interrupt_id"].string()));
  if (id.empty()) id = options_.run_id + "-interrupt-" + std::to_string(interrupt_ids_.size() + 1);
  if (std::find(interrupt_ids_.begin(), interrupt_ids_.end(), id) != interrupt_ids_.end()) return;
  interrupt_ids_.push_back(id);
  const json::Value question = value["value"].exists() ? value["value"] : value;
  std::string_view message = question.string();
  for (const std::string_view key : {"message", "question", "description"}) {
    if (message.empty()) message = question[key].string();
  }
  if (!interrupts_.empty()) interrupts_.push_back(',');
  interrupts_.push_back('{');
  json::append_member(interrupts_, "id", id);
  json::append_member(interrupts_, "reason", reason);
  if (!message.empty()) json::append_member(interrupts_, "message", message);
  interrupts_.append(R"(,"metadata":{)");
  json::append_raw_member(interrupts_, "value", question.to_json());
  interrupts_.append("}}");
}

void AgUiEncoder::append_usage() {
  if (!usage_.empty()) json::append_raw_member(out_, "usage", "[" + usage_ + "]");
}

void AgUiEncoder::finish() {
  if (ended_) return;
  start();
  for (const std::string& step : open_steps_) {
    frame_begin();
    out_.append(R"({"type":"STEP_FINISHED")");
    json::append_member(out_, "stepName", step);
    out_.push_back('}');
    frame_end();
  }
  frame_begin();
  out_.append(R"({"type":"RUN_FINISHED")");
  json::append_member(out_, "threadId", options_.thread_id);
  json::append_member(out_, "runId", options_.run_id);
  if (!finished_members_.empty()) out_.append(",").append(finished_members_);
  if (!interrupts_.empty()) {
    out_.append(R"(,"outcome":{"type":"interrupt","interrupts":[)")
        .append(interrupts_)
        .append("]}");
  }
  append_usage();
  out_.push_back('}');
  frame_end();
  ended_ = true;
}

void AgUiEncoder::fail(std::string_view code, std::string_view message) {
  if (ended_) return;
  start();
  frame_begin();
  out_.append(R"({"type":"RUN_ERROR")");
  json::append_member(out_, "message", message);
  if (!code.empty()) json::append_member(out_, "code", code);
  append_usage();
  out_.push_back('}');
  frame_end();
  ended_ = true;
}

std::string AgUiEncoder::take() {
  return std::exchange(out_, {});
}

void AgUiEncoder::take_into(std::string& buffer) {
  buffer.clear();
  buffer.swap(out_);
}

}  // namespace millrace::encoder
