#include "run/model_turn.hpp"

#include <algorithm>
#include <utility>

#include "agent/message_rows.hpp"
#include "event/codec.hpp"
#include "message/fold.hpp"
#include "model/call/call_usage.hpp"

namespace millrace::run {
namespace {

using json::Tree;

event::Spelling folded_spelling() {
  event::Spelling spelling;
  spelling.surrogates = json::Surrogates::keep;
  return spelling;
}

Tree usage_tree(const model::ModelUsage& usage) {
  std::string text;
  model::write_json(text, usage);
  auto parsed = Tree::parse(text);
  return parsed ? std::move(parsed).value() : Tree();
}

}  // namespace

ModelTurn::ModelTurn(const model::DriverServices& services, model::CallOptions call,
                     model::ChatPayload payload, event::EventSink& sink, UsedIds& used, bool silent)
    : model::CallDriver(services),
      ids_(services.call.ids),
      sink_(sink),
      used_(used),
      silent_(silent) {
  event::EventSink& own = *this;
  prepare(std::move(call), std::move(payload), own);
}

ModelTurn::~ModelTurn() = default;

void ModelTurn::start(std::function<void()> moved) {
  moved_ = std::move(moved);
  begin();
}

void ModelTurn::leave(bool heard) {
  moved_ = nullptr;
  deaf_ = !heard;
  halt();
  deaf_ = true;
}

void ModelTurn::progressed() {
  const auto self = shared_from_this();
  const auto moved = moved_;
  if (moved) moved();
}

void ModelTurn::on_event(const event::Event& event) {
  if (deaf_) return;
  // How the call failed is the run's to tell.
  if (const auto* failed = std::get_if<event::Failed>(&event.body)) {
    failure_code_ = failed->code;
    failure_members_ = event.extra;
    return;
  }
  // What is the matter with the conversation is told once a run.
  const auto* warning = std::get_if<event::Warning>(&event.body);
  if (warning != nullptr && warning->code == row_of(Errc::capability_not_supported).code &&
      !used_.insert(std::string(warning->message)).second) {
    return;
  }
  // The conversation before the turn, told again behind a reset, is no part of the turn.
  if (std::holds_alternative<event::MessagesSnapshot>(event.body)) {
    if (!silent_) sink_.on_event(event);
    return;
  }
  if (silent_) {
    if (std::holds_alternative<event::Usage>(event.body)) sink_.on_event(event);
    return collect(event);
  }
  const event::Event told{renamed(event.body), event.extra, event.subagent};
  collect(told);
  sink_.on_event(told);
}

// The id as the reader knows it: its own, unless an earlier turn had it.
std::string_view ModelTurn::shown(std::string_view id) {
  if (id.empty()) return id;
  const auto [at, is_new] = shown_.try_emplace(std::string(id), id);
  if (is_new && !used_.insert(at->second).second) {
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

// Keeps the event for the turn's messages; the deltas of one part become one.
void ModelTurn::collect(const event::Event& event) {
  const auto join = [&](std::string_view id, std::string_view delta) {
    if (kind_ != event.body.index() || part_id_ != id) {
      flush();
      kind_ = event.body.index();
      part_id_ = id;
    }
    text_.append(delta);
  };
  if (const auto* text = std::get_if<event::TextDelta>(&event.body)) {
    return join(text->id, text->delta);
  }
  if (const auto* thought = std::get_if<event::ReasoningDelta>(&event.body)) {
    return join(thought->id, thought->delta);
  }
  if (const auto* args = std::get_if<event::ToolArgs>(&event.body)) {
    return join(args->id, args->delta);
  }
  if (std::holds_alternative<event::Usage>(event.body)) return;
  flush();
  if (!collected_.empty()) collected_.push_back(',');
  event::write_json(collected_, event, folded_spelling());
}

void ModelTurn::flush() {
  if (kind_ == std::variant_npos) return;
  if (!collected_.empty()) collected_.push_back(',');
  event::Body body = event::TextDelta{part_id_, text_};
  if (kind_ == event::Body(event::ReasoningDelta{}).index()) {
    body = event::ReasoningDelta{part_id_, text_};
  } else if (kind_ == event::Body(event::ToolArgs{}).index()) {
    body = event::ToolArgs{part_id_, text_};
  }
  event::write_json(collected_, event::Event{body}, folded_spelling());
  kind_ = std::variant_npos;
  text_.clear();
}

Tree ModelTurn::take_chunk() {
  flush();
  message::Folder folder(ids_);
  static_cast<void>(folder.feed("[" + collected_ + "]"));
  Tree chunk = agent::chunk_of(folder.messages());
  chunk.set("usage", usage());
  chunk.set("attempts", attempts());
  if (!call().finish_reason().empty()) chunk.set("finishReason", call().finish_reason());
  return chunk;
}

Tree ModelTurn::usage() const {
  if (call().attempts().empty()) return {};
  model::Spent spent = model::spent_on(call().attempts());
  if (spent.attempts == 0) return Tree::object();
  spent.sum.cost = spent.known_cost;
  return usage_tree(spent.sum);
}

Tree ModelTurn::attempts() const {
  const auto& attempts = call().attempts();
  const auto counted = std::count_if(attempts.begin(), attempts.end(),
                                     [](const model::Attempt& attempt) { return attempt.counts; });
  Tree list = Tree::array();
  for (const model::Attempt& attempt : attempts) {
    if (!attempt.counts) continue;
    Tree made = Tree::object();
    made.set("provider", attempt.provider);
    made.set("model", attempt.model);
    if (counted > 1) made.set("usage", usage_tree(model::model_usage(attempt)));
    list.push(std::move(made));
  }
  return list;
}

}  // namespace millrace::run
