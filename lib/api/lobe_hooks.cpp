#include "api/lobe_hooks.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "api/api_answers.hpp"
#include "api/callback_address.hpp"
#include "api/lobe_steps.hpp"
#include "base/sha256.hpp"
#include "base/shown.hpp"
#include "encoder/recorded_lobe.hpp"

namespace millrace::api {
namespace {

using encoder::OperationEvent;
using encoder::OperationState;
using json::Tree;

constexpr std::size_t most_hooks = 16;

// Points of an operation, by the events that have them.
struct HookPoint {
  std::string_view event;
  std::string_view type;
};
constexpr std::array<HookPoint, 4> hook_points{{{"step_start", "beforeStep"},
                                                {"step_complete", "afterStep"},
                                                {"error", "onError"},
                                                {"agent_runtime_end", "onComplete"}}};

// Members of a request that are one hook each.
struct ShortHook {
  std::string_view member;
  std::string_view type;
  std::string_view kind;
};
constexpr std::array<ShortHook, 2> short_hooks{
    {{"stepWebhook", "afterStep", "step"}, {"completionWebhook", "onComplete", "completion"}}};

Error wrong_hook(const std::string& what) {
  return make_error(Errc::invalid_body, "The request for an operation: " + what + ".");
}

bool is_hook_type(std::string_view type) {
  return std::any_of(hook_points.begin(), hook_points.end(),
                     [&](const HookPoint& point) { return point.type == type; });
}

Result<Tree> read_hook(const Tree& webhook, std::string_view type, const std::string& name,
                       const std::vector<std::string>& allow) {
  if (!webhook.is_object()) {
    return wrong_hook("`" + name + "` must be {\"url\", \"body\"?}, not " + shown_value(webhook));
  }
  if (const std::string refusal = callback_refusal(webhook["url"], allow); !refusal.empty()) {
    // It names the member of a call of a tool.
    constexpr std::string_view member = "callback.url";
    const bool is_named = refusal.starts_with(member);
    return wrong_hook("`" + name + ".url`" +
                      (is_named ? refusal.substr(member.size()) : ": " + refusal));
  }
  const Tree& body = webhook["body"];
  if (!body.is_null() && !body.is_object()) {
    return wrong_hook("`" + name + ".body` must be an object, not " + shown_value(body));
  }
  Tree hook = Tree::object();
  hook.set("url", webhook["url"]);
  hook.set("type", type);
  hook.set("body", body.is_object() ? body : Tree::object());
  return hook;
}

void set_filled(Tree& to, std::string_view name, const Tree& value) {
  if (!value.is_null()) to.set(name, value);
}

void add_totals(Tree& payload, const Tree& state) {
  set_filled(payload, "status", state["status"]);
  set_filled(payload, "steps", state["stepCount"]);
  set_filled(payload, "cost", state["cost"]["total"]);
  set_filled(payload, "llmCalls", state["usage"]["llm"]["apiCalls"]);
  set_filled(payload, "totalTokens", state["usage"]["llm"]["tokens"]["total"]);
  set_filled(payload, "toolCalls", state["usage"]["tools"]["totalCalls"]);
  set_filled(payload, "errorMessage", state["error"]["message"]);
}

// What a hook gets of an event.
// Shape: LobeHookEvent of types/lobe-server.d.ts.
Tree hook_payload(const OperationState& state, const LobeSteps& steps,
                  const OperationEvent& event) {
  const Tree data = parsed_json(event.data);
  Tree payload = Tree::object();
  payload.set("operationId", state.id);
  payload.set("agentId", state.agent);
  payload.set("userId", state.principal);
  payload.set("threadId", state.thread);
  // Its clients know a thread as a topic.
  payload.set("topicId", state.thread);
  payload.set("stepIndex", Tree::integer(event.step_index));
  set_filled(payload, "stepType", data["stepType"]);
  set_filled(payload, "stepLabel", data["stepLabel"]);
  add_totals(payload, data["finalState"]);
  if (event.type == "step_complete") {
    payload.set("shouldContinue", data["nextStepScheduled"]);
    steps.write(payload, event, data, state.created_ms);
  }
  if (event.type == "error") set_filled(payload, "errorMessage", data["error"]);
  const bool has_failed = event.type == "error" || state.reason == "error";
  if (has_failed && !steps.error_type().empty()) payload.set("errorType", steps.error_type());
  if (event.type != "agent_runtime_end") return payload;
  payload.set("reason", state.reason);
  if (!state.reason_detail.empty()) payload.set("reasonDetail", state.reason_detail);
  payload.set("duration", Tree::integer(event.at_ms - state.created_ms));
  payload.set("lastAssistantContent", state.last_answer);
  payload.set("finalState", data["finalState"]);
  return payload;
}

std::string place_of(const OperationEvent& event) {
  return std::to_string(event.seq) + "-" + std::to_string(event.part);
}

}  // namespace

// The name follows from the operation before: a request that comes again, also after a crash, finds
// it.
std::string next_operation(const OperationState& state) {
  if (state.status != "waiting_for_async_tool" || state.thread.empty()) return {};
  const Tree calls = parsed_json(state.pending_tools_json);
  if (calls.items().empty()) return {};
  return state.id + "." + std::string(calls.items().front()["id"].string());
}

Result<Tree> read_lobe_hooks(const Tree& body, const std::vector<std::string>& allow) {
  Tree list = Tree::array();
  const Tree& given = body["hooks"];
  if (!given.is_null() && !given.is_array()) {
    return wrong_hook("`hooks` must be an array, not " + shown_value(given));
  }
  for (std::size_t at = 0; at < given.items().size(); ++at) {
    const Tree& one = given.items()[at];
    if (one["webhook"].is_null()) continue;
    const std::string name = "hooks[" + std::to_string(at) + "]";
    if (!is_hook_type(one["type"].string())) {
      return wrong_hook("`" + name + ".type` must be beforeStep, afterStep, onComplete or onError");
    }
    auto hook = read_hook(one["webhook"], one["type"].string(), name + ".webhook", allow);
    if (!hook) return hook;
    Tree& members = *hook.value().find("body");
    set_filled(members, "hookId", one["id"]);
    members.set("hookType", one["type"]);
    list.push(std::move(hook).value());
  }
  for (const ShortHook& row : short_hooks) {
    const Tree& webhook = body[row.member];
    if (webhook.is_null()) continue;
    auto hook = read_hook(webhook, row.type, std::string(row.member), allow);
    if (!hook) return hook;
    hook.value().find("body")->set("type", row.kind);
    list.push(std::move(hook).value());
  }
  if (list.items().size() <= most_hooks) return list;
  return wrong_hook("it has more than " + std::to_string(most_hooks) + " webhooks");
}

store::OutboxRow lobe_hooks_row(const store::RunId& run, const Tree& hooks,
                                std::string_view trace) {
  Tree body = Tree::object();
  body.set("hooks", hooks);
  body.set("after", "");
  if (!trace.empty()) body.set("traceparent", trace);
  store::OutboxRow row;
  row.id = "hooks_" + hex_id();
  row.run = run;
  row.body = body.to_json(json::Surrogates::replace);
  row.next_at = store::after_run;
  return row;
}

// One operation.
struct LobeHooks::Following {
  struct Made {
    std::string place;
    std::vector<store::OutboxRow> messages;
  };
  store::OutboxRow row;
  Tree about;  // the body of the row
  std::uint64_t last = 0;
  encoder::LobeCursor after;
  std::shared_ptr<LobeWatch> watch;
  LobeSteps steps;
  std::vector<Made> made;  // not stored yet
  bool is_storing = false;
  bool is_over = false;    // the operation
  bool has_ended = false;  // nothing more comes for now

