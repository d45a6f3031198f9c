#include "run/model_turn.hpp"

#include <cstddef>
#include <utility>

#include "agent/state_messages.hpp"
#include "base/json.hpp"
#include "model/call/call_usage.hpp"

namespace millrace::run {
namespace {

using json::Tree;

}  // namespace

ModelTurn::ModelTurn(const model::DriverServices& services, model::CallOptions call,
                     model::ChatPayload payload, event::EventSink& sink, UsedIds& used, bool silent)
    : model::CallDriver(services),
      ids_(services.call.ids),
      sink_(sink),
      used_(used),
      silent_(silent),
      turn_(std::make_unique<message::Folder>(services.call.ids)) {
  event::EventSink& own = *this;
  if (!call.known.records.empty()) take_known(call.known);
  prepare(std::move(call), std::move(payload), own);
}

ModelTurn::~ModelTurn() = default;

// What was read before comes again, for the turn alone. Where another answer comes of it than
// readers have, or the provider does not go on there, the turn begins anew.
void ModelTurn::take_known(model::KnownAnswer& known) {
  known.fits = [this, fits = std::move(known.trace)] { return known_.text() == fits; };
  known.take_back = [this, take_back = std::move(known.take_back)] {
    turn_ = std::make_unique<message::Folder>(ids_);
    shown_.clear();
    if (take_back) take_back();
  };
}

void ModelTurn::start(std::function<void()> moved, std::function<std::string()> conversation) {
  moved_ = std::move(moved);
  conversation_ = std::move(conversation);
  begin();
}

void ModelTurn::leave(bool heard) {
  moved_ = nullptr;
  detached_ = !heard;
  halt();
  detached_ = true;
}

void ModelTurn::progressed() {
  const auto self = shared_from_this();
  const auto moved = moved_;
  if (moved) moved();
}

void ModelTurn::on_event(const event::Event& event) {
  if (detached_) return;
  // The run reports how the call failed.
  if (const auto* failed = std::get_if<event::Failed>(&event.body)) {
    failure_code_ = failed->code;
    failure_members_ = event.extra;
    return;
  }
  // What is wrong with the conversation is reported once a run.
  const auto* warning = std::get_if<event::Warning>(&event.body);
  if (warning != nullptr && warning->code == row_of(Errc::capability_not_supported).code &&
      !used_.insert(warning->message)) {
    return;
  }
  // The conversation before the turn, which follows a reset, is no part of the turn. The one of the
  // call has what the run added for the model.
  if (std::holds_alternative<event::MessagesSnapshot>(event.body)) {
    const std::string messages = silent_ ? std::string() : conversation_();
    if (!messages.empty()) sink_.on_event({event::MessagesSnapshot{messages}});
    return;
  }
  if (silent_) {
    if (std::holds_alternative<event::Usage>(event.body)) sink_.on_event(event);
    return turn_->feed(event);
  }
  const event::Event reported{renamed(event.body), event.extra, event.subagent};
  turn_->feed(reported);
  if (call().repeats()) return known_.add(reported);
  sink_.on_event(reported);
}

// The id as the reader knows it: its own, unless an earlier turn had it.
std::string_view ModelTurn::shown(std::string_view id) {
  if (id.empty()) return id;
  const auto [at, is_new] = shown_.try_emplace(std::string(id), id);
  if (is_new && !used_.insert(at->second)) {
    at->second = ids_.next_id();
    used_.insert(at->second);
  }
  return at->second;
}

// Lifetime: of the text, until the next call.
std::string_view ModelTurn::shown_list(std::string_view ids_json) {
  json::Document document;
  const auto ids = document.parse(ids_json);
  if (!ids) return ids_json;
  reset_ids_ = "[";
  for (const json::Value id : ids.value().items()) {
    if (reset_ids_.size() > 1) reset_ids_.push_back(',');
    json::append_string(reset_ids_, shown(id.string()));
  }
  reset_ids_.push_back(']');
  return reset_ids_;
}

event::Body ModelTurn::renamed(const event::Body& body) {
  event::Body result = body;
  if (auto* reset = std::get_if<event::Reset>(&result)) {
    reset->message_ids_json = shown_list(reset->message_ids_json);
  }
  // A provider that paused answers a call of the turn before.
  if (const auto* answer = std::get_if<event::ToolResult>(&body)) {
    shown_.try_emplace(std::string(answer->id), answer->id);
  }
  std::visit(
      [this](auto& e) {
        if constexpr (requires { e.id; }) e.id = shown(e.id);
        if constexpr (requires { e.message_id; }) e.message_id = shown(e.message_id);
        if constexpr (requires { e.entity_id; }) e.entity_id = shown(e.entity_id);
        if constexpr (requires { e.parent_id; }) e.parent_id = shown(e.parent_id);
      },
      result);
  return result;
}

Tree ModelTurn::take_chunk() const {
  Tree chunk = agent::chunk_of(turn_->messages());
  Totals spent = totals();
  chunk.set("usage", std::move(spent.usage));
  chunk.set("attempts", std::move(spent.attempts));
  if (!call().finish_reason().empty()) chunk.set("finishReason", call().finish_reason());
  chunk.set("report", report());
  return chunk;
}

Tree ModelTurn::report() const {
  Tree made = Tree::object();
  if (!call().notes().empty()) {
    Tree& notes = made.set("notes", Tree::array());
    for (const std::string& note : call().notes()) notes.push(Tree::text(note));
  }
  if (call().attempts().empty()) return made;
  const model::Attempt& attempt = call().attempts().back();
  Tree answer = Tree::object();
  answer.set("provider", attempt.provider);
  answer.set("model", attempt.model);
  if (!call().finish_reason().empty()) answer.set("finishReason", call().finish_reason());
  const model::AnswerReport& reported = attempt.answer;
  const std::string& others = reported.alternatives;
  const auto member = [&](std::string_view name, const std::string& json) {
    if (json.empty()) return;
    if (auto value = Tree::parse(json)) answer.set(name, std::move(value).value());
  };
  member("response", reported.response);
  member("incomplete", reported.incomplete);
  member("alternatives", others.empty() ? others : "[" + others + "]");
  made.set("answers", Tree::array()).push(std::move(answer));
  made.fit();
  return made;
}

ModelTurn::Totals ModelTurn::totals() const {
  Totals made;
  const auto& attempts = call().attempts();
  if (attempts.empty()) return made;
  model::Spent spent = model::spent_on(attempts);
  made.usage = Tree::object();
  if (spent.attempts > 0) {
    spent.sum.cost = spent.known_cost;
    made.usage = model::to_tree(spent.sum);
    made.usage.fit();
  }
  std::size_t next = 0;
  for (const model::Attempt& attempt : attempts) {
    if (!attempt.counts) continue;
    Tree entry = Tree::object();
    entry.set("provider", attempt.provider);
    entry.set("model", attempt.model);
    if (spent.attempts > 1) entry.set("usage", model::to_tree(spent.each[next]));
    ++next;
    made.attempts.push(std::move(entry));
  }
  made.attempts.fit();
  return made;
}

}  // namespace millrace::run
