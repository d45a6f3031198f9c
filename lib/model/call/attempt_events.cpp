#include "model/call/attempt_events.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/json.hpp"
#include "base/json_depth.hpp"
#include "format/openai_names.hpp"
#include "model/call/scope.hpp"
#include "model/payload/tool_names.hpp"

namespace millrace::model {
namespace {

RecordedUsage record(const event::Usage& usage) {
  RecordedUsage recorded;
  recorded.source = UsageSource::reported;
  recorded.input_tokens = usage.input_tokens;
  recorded.output_tokens = usage.output_tokens;
  recorded.total_tokens = usage.total_tokens;
  recorded.reasoning_tokens = usage.reasoning_tokens;
  recorded.cached_input_tokens = usage.cached_input_tokens;
  recorded.cache_write_input_tokens = usage.cache_write_input_tokens;
  recorded.reported = usage.json;
  return recorded;
}

std::string incomplete_json(const event::Finish& finish) {
  if (!finish.incomplete) return {};
  std::string out = "{";
  json::append_member(out, "reason", finish.reason);
  if (!finish.continue_json.empty()) json::append_raw_member(out, "continue", finish.continue_json);
  out.push_back('}');
  return out;
}

// The members of an answer behind its number.
std::string alternative_json(const event::Alternative& other) {
  std::string out = "{";
  json::append_member(out, "index", other.index);
  if (other.json.size() > 2) out.append(",").append(other.json.substr(1, other.json.size() - 2));
  out.push_back('}');
  return out;
}

}  // namespace

event::Usage RecordedUsage::view(std::string_view provider, std::string_view model) const {
  event::Usage usage;
  usage.provider = provider;
  usage.model = model;
  usage.input_tokens = input_tokens;
  usage.output_tokens = output_tokens;
  usage.total_tokens = total_tokens;
  usage.reasoning_tokens = reasoning_tokens;
  usage.cached_input_tokens = cached_input_tokens;
  usage.cache_write_input_tokens = cache_write_input_tokens;
  usage.estimated = source == UsageSource::estimated;
  usage.json = reported;
  return usage;
}

void AttemptEvents::on_event(const event::Event& event) {
  if (keep(event.body)) return;
  if (std::holds_alternative<event::Reset>(event.body)) return take_back(event);
  if (!shown_ && hold(event.body)) return;
  release();
  shown_ = true;
  show(event);
}

// The provider began its answer anew: what was said is paid for, and void.
void AttemptEvents::take_back(const event::Event& event) {
  held_.clear();
  tool_intent_ = false;
  if (!shown_) return;
  event::Reset reset = std::get<event::Reset>(event.body);
  std::string ids;
  json::Document document;
  if (const auto given = document.parse(reset.message_ids_json)) {
    for (const json::Value id : given.value().items()) {
      ids.push_back(ids.empty() ? '[' : ',');
      json::append_string(ids, fresh(id.string()));
    }
    reset.message_ids_json = ids.append("]");
  }
  out_.on_event({reset, event.extra});
  if (!thread_) return;
  const std::string thread = thread_();
  out_.on_event({event::MessagesSnapshot{thread}});
}

// Takes out what is for the books.
bool AttemptEvents::keep(const event::Body& body) {
  if (const auto* usage = std::get_if<event::Usage>(&body)) {
    reported_ = record(*usage);
    return true;
  }
  if (const auto* failed = std::get_if<event::Failed>(&body)) {
    failure_ = Failure{std::string(failed->code), std::string(failed->message)};
    return true;
  }
  if (const auto* info = std::get_if<event::AnswerInfo>(&body)) {
    info_ = info->json;
    return true;
  }
  if (const auto* other = std::get_if<event::Alternative>(&body)) {
    if (!alternatives_.empty()) alternatives_.push_back(',');
    alternatives_.append(alternative_json(*other));
    return true;
  }
  if (const auto* finish = std::get_if<event::Finish>(&body)) {
    if (!finish->reason.empty()) finish_reason_ = finish->reason;
    incomplete_ = incomplete_json(*finish);
  }
  return false;
}

// A reasoning part that is nothing but an opaque value has no content, either.
bool AttemptEvents::hold(const event::Body& body) {
  using Kind = Held::Kind;
  const auto mark = [&]<typename E>(const E* event, Kind kind) {
    if (event != nullptr) held_.push_back({kind, std::string(event->id), {}, {}, {}});
    return event != nullptr;
  };
  if (const auto* state = std::get_if<event::ProviderState>(&body)) {
    held_.push_back({Kind::state, std::string(state->provider), std::string(state->kind),
                     std::string(state->entity_id), std::string(state->json)});
  } else if (const auto* citation = std::get_if<event::Citation>(&body)) {
    held_.push_back(
        {Kind::citation, std::string(citation->message_id), std::string(citation->json), {}, {}});
  } else if (const auto* warning = std::get_if<event::Warning>(&body)) {
    held_.push_back({Kind::warning,
                     std::string(warning->code),
                     std::string(warning->message),
                     std::string(warning->payload),
                     {}});
  } else if (const auto* finish = std::get_if<event::Finish>(&body)) {
    held_.push_back({Kind::finish,
                     std::string(finish->reason),
                     std::string(finish->incomplete ? "incomplete" : ""),
                     std::string(finish->continue_json),
                     {}});
  } else if (const auto* opaque = std::get_if<event::EncryptedValue>(&body)) {
    held_.push_back({Kind::opaque,
                     std::string(opaque->subtype),
                     std::string(opaque->entity_id),
                     std::string(opaque->value),
                     {}});
  } else {
    return mark(std::get_if<event::ReasoningSpanStart>(&body), Kind::span_start) ||
           mark(std::get_if<event::ReasoningSpanEnd>(&body), Kind::span_end) ||
           mark(std::get_if<event::ReasoningStart>(&body), Kind::reasoning_start) ||
           mark(std::get_if<event::ReasoningEnd>(&body), Kind::reasoning_end);
  }
  return true;
}

void AttemptEvents::release() {
  const std::vector<Held> held = std::exchange(held_, {});
  for (const Held& one : held) {
    switch (one.kind) {
      case Held::Kind::state: show({event::ProviderState{one.a, one.b, one.c, one.d}}); break;
      case Held::Kind::citation: show({event::Citation{one.a, one.b}}); break;
      case Held::Kind::warning: show({event::Warning{one.a, one.b, one.c}}); break;
      case Held::Kind::finish: show({event::Finish{one.a, !one.b.empty(), one.c}}); break;
      case Held::Kind::span_start: show({event::ReasoningSpanStart{one.a}}); break;
      case Held::Kind::span_end: show({event::ReasoningSpanEnd{one.a}}); break;
      case Held::Kind::reasoning_start: show({event::ReasoningStart{one.a}}); break;
      case Held::Kind::reasoning_end: show({event::ReasoningEnd{one.a}}); break;
      case Held::Kind::opaque: show({event::EncryptedValue{one.a, one.b, one.c}}); break;
    }
  }
}

void AttemptEvents::show(const event::Event& event) {
  const auto* call = std::get_if<event::ToolStart>(&event.body);
  if (call == nullptr || call->hosted) return hand_over(event);
  event::ToolStart named = *call;
  named.name = given_tool_name(tools_, call->name);
  hand_over({named, event.extra, event.subagent});
}

void AttemptEvents::hand_over(const event::Event& event) {
  if (void_ids_.empty()) {
    note(event.body);
    claim(event.body);
    out_.on_event(event);
    return;
  }
  const event::Body body = renamed(event.body);
  note(body);
  claim(body);
  out_.on_event({body, event.extra, event.subagent});
}

void AttemptEvents::note(const event::Body& body) {
  const auto count_text = [this](std::string_view text) {
    has_token_ = true;
    text_bytes_.add(text);
  };
  if (const auto* text = std::get_if<event::TextDelta>(&body)) {
    count_text(text->delta);
  } else if (const auto* reasoning = std::get_if<event::ReasoningDelta>(&body)) {
    has_token_ = true;
    reasoning_.add(reasoning->delta);
  } else if (const auto* arguments = std::get_if<event::ToolArgs>(&body)) {
    count_text(arguments->delta);
  } else if (const auto* call = std::get_if<event::ToolStart>(&body)) {
    count_text(call->name);
    tool_intent_ = true;
  } else if (const auto* start = std::get_if<event::TextStart>(&body)) {
    message_ids_.emplace_back(start->id);
  } else if (const auto* reasoning_part = std::get_if<event::ReasoningStart>(&body)) {
    message_ids_.emplace_back(reasoning_part->id);
  } else if (const auto* state = std::get_if<event::ProviderState>(&body)) {
    note_priced_call(*state);
  }
}

// Source: OpenAI and xAI, price lists (2026).
void AttemptEvents::note_priced_call(const event::ProviderState& state) {
  constexpr std::array<std::string_view, 5> types{"web_search_call", "file_search_call",
                                                  "code_interpreter_call", "image_generation_call",
                                                  "x_search_call"};
  if (state.provider != format::openai::items_provider || state.kind != "item") return;
  // Most items are none, and a long one is not read for its type alone.
  if (state.json.find("_call\"") == std::string_view::npos) return;
  json::Document document(json::data_depth_limit);
  const auto item = document.parse(state.json);
  if (!item) return;
  const auto* type = std::find(types.begin(), types.end(), item.value()["type"].string());
  if (type == types.end()) return;
  const bool is_known =
      std::find(priced_calls_.begin(), priced_calls_.end(), *type) != priced_calls_.end();
  if (!is_known) priced_calls_.push_back(*type);
}

// Says once for each message and call whose state it has, and of each call that the provider runs
// that it does: the event of its start cannot say it to those who read JSON.
void AttemptEvents::claim(const event::Body& body) {
  if (const auto* call = std::get_if<event::ToolStart>(&body); call != nullptr && call->hosted) {
    out_.on_event({event::ProviderState{issuer_provider, event::hosted_kind, call->id, "true"}});
  }
  std::string_view owner;
  if (const auto* value = std::get_if<event::EncryptedValue>(&body)) {
    owner = value->entity_id;
  } else if (const auto* state = std::get_if<event::ProviderState>(&body)) {
    if (state->provider == issuer_provider) return;
    owner = state->entity_id;
  } else {
    return;
  }
  if (!claimed_.edit().emplace(owner).second) return;
  const std::string issuer = issuer_json(issuer_);
  out_.on_event({event::ProviderState{issuer_provider, issuer_kind, owner, issuer}});
}

// ---- ids of an abandoned attempt are never used again

std::string_view AttemptEvents::fresh(std::string_view id) {
  if (id.empty()) return id;
  const std::string key(id);
  if (!void_ids_.contains(key)) return id;
  const auto [at, added] = renamed_.edit().try_emplace(key);
  if (added) at->second = ids_.next_id();
  return at->second;
}

event::Body AttemptEvents::renamed(const event::Body& body) {
  event::Body result = body;
  std::visit(
      [this](auto& e) {
        if constexpr (requires { e.id; }) e.id = fresh(e.id);
        if constexpr (requires { e.message_id; }) e.message_id = fresh(e.message_id);
        if constexpr (requires { e.entity_id; }) e.entity_id = fresh(e.entity_id);
        if constexpr (requires { e.parent_id; }) e.parent_id = fresh(e.parent_id);
      },
      result);
  return result;
}

}  // namespace millrace::model
