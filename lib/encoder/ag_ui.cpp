#include "encoder/ag_ui.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>
#include <variant>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "encoder/ag_ui_downgrade.hpp"
#include "encoder/ag_ui_proto.hpp"
#include "encoder/left_over.hpp"

namespace millrace::encoder {
namespace {

constexpr std::string_view protocol_version = "1.0";
// Events of other producers that older clients know.
constexpr std::array<std::string_view, 2> known_of_old{"RAW", "CUSTOM"};

bool begins_part(const event::Body& body) {
  return std::holds_alternative<event::TextStart>(body) ||
         std::holds_alternative<event::ReasoningStart>(body) ||
         std::holds_alternative<event::ToolStart>(body);
}

// Whether the start of a source's run has more than ids. The run that is written began with ids of
// its own, and without the rest.
bool has_more_than_ids(const event::Event& event, const event::RunStart& run,
                       const AgUiOptions& options) {
  const bool is_child = !run.parent_run_id.empty() && run.parent_run_id != options.parent_run_id;
  return is_child || !event.extra.empty();
}

std::string source_run(const event::Event& event, const event::Spelling& spelling) {
  std::string json = R"({"type":"CUSTOM","name":"millrace.source_run","value":)";
  event::write_json(json, event, spelling);
  return json + "}";
}

void add_members(std::string& members, std::string_view more) {
  if (!members.empty() && !more.empty()) members.push_back(',');
  members.append(more);
}

}  // namespace

bool is_modern_client(std::string_view version) {
  unsigned major = 0;
  unsigned minor = 0;
  const char* const last = version.data() + version.size();
  const auto [point, error] = std::from_chars(version.data(), last, major);
  if (error != std::errc() || point == last || *point != '.') return false;
  return std::from_chars(point + 1, last, minor).ec == std::errc() && major >= 1;
}

AgUiEncoder::AgUiEncoder(AgUiOptions options)
    : options_(std::move(options)),
      modern_(is_modern_client(options_.client_version)),
      state_(modern_ ? std::make_unique<AgUiState>([this](const event::Event& e) { write(e); })
                     : nullptr) {
  spelling_.tool_result_parts = modern_;
  // Clients from before 1.0 keep members they do not know; OpenUI's reads these.
  spelling_.tool_error_members = !modern_;
  // For ids as providers give them: a delta, also the first of a call, finds its room.
  constexpr std::size_t usual_id_bytes = 64;
  delta_id_.reserve(usual_id_bytes);
  delta_head_.reserve(usual_id_bytes + 64);
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

// Older clients know no subagents: what these do is the run's. They keep members that they do not
// know, of which one says who did it.
void AgUiEncoder::write(const event::Event& event) {
  frame_begin();
  if (modern_ || event.subagent.empty()) {
    event::write_json(out_, event, spelling_);
  } else {
    std::string subagent = "{";
    json::append_member(subagent, "subagentRunId", event.subagent);
    std::string extra(event.extra);
    json::append_raw_member(extra, "millrace", subagent + "}");
    event::write_json(out_, event::Event{event.body, extra}, spelling_);
  }
  frame_end();
}

template <class Delta>
void AgUiEncoder::write_delta(const event::Event& event, const Delta& delta) {
  constexpr std::string_view tail = "\"}\n\n";
  if (state_ && state_->has_ends()) state_->release();
  if (!event.extra.empty() || !event.subagent.empty()) {
    if (state_ && event.subagent.empty()) {
      state_->add_delta(state_->part_of(event.body.index(), delta.id), delta.delta);
    }
    return write(event);
  }
  if (event.body.index() != delta_kind_ || !same_text(delta.id, delta_id_)) {
    delta_kind_ = event.body.index();
    delta_id_ = delta.id;
    const std::size_t before = out_.size();
    write(event::Event{Delta{delta.id, {}}});
    delta_head_.assign(out_, before, out_.size() - before - tail.size());
    out_.resize(before);
    delta_part_ = state_ ? state_->part_of(delta_kind_, delta_id_) : 0;
  }
  if (delta_part_ != 0) state_->add_delta(delta_part_, delta.delta);
  out_.append(delta_head_);
  json::append_escaped(out_, delta.delta, spelling_.surrogates);
  out_.append(tail);
}

// Nearly all events are deltas: they are found without the table of a visit.
bool AgUiEncoder::on_delta(const event::Event& event) {
  if (const auto* text = std::get_if<event::TextDelta>(&event.body)) {
    write_delta(event, *text);
  } else if (const auto* reasoning_part = std::get_if<event::ReasoningDelta>(&event.body)) {
    write_delta(event, *reasoning_part);
  } else if (const auto* arguments = std::get_if<event::ToolArgs>(&event.body)) {
    write_delta(event, *arguments);
  } else {
    return false;
  }
  return true;
}

void AgUiEncoder::on_event(const event::Event& event) {
  if (ended_) return;
  start();
  if (on_delta(event)) return;
  if (state_ && !state_->take(event)) return;
  if (begins_part(event.body)) delta_kind_ = std::variant_npos;
  std::visit(
      event::Overloaded{
          [&](const event::Usage& usage) { on_usage(usage); },
          [&](const event::ToolResult& result) { on_tool_result(event, result); },
          [&](const event::Foreign& foreign) { on_foreign(event, foreign); },
          [&](const event::StepStart& step) { on_step(event, step.name, true); },
          [&](const event::StepEnd& step) { on_step(event, step.name, false); },
          [&](const event::SubagentStart&) { on_subagent(event); },
          [&](const event::SubagentEnd&) { on_subagent(event); },
          [&](const event::SubagentFailed&) { on_subagent(event); },
          [&](const event::RunStart& run) { on_run_start(event, run); },
          [&](const event::RunUsage&) { write(event); },
          [&](const event::RunEnd& end) {
            on_run_end(end);
            add_members(finished_members_, event.extra);
          },
          [&](const event::Failed& failed) { fail(failed.code, failed.message, event.extra); },
          [&](const event::Finish& finish) {
            if (event.subagent.empty()) usage_.end(finish, is_usual(finish));
          },
          [](const event::AnswerInfo&) { /* for the host alone */ },
          [](const event::Alternative&) { /* for the host alone */ },
          [&](const event::Logprobs&) { write(event); },
          [&](const event::PartialImage&) { write(event); },
          [&](const event::TextStart&) { write(event); },
          [](const event::TextDelta&) { /* on_delta wrote it */ },
          [&](const event::TextEnd&) { write(event); },
          [&](const event::ReasoningSpanStart&) { write(event); },
          [&](const event::ReasoningSpanEnd&) { write(event); },
          [&](const event::ReasoningStart&) { write(event); },
          [](const event::ReasoningDelta&) { /* on_delta wrote it */ },
          [&](const event::ReasoningEnd&) { write(event); },
          [&](const event::EncryptedValue&) { write(event); },
          [&](const event::ToolStart& call) { on_tool_start(event, call); },
          [](const event::ToolArgs&) { /* on_delta wrote it */ },
          [&](const event::ToolEnd&) { write(event); },
          [&](const event::ToolProgress&) { write(event); },
          [&](const event::ToolDetails&) { write(event); },
          [&](const event::StateSnapshot&) { write(event); },
          [&](const event::StateDelta&) { write(event); },
          [&](const event::MessagesSnapshot& snapshot) { on_messages(event, snapshot); },
          [&](const event::ActivitySnapshot&) { write(event); },
          [&](const event::ActivityDelta&) { write(event); },
          [&](const event::ProviderState& state) { on_state(event, state); },
          [&](const event::Citation&) { write(event); },
          [&](const event::Interrupt& interrupt) { on_interrupt(interrupt); },
          [&](const event::Reset&) { write(event); },
          [&](const event::Retry&) { write(event); },
          [&](const event::Stage&) { write(event); },
          [&](const event::Warning&) { write(event); },
      },
      event.body);
}

void AgUiEncoder::on_tool_result(const event::Event& event, const event::ToolResult& result) {
  std::erase(pending_calls_, result.id);
  write(event);
  if (!result.failed) return;
  frame_begin();
  out_.append(R"({"type":"CUSTOM","name":"millrace.tool_error","value":{)");
  json::append_member(out_, "toolCallId", result.id);
  json::append_member(out_, "error", result.error);
  out_.append("}}");
  frame_end();
}

void AgUiEncoder::on_tool_start(const event::Event& event, const event::ToolStart& call) {
  std::erase(pending_calls_, call.id);
  pending_calls_.emplace_back(call.id);
  write(event);
}

// An older client stores no metadata of a message.
void AgUiEncoder::on_state(const event::Event& event, const event::ProviderState& state) {
  write(event);
  if (modern_ || warned_ || !message::is_item(state.provider, state.kind)) return;
  warned_ = true;
  write(event::Event{event::Warning{
      row_of(Errc::capability_not_supported).code,
      "The client stores no metadata: items of the provider and their order are not sent again."}});
}

void AgUiEncoder::on_messages(const event::Event& event, const event::MessagesSnapshot& snapshot) {
  if (modern_) return write(event);
  const std::string messages = ag_ui::older_messages(snapshot.json);
  write(event::Event{event::MessagesSnapshot{messages}, event.extra, event.subagent});
}

void AgUiEncoder::on_foreign(const event::Event& event, const event::Foreign& foreign) {
  const bool known =
      std::find(known_of_old.begin(), known_of_old.end(), foreign.type) != known_of_old.end();
  if (modern_ || known) write(event);
}

// To an older client as a CUSTOM event whose value is the event.
void AgUiEncoder::on_subagent(const event::Event& event) {
  if (modern_) return write(event);
  frame_begin();
  out_.append(R"({"type":"CUSTOM","name":"millrace.subagent","value":)");
  event::write_json(out_, event, spelling_);
  out_.push_back('}');
  frame_end();
}

void AgUiEncoder::on_step(const event::Event& event, std::string_view name, bool starts) {
  const std::string_view owner = modern_ ? event.subagent : std::string_view();
  const auto open = std::find_if(open_steps_.begin(), open_steps_.end(), [&](const Step& step) {
    return step.name == name && step.owner == owner;
  });
  if (open == open_steps_.end()) {
    if (!starts) return;
    open_steps_.push_back({std::string(name), std::string(owner)});
    return write(event);
  }
  open->count += starts ? 1 : -1;
  if (open->count > 0) return;
  open_steps_.erase(open);
  write(event);
}

void AgUiEncoder::on_run_start(const event::Event& event, const event::RunStart& run) {
  // What an earlier run of the source left open is answered.
  pending_calls_.clear();
  if (!has_more_than_ids(event, run, options_)) return;
  frame_begin();
  out_.append(source_run(event, spelling_));
  frame_end();
}

// The counts of each answer go into one list. What else the provider reported goes into another.
void AgUiEncoder::on_usage(const event::Usage& usage) {
  const std::string counts = usage_.add(usage);
  const std::string reported = unshown_usage(usage.json, counts);
  if (!reported.empty()) usage_.add_reported(reported);
}

std::string AgUiEncoder::take() {
  std::string taken;
  take_into(taken);
  return taken;
}

void AgUiEncoder::take_into(std::string& buffer) {
  buffer.clear();
  if (!options_.is_binary) return buffer.swap(out_);
  append_ag_ui_proto(buffer, out_);
  out_.clear();
}

}  // namespace millrace::encoder
