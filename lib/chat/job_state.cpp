#include "chat/job_state.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <variant>

#include "base/json.hpp"
#include "chat/history.hpp"
#include "chat/redaction.hpp"

namespace millrace::chat {
namespace {

using journal::Fact;
using journal::RunState;
using json::Tree;

constexpr std::string_view parked_stage = "parked";

// Facts after which a job has not begun to work yet.
bool is_before_work(const Fact& fact) {
  return std::holds_alternative<journal::Accepted>(fact) ||
         std::holds_alternative<journal::Segment>(fact) ||
         std::holds_alternative<journal::Claimed>(fact) ||
         std::holds_alternative<journal::Parked>(fact) ||
         std::holds_alternative<journal::Gap>(fact) ||
         std::holds_alternative<journal::StopRequested>(fact) ||
         std::holds_alternative<journal::MessageSent>(fact) ||
         std::holds_alternative<journal::Terminal>(fact) ||
         std::holds_alternative<journal::UnknownFact>(fact);
}

// Facts behind which the answer of a model is not taken back any more.
bool settles_texts(const Fact& fact) {
  return std::holds_alternative<journal::ModelCompleted>(fact) ||
         std::holds_alternative<journal::StepStarted>(fact) ||
         std::holds_alternative<journal::ModelRequested>(fact) ||
         std::holds_alternative<journal::ToolIntent>(fact) ||
         std::holds_alternative<journal::ToolResult>(fact) ||
         std::holds_alternative<journal::ApprovalRequested>(fact) ||
         std::holds_alternative<journal::Terminal>(fact);
}

bool settles_texts(const event::Body& body) {
  // The end of a step is no sign: it is recorded behind the request of the next one.
  return std::holds_alternative<event::Finish>(body) ||
         std::holds_alternative<event::RunEnd>(body) || std::holds_alternative<event::Failed>(body);
}

Tree object_of(std::string_view json) {
  auto parsed = Tree::parse(json);
  return parsed && parsed.value().is_object() ? std::move(parsed).value() : Tree::object();
}

JobStatus status_of(RunState state) {
  if (state == RunState::completed) return JobStatus::done;
  return state == RunState::cancelled ? JobStatus::cancelled : JobStatus::error;
}

std::string error_text(const journal::Terminal& fact) {
  const Tree error = object_of(fact.error_json);
  const std::string_view code = error["code"].string();
  if (code == "interrupted") return std::string(code);
  const std::string_view message = error["message"].string();
  if (!message.empty()) return redact_text(message);
  if (!code.empty()) return std::string(code);
  return fact.reason.empty() ? std::string(journal::name_of(fact.status))
                             : redact_text(fact.reason);
}

// The message of a job that waits for its turn: the history has it once the turn has come.
Tree queued_message_of(std::string_view input_json) {
  const Tree input = object_of(input_json);
  const Tree& update = input["queued"]["thread"];
  if (!update["cutBehind"].string().empty() || update["messages"].items().empty()) return {};
  const Tree message = object_of(update["messages"].items().back()["json"].string());
  return message["role"].string() == "user" ? shown_message(message) : Tree();
}

std::string detail_text(const Tree& detail) {
  return preview(detail, stage_detail_limit);
}

}  // namespace

Tree shown_message(const Tree& message) {
  Tree shown = Tree::object();
  shown.set("message_id", message_id_of(message["id"].string()));
  shown.set("content", text_of_content(message["content"]));
  const Tree& attachments = message["attachments"];
  if (!attachments.items().empty()) shown.set("attachments", attachments);
  return shown;
}

std::string_view name_of(JobStatus status) {
  constexpr auto names =
      std::to_array<std::string_view>({"queued", "running", "done", "error", "cancelled"});
  return names.at(static_cast<std::size_t>(status));
}

// --- records

void JobLog::State::take(const journal::Record& record) {
  if (is_over()) return;
  at_ms_ = std::max(at_ms_, record.at_ms);
  const auto* fact = std::get_if<Fact>(&record.body);
  begin(fact == nullptr ? nullptr : std::get_if<journal::Accepted>(fact));
  if (fact != nullptr) {
    if (!is_before_work(*fact)) work();
    take_fact(record.branch, *fact);
  } else {
    const auto& event = std::get<event::Event>(record.body);
    // A run that waits for its turn has begun for its readers, and may end for them.
    const bool is_frame = std::holds_alternative<event::RunStart>(event.body) ||
                          std::holds_alternative<event::RunEnd>(event.body);
    if (!waits_ || !is_frame) work();
    take_event(record.branch, event);
  }
}

void JobLog::State::end_unread(const Unread& unread) {
  if (is_over()) return;
  at_ms_ = std::max(at_ms_, unread.created_ms);
  begin(nullptr);
  at_ms_ = std::max(at_ms_, unread.ended_ms);
  finish({unread.state, unread.reason, {}, {}, {}});
}

void JobLog::State::begin(const journal::Accepted* accepted) {
  if (std::exchange(has_begun_, true)) return;
  waits_ = accepted != nullptr && accepted->input_json.starts_with(journal::queued_prefix);
  is_structured_ = accepted != nullptr && accepted->is_structured;
  created_ms = at_ms_;
  if (accepted != nullptr && options.conversation_id.empty()) {
    options.conversation_id = accepted->thread;
  }
  if (waits_) queued_message = queued_message_of(accepted->input_json);
  common_ = Tree::object();
  common_.set("job_id", options.job_id);
  common_.set("conversation_id", options.conversation_id);
  Tree meta = Tree::object();
  meta.set("virtual_user_id", options.virtual_user);
  meta.set("permission", options.permission);
  add("meta", std::move(meta));
  stage("received", {});
}

void JobLog::State::work() {
  if (status != JobStatus::queued) return;
  status = JobStatus::running;
  stage("processing", {});
  // A structured message is stored before its job begins.
  if (options.records_history && !is_structured_) stage("recording_history", {});
  stage(options.mode == JobMode::command ? "running_command" : "asking_ai", {});
}

void JobLog::State::take_fact(std::uint32_t branch, const Fact& fact) {
  if (branch == 0 && settles_texts(fact)) texts.release();
  if (branch == 0 && std::holds_alternative<journal::ModelRequested>(fact)) texts.hold();
  source_ = CallSource::engine;
  run.take(branch, fact);
  if (branch != 0) return;
  if (std::holds_alternative<journal::Claimed>(fact)) {
    if (std::exchange(waits_, false)) work();
    queued_message = Tree();
    if (status == JobStatus::running && current.name == parked_stage) stage("processing", {});
    // The process that could end these calls is gone.
    for (const CallEvent& event : calls.close_of_host(at_ms_)) add(event);
  }
  if (const auto* message = std::get_if<journal::MessageSent>(&fact)) keep_sent(*message);
  if (const auto* parked = std::get_if<journal::Parked>(&fact)) stage(parked_stage, parked->reason);
  if (const auto* terminal = std::get_if<journal::Terminal>(&fact)) finish(*terminal);
}

// A request that comes again brings the same message.
void JobLog::State::keep_sent(const journal::MessageSent& fact) {
  const auto is_same = [&](const Tree& known) { return known["id"].string() == fact.id; };
  if (std::any_of(sent.begin(), sent.end(), is_same)) return;
  Tree message = object_of(fact.message_json);
  if (!message["createdAt"].is_number()) message.set("createdAt", Tree::integer(at_ms_));
  sent.push_back(std::move(message));
}

void JobLog::State::take_sent(Tree message) {
  const std::string_view id = message["id"].string();
  std::erase_if(sent, [id](const Tree& known) { return known["id"].string() == id; });
  message.set("content", text_of_content(message["content"]));
  if (options.attachment && message["attachments"].is_array()) {
    for (Tree& item : message.at("attachments").items()) item = options.attachment(std::move(item));
  }
  add("user_message", std::move(message));
}

void JobLog::State::take_event(std::uint32_t branch, const event::Event& event) {
  const event::Body& body = event.body;
  source_ = CallSource::engine;
  run.take(branch, event);
  if (branch != 0 || !event.subagent.empty()) return;
  if (const auto* start = std::get_if<event::TextStart>(&body))
    return texts.begin(*start, event.extra);
  if (const auto* delta = std::get_if<event::TextDelta>(&body)) return texts.add(*delta);
  if (const auto* end = std::get_if<event::TextEnd>(&body)) return texts.end(*end, event.extra);
  if (const auto* reset = std::get_if<event::Reset>(&body)) return texts.reset(*reset);
  if (const auto* host = std::get_if<event::Stage>(&body)) return take_host_event(*host);
  if (const auto* spent = std::get_if<event::RunUsage>(&body)) {
    return take_spent(spent->usage_json, spent->cost_json);
  }
  if (settles_texts(body)) texts.release();
}

// What a function reports. Names that are not of this API are not part of the log.
void JobLog::State::take_host_event(const event::Stage& event) {
  using Take = void (*)(State&, const Tree&);
  struct Row {
    std::string_view name;
    Take take;
  };
  static constexpr auto rows = std::to_array<Row>({
      {"stage",
       [](State& state, const Tree& given) {
         const std::string_view name = json::trim(given["stage"].string());
         if (!name.empty()) state.stage(name, detail_text(given["detail"]));
       }},
      {"tool_start",
       [](State& state, const Tree& given) {
         state.start_call(given, given["is_agent"].truthy());
       }},
      {"tool_end",
       [](State& state, const Tree& given) { state.end_call(given, given["is_agent"].truthy()); }},
      {"agent_start", [](State& state, const Tree& given) { state.start_call(given, true); }},
      {"agent_end", [](State& state, const Tree& given) { state.end_call(given, true); }},
      {"agent_stage", [](State& state, const Tree& given) { state.agent_stage(given); }},
      {"requires_action",
       [](State& state, const Tree& given) {
         state.requires_action(state.run.reported_action(given));
       }},
      {"user_message",
       [](State& state, const Tree& given) {
         // The answer before it was cut there, and is not taken back any more.
         state.texts.release();
         state.take_sent(given);
       }},
  });
  const auto* row = std::find_if(
      rows.begin(), rows.end(), [&](const Row& candidate) { return candidate.name == event.name; });
  if (row == rows.end()) return;
  source_ = CallSource::host;
  row->take(*this, object_of(event.json));
}

void JobLog::State::take_spent(std::string_view usage_json, std::string_view cost_json) {
  if (!usage_json.empty()) usage = object_of(usage_json);
  if (!cost_json.empty()) cost = object_of(cost_json);
}

void JobLog::State::finish(const journal::Terminal& fact) {
  take_spent(fact.usage_json, fact.cost_json);
  const JobStatus end = status_of(fact.status);
  const bool is_done = end == JobStatus::done;
  if (is_done) {
    if (options.mode == JobMode::command) {
      stage("command_done", {});
    } else if (run.has_model()) {
      stage("finalizing", {});
    }
    stage("done", {});
  } else {
    const bool is_cancelled = end == JobStatus::cancelled;
    const std::string_view call_status = is_cancelled ? "cancelled" : "error";
    for (const CallEvent& event :
         calls.close(call_status, is_cancelled ? "cancelled" : "interrupted", at_ms_)) {
      add(event);
    }
    if (!is_cancelled) error = error_text(fact);
  }
  // The conversation has them.
  sent.clear();
  finished_ms = at_ms_;
  Tree last = Tree::object();
  if (is_done) {
    last.set("mode", name_of(options.mode));
    last.set("virtual_user_id", options.virtual_user);
    last.set("permission", options.permission);
    last.set("messages", message_list());
    last.set("reply", reply());
    last.set("status", name_of(end));
  } else {
    last.set("error", end == JobStatus::cancelled ? name_of(end) : std::string_view(error));
  }
  last.set("duration_ms", Tree::integer(elapsed(at_ms_)));
  add(is_done ? "done" : "error", std::move(last));
  status = end;
}

// --- events

void JobLog::State::add(std::string_view event, Tree members) {
  Tree shown = common_;
  for (auto& [key, value] : members.members()) {
    // What an agent reports may have members of these names.
    if (key != "job_id" && key != "conversation_id") shown.set(key, std::move(value));
  }
  const bool has_elapsed = event != "meta" && event != "done" && event != "error";
  if (has_elapsed) shown.set("elapsed_ms", Tree::integer(elapsed(at_ms_)));
  updated_ms = at_ms_;
  events.add(event, std::move(shown), at_ms_);
}

void JobLog::State::stage(std::string_view name, std::string_view detail) {
  current = {std::string(name), preview(detail, stage_detail_limit), at_ms_, events.last() + 1};
  Tree members = Tree::object();
  members.set("stage", name);
  members.set("started_at", seconds(at_ms_));
  if (!current.detail.empty()) members.set("detail", current.detail);
  add("stage", std::move(members));
}

void JobLog::State::agent_stage(const Tree& given) {
  if (const auto event = calls.stage(given, at_ms_, events.last() + 1)) add(*event);
}

void JobLog::State::start_call(const Tree& given, bool is_agent) {
  add(calls.start(given, is_agent, at_ms_, source_));
}

void JobLog::State::end_call(const Tree& given, bool is_agent) {
  add(calls.end(given, is_agent, at_ms_));
}

void JobLog::State::message(std::string_view text, const Tree& attachments, std::uint64_t index) {
  Output output{std::string(json::trim(text)), Tree::array()};
  if (options.output && !output.content.empty()) output = options.output(output.content);
  for (const Tree& item : attachments.items()) output.attachments.push(item);
  if (json::trim(output.content).empty() && output.attachments.items().empty()) return;
  stage("sending_message", {});
  Tree members = Tree::object();
  members.set("content", output.content);
  members.set("attachments", output.attachments);
  members.set("parent_webchat_call_id", calls.innermost_agent());
  members.set("index", Tree::integer(static_cast<std::int64_t>(index)));
  add("message", std::move(members));
  output.index = index;
  outputs.push_back(std::move(output));
}

void JobLog::State::take_back_message(std::uint64_t index) {
  const auto is_it = [index](const Output& output) { return output.index == index; };
  if (std::erase_if(outputs, is_it) == 0) return;
  Tree members = Tree::object();
  members.set("index", Tree::integer(static_cast<std::int64_t>(index)));
  add("message_reset", std::move(members));
}

void JobLog::State::requires_action(const Tree& given) {
  Tree shown = given;
  shown.erase("arguments");
  redact(shown);
  add("requires_action", std::move(shown));
}

void JobLog::State::delta(std::string_view event, const Tree& members, std::string_view text) {
  if (options.has_deltas) events.add_delta(event, members, text, at_ms_);
}

// --- what is known

std::int64_t JobLog::State::elapsed(std::int64_t now_ms) const {
  if (!has_begun_) return 0;
  const std::int64_t until = is_over() ? finished_ms : now_ms;
  return std::max<std::int64_t>(0, until - created_ms);
}

Tree JobLog::State::stage_payload(std::int64_t now_ms) const {
  Tree shown = common_;
  shown.set("stage", current.name);
  shown.set("started_at", seconds(current.started_ms));
  if (!current.detail.empty()) shown.set("detail", current.detail);
  shown.set("elapsed_ms", Tree::integer(elapsed(now_ms)));
  shown.set("transient", Tree::flag(true));
  return shown;
}

Tree JobLog::State::message_list() const {
  Tree list = Tree::array();
  for (const Output& output : outputs) list.push(Tree::text(output.content));
  return list;
}

std::string JobLog::State::reply() const {
  std::string text;
  for (const Output& output : outputs) {
    if (!text.empty()) text.append("\n\n");
    text.append(output.content);
  }
  return std::string(json::trim(text));
}

}  // namespace millrace::chat