  // It is about the operation that goes on behind the one that has the hooks.
  [[nodiscard]] bool is_next() const { return about["next"].is_object(); }
  // What is stored once this operation is over; "" is that nothing follows.
  [[nodiscard]] std::string body_behind() const;
  [[nodiscard]] std::vector<store::OutboxRow> messages_of(const OperationEvent& event) const;
};

std::string LobeHooks::Following::body_behind() const {
  const OperationState& state = watch->state();
  const std::string id = next_operation(state);
  if (id.empty()) return {};
  Tree next = Tree::object();
  next.set("id", id);
  next.set("principal", state.principal);
  next.set("thread", state.thread);
  Tree body = about;
  body.set("after", "");
  body.set("next", std::move(next));
  return body.to_json(json::Surrogates::replace);
}

std::vector<store::OutboxRow> LobeHooks::Following::messages_of(const OperationEvent& event) const {
  std::vector<store::OutboxRow> messages;
  const auto* point = std::find_if(hook_points.begin(), hook_points.end(),
                                   [&](const HookPoint& one) { return one.event == event.type; });
  if (point == hook_points.end()) return messages;
  std::optional<Tree> payload;
  std::size_t at = 0;
  for (const Tree& hook : about["hooks"].items()) {
    ++at;
    if (hook["type"].string() != point->type) continue;
    if (!payload) payload = hook_payload(watch->state(), steps, event);
    Tree sent = hook["body"];
    for (const auto& [name, value] : payload->members()) sent.set(name.view(), value);
    Tree body = Tree::object();
    body.set("payload", std::move(sent));
    if (!about["traceparent"].is_null()) body.set("traceparent", about["traceparent"]);
    constexpr std::size_t digits = 32;
    std::string name = row.id + " " + std::to_string(at) + " " + place_of(event);
    if (is_next()) name.append(" ").append(watch->run().text());
    store::OutboxRow message;
    message.id = "msg_" + sha256_hex(name).substr(0, digits);
    message.run = row.run;
    message.url = hook["url"].string();
    message.body = body.to_json(json::Surrogates::replace);
    message.next_at = event.at_ms;
    messages.push_back(std::move(message));
  }
  return messages;
}

LobeHooks::LobeHooks(ApiContextPtr context, std::shared_ptr<Webhooks> webhooks)
    : context_(std::move(context)), webhooks_(std::move(webhooks)) {}

void LobeHooks::start() {
  webhooks_->on_open([weak = weak_from_this()](const store::OutboxRow& row, std::uint64_t last) {
    if (const auto self = weak.lock()) self->follow(row, last);
  });
  webhooks_->look();
}

void LobeHooks::follow(const store::OutboxRow& row, std::uint64_t last) {
  if (following_.contains(row.run)) return;
  const auto following = std::make_shared<Following>();
  following->row = row;
  following->about = parsed_json(row.body);
  following->last = last;
  following->after = encoder::parse_lobe_cursor(following->about["after"].string())
                         .value_or(encoder::LobeCursor());
  const auto seen = seen_.find(row.run);
  if (!following->is_next() && seen != seen_.end() && seen->second >= last) return;
  following_[row.run] = following;
  const auto found = [weak = weak_from_this(), following](const Result<run::FoundRun>& run) {
    const auto self = weak.lock();
    if (!self) return;
    if (!run) return self->leave(following);
    self->watch(following, run.value());
  };
  if (!following->is_next()) return context_->requests->find(row.run.text(), {}, {}, found);
  const Tree& next = following->about["next"];
  context_->requests->find(std::string(next["id"].string()),
                           std::string(next["principal"].string()),
                           std::string(next["thread"].string()), found);
}

void LobeHooks::watch(const std::shared_ptr<Following>& following, const run::FoundRun& found) {
  if (following->is_next()) {
    following->last = found.hub->committed();
    const auto seen = seen_.find(found.run);
    if (seen != seen_.end() && seen->second >= following->last) return leave(following);
  }
  const auto weak = weak_from_this();
  following->watch = std::make_shared<LobeWatch>(
      [weak, of = std::weak_ptr(following)](const OperationEvent& event) {
        const auto self = weak.lock();
        const auto followed = of.lock();
        if (self && followed) self->take(followed, event);
        return false;
      },
      [weak, of = std::weak_ptr(following)](const LobeWatch& watch, const Error* error) {
        const auto self = weak.lock();
        const auto followed = of.lock();
        if (!self || !followed) return;
        if (error != nullptr) return self->leave(followed);
        followed->has_ended = true;
        followed->is_over = watch.state().is_over;
        self->store_next(followed);
      });
  following->watch->follow(found, false);
}

void LobeHooks::take(const std::shared_ptr<Following>& following, const OperationEvent& event) {
  following->steps.take(event);
  if (!following->after.is_before(event)) return;
  auto messages = following->messages_of(event);
  if (messages.empty()) return;
  following->made.push_back({place_of(event), std::move(messages)});
  store_next(following);
}

void LobeHooks::store_next(const std::shared_ptr<Following>& following) {
  if (following->is_storing) return;
  const bool is_last = following->made.empty();
  if (is_last && !following->has_ended) return;
  if (is_last && !following->is_over) {
    seen_[following->watch->run()] = following->last;
    return leave(following);
  }
  following->is_storing = true;
  const auto made = std::make_shared<std::vector<store::OutboxRow>>();
  for (auto& one : std::exchange(following->made, {})) {
    following->about.set("after", one.place);
    for (store::OutboxRow& message : one.messages) made->push_back(std::move(message));
  }
  // A row that has nothing more to do is deleted. One whose operation may go on with the result of
  // a client's tool waits for that as for the end of a run.
  const std::string body =
      is_last ? following->body_behind() : following->about.to_json(json::Surrogates::replace);
  const bool waits = is_last && !body.empty();
  context_->with_store<Result<bool>>(
      [row = following->row, body, made, waits](store::StorageBackend& backend) {
        auto changed = backend.change_outbox(row, body, *made);
        if (!waits || !changed || !changed.value()) return changed;
        const auto held = backend.settle_outbox(row.id, store::after_run);
        return held ? changed : Result<bool>(held.error());
      },
      [weak = weak_from_this(), following, body, is_last](const Result<bool>& changed) {
        const auto self = weak.lock();
        if (!self) return;
        following->is_storing = false;
        // Another process follows it, or the store does not take it now: the next look goes on.
        if (!changed || !changed.value() || body.empty()) return self->leave(following);
        following->row.body = body;
        if (is_last) self->leave(following);
        self->webhooks_->look();
        if (!is_last) self->store_next(following);
      });
}

void LobeHooks::leave(const std::shared_ptr<Following>& following) {
  if (following->watch) following->watch->leave();
  if (following->is_over) seen_.erase(following->watch->run());
  const auto found = following_.find(following->row.run);
  if (found != following_.end() && found->second == following) following_.erase(found);
}

}  // namespace millrace::api
