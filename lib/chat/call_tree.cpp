#include "chat/call_tree.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "chat/job_calls.hpp"
#include "chat/redaction.hpp"

namespace millrace::chat {
namespace {

using json::Tree;

constexpr std::size_t event_limit = 1000;
// A call's subtree is in `children` and in `timeline`, so that each level doubles what is below it.
constexpr std::size_t nesting_limit = 16;
constexpr std::size_t timeline_limit = 3;
constexpr std::size_t no_parent = SIZE_MAX;

constexpr auto history_events =
    std::to_array<std::string_view>({"tool_start", "tool_end", "agent_start", "agent_end",
                                     "agent_stage", "requires_action", "message"});

bool begins_call(std::string_view event) {
  return event == "tool_start" || event == "agent_start";
}
bool ends_call(std::string_view event) {
  return event == "tool_end" || event == "agent_end";
}

std::string id_of(const Tree& payload) {
  for (const std::string_view key : {"webchat_call_id", "tool_call_id", "name", "api_name"}) {
    if (!payload[key].string().empty()) return std::string(payload[key].string());
  }
  return "tool";
}

Tree empty_node(std::string_view id) {
  Tree node = Tree::object();
  node.set("webchat_call_id", id);
  for (const std::string_view key : {"parent_webchat_call_id", "tool_call_id", "name", "api_name"})
    node.set(key, "");
  node.set("is_agent", Tree::flag(false));
  node.set("status", "running");
  node.set("ok", Tree());
  for (const std::string_view key : {"arguments_preview", "result_preview", "ui_hint"})
    node.set(key, "");
  for (const std::string_view key : {"duration_ms", "elapsed_ms", "started_at", "current_stage",
                                     "current_stage_detail", "current_stage_elapsed_ms"})
    node.set(key, Tree());
  node.set("depth", Tree::integer(0));
  node.set("agent_path", Tree::array());
  return node;
}

bool is_unset(const Tree& value) {
  return value.is_array() ? value.items().empty() : !value.truthy();
}

// Sets the members of a node that the payload has.
void take(Tree& node, const Tree& payload, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    const Tree* value = payload.find(key);
    if (value == nullptr || value->is_null()) continue;
    if (value->is_string() && value->string().empty()) continue;
    node.set(key, *value);
  }
}

class TreeBuilder {
 public:
  explicit TreeBuilder(const Tree& events) {
    std::vector<const Tree*> sorted;
    for (const Tree& event : events.items()) sorted.push_back(&event);
    std::stable_sort(sorted.begin(), sorted.end(), [](const Tree* one, const Tree* other) {
      return (*one)["seq"].integer_or(0) < (*other)["seq"].integer_or(0);
    });
    for (const Tree* event : sorted) add(*event);
    for (std::size_t at = 0; at < nodes_.size(); ++at) nodes_[at].parent = parent_of(at);
    for (std::size_t at = 0; at < nodes_.size(); ++at) {
      if (nodes_[at].parent != no_parent) nodes_[nodes_[at].parent].children.push_back(at);
    }
  }

  CallTree build() {
    CallTree made{Tree::array(), Tree::array()};
    std::vector<Item> items;
    for (std::size_t at = 0; at < nodes_.size(); ++at) {
      if (nodes_[at].parent != no_parent) continue;
      Tree node = whole(at, 1);
      items.push_back({nodes_[at].seq, call_item(nodes_[at].seq, node)});
      made.calls.push(std::move(node));
    }
    for (const Message& message : messages_) {
      if (!nodes_by_id_.contains(message.parent)) items.push_back(message.item);
    }
    made.timeline = sorted_items(std::move(items));
    return made;
  }

 private:
  struct Item {
    std::int64_t seq = 0;
    Tree value;
  };
  struct Node {
    std::int64_t seq = 0;  // of its first event
    Tree members;
    std::size_t parent = no_parent;
    std::vector<std::size_t> children;
    std::vector<Item> items;  // its stages and messages
  };
  struct Message {
    std::string parent;
    Item item;
  };

  Node& node(const std::string& id, std::int64_t seq) {
    const auto [found, is_new] = nodes_by_id_.try_emplace(id, nodes_.size());
    if (is_new) nodes_.push_back({seq, empty_node(id), no_parent, {}, {}});
    return nodes_[found->second];
  }

  void add(const Tree& event) {
    const std::string_view name = event["event"].string();
    const std::int64_t seq = event["seq"].integer_or(0);
    const Tree& payload = event["payload"];
    if (begins_call(name) || ends_call(name)) {
      add_call(name, seq, payload);
    } else if (name == "agent_stage") {
      add_stage(seq, payload);
    } else if (name == "message") {
      add_message(seq, payload);
    }
  }

  void add_call(std::string_view name, std::int64_t seq, const Tree& payload) {
    Tree& members = node(id_of(payload), seq).members;
    take(members, payload,
         {"parent_webchat_call_id", "tool_call_id", "name", "api_name", "depth", "agent_path",
          "ui_hint", "elapsed_ms", "status"});
    if (payload["is_agent"].is_true() || name.starts_with("agent_")) {
      members.set("is_agent", Tree::flag(true));
    }
    if (begins_call(name)) return take(members, payload, {"arguments_preview", "started_at"});
    take(members, payload, {"result_preview", "duration_ms", "ok"});
    const bool is_ok =
        payload["ok"].is_null() ? payload["status"].string() != "error" : payload["ok"].truthy();
    members.set("ok", Tree::flag(is_ok));
    if (payload["status"].string().empty()) members.set("status", is_ok ? "done" : "error");
  }

  void add_stage(std::int64_t seq, const Tree& payload) {
    Node& agent = node(id_of(payload), seq);
    Tree& members = agent.members;
    members.set("is_agent", Tree::flag(true));
    for (const std::string_view key : {"parent_webchat_call_id", "name", "depth", "agent_path"}) {
      if (is_unset(members[key])) take(members, payload, {key});
    }
    members.set("current_stage", payload["stage"]);
    members.set("current_stage_detail", payload["detail"]);
    members.set("current_stage_elapsed_ms", payload["stage_elapsed_ms"]);
    Tree item = Tree::object();
    item.set("type", "stage");
    item.set("seq", Tree::integer(seq));
    for (const std::string_view key : {"stage", "detail", "elapsed_ms", "stage_elapsed_ms"}) {
      item.set(key, payload[key]);
    }
    agent.items.push_back({seq, std::move(item)});
  }

  void add_message(std::int64_t seq, const Tree& payload) {
    Tree item = Tree::object();
    item.set("type", "message");
    item.set("seq", Tree::integer(seq));
    for (const std::string_view key : {"content", "elapsed_ms"}) item.set(key, payload[key]);
    const std::string parent(payload["parent_webchat_call_id"].string());
    messages_.push_back({parent, {seq, std::move(item)}});
    const auto found = nodes_by_id_.find(parent);
    if (!parent.empty() && found != nodes_by_id_.end()) {
      nodes_[found->second].items.push_back(messages_.back().item);
      messages_.pop_back();
    }
  }

  // Without loops and at most `nesting_limit` levels.
  [[nodiscard]] std::size_t parent_of(std::size_t at) const {
    std::size_t above = at;
    std::size_t parent = no_parent;
    for (std::size_t level = 0; level < nesting_limit; ++level) {
      const std::string_view id = nodes_[above].members["parent_webchat_call_id"].string();
      const auto found = nodes_by_id_.find(id);
      if (id.empty() || found == nodes_by_id_.end()) return parent;
      above = found->second;
      if (level == 0) parent = above;
    }
    return no_parent;
  }

  static Tree call_item(std::int64_t seq, const Tree& node) {
    Tree item = Tree::object();
    item.set("type", "call");
    item.set("seq", Tree::integer(seq));
    item.set("call", node);
    return item;
  }

  static Tree sorted_items(std::vector<Item> items) {
    std::stable_sort(items.begin(), items.end(),
                     [](const Item& one, const Item& other) { return one.seq < other.seq; });
    Tree list = Tree::array();
    for (Item& item : items) list.push(std::move(item.value));
    return list;
  }

  Tree whole(std::size_t at, std::size_t level) {
    const Node& node = nodes_[at];
    Tree made = node.members;
    Tree children = Tree::array();
    std::vector<Item> items = node.items;
    for (const std::size_t child : node.children) {
      Tree below = whole(child, level + 1);
      Tree listed = below;
      if (level >= timeline_limit) {
        listed.set("children", Tree::array());
        listed.set("timeline", Tree::array());
      }
      items.push_back({nodes_[child].seq, call_item(nodes_[child].seq, listed)});
      children.push(std::move(below));
    }
    made.set("children", std::move(children));
    made.set("timeline", sorted_items(std::move(items)));
    return made;
  }

  std::vector<Node> nodes_;
  std::map<std::string, std::size_t, std::less<>> nodes_by_id_;
  std::vector<Message> messages_;
};

// Everything but the texts that the user and the agent wrote.
void redact_stored(Tree& value, bool is_text) {
  if (value.is_string()) {
    if (!is_text) redact(value);
  } else if (value.is_array()) {
    for (Tree& item : value.items()) redact_stored(item, false);
  } else if (value.is_object()) {
    for (auto& [key, member] : value.members()) {
      if (is_secret_name(key)) {
        member = Tree::text(redacted);
      } else {
        redact_stored(member, key == "content");
      }
    }
  }
}

}  // namespace

bool is_history_event(std::string_view event) {
  return std::find(history_events.begin(), history_events.end(), event) != history_events.end();
}

CallTree call_tree(const Tree& events) {
  return TreeBuilder(events).build();
}

void close_calls(Tree& events, const BlockFacts& facts) {
  std::vector<std::pair<std::string, Tree>> open;
  std::int64_t last = 0;
  for (const Tree& event : events.items()) {
    last = std::max(last, event["seq"].integer_or(0));
    const Tree& payload = event["payload"];
    const std::string id = id_of(payload);
    const std::string_view name = event["event"].string();
    if (begins_call(name)) open.emplace_back(id, payload);
    if (ends_call(name)) std::erase_if(open, [&](const auto& call) { return call.first == id; });
  }
  const bool is_cancelled = facts.status == "cancelled";
  while (!open.empty()) {
    Tree payload = std::move(open.back().second);
    open.pop_back();
    const double started = payload["started_at"].number_or(-1);
    for (const std::string_view key : {"arguments_preview", "started_at"}) payload.erase(key);
    payload.set("ok", Tree::flag(false));
    payload.set("status", is_cancelled ? "cancelled" : "error");
    payload.set("result_preview", is_cancelled ? "cancelled" : "interrupted");
    if (started >= 0) {
      const auto passed = facts.finished_ms - static_cast<std::int64_t>(started * 1000 + 0.5);
      payload.set("duration_ms", Tree::integer(std::max<std::int64_t>(0, passed)));
    }
    const bool is_agent = payload["is_agent"].is_true();
    Tree event = Tree::object();
    event.set("seq", Tree::integer(++last));
    event.set("event", is_agent ? "agent_end" : "tool_end");
    event.set("payload", std::move(payload));
    events.push(std::move(event));
  }
}

Tree history_block(const BlockFacts& facts, Tree events) {
  std::vector<Tree>& items = events.items();
  if (items.empty()) return {};
  if (items.size() > event_limit) {
    items.erase(items.begin(), items.end() - static_cast<std::ptrdiff_t>(event_limit));
  }
  if (facts.status == "error" || facts.status == "cancelled") close_calls(events, facts);
  Tree block = Tree::object();
  block.set("display_only", Tree::flag(true));
  block.set("job_id", facts.job_id);
  block.set("conversation_id", facts.conversation_id);
  block.set("mode", facts.mode);
  block.set("status", facts.status);
  block.set("created_at", seconds(facts.created_ms));
  const bool has_ended = facts.finished_ms > 0;
  const std::int64_t duration = std::max<std::int64_t>(0, facts.finished_ms - facts.created_ms);
  block.set("finished_at", has_ended ? seconds(facts.finished_ms) : Tree());
  block.set("duration_ms", has_ended ? Tree::integer(duration) : Tree());
  CallTree tree = call_tree(events);
  block.set("events", std::move(events));
  block.set("calls", std::move(tree.calls));
  block.set("timeline", std::move(tree.timeline));
  return block;
}

Tree with_text(const Tree& block, std::string_view text) {
  const auto is_message = [](const Tree& event) { return event["event"].string() == "message"; };
  const std::vector<Tree>& events = block["events"].items();
  const auto last = std::find_if(events.rbegin(), events.rend(), is_message);
  if (last == events.rend()) return block;
  Tree others = Tree::array();
  for (const Tree& event : events) {
    if (is_message(event) && &event != &*last) continue;
    others.push(event);
    if (is_message(event)) others.items().back().at("payload").set("content", text);
  }
  Tree made = block;
  made.set("events", std::move(others));
  // They have the texts, too; what is missing is made of the events.
  for (const std::string_view part : {"calls", "timeline"}) made.erase(part);
  return made;
}

Tree shown_block(const Tree& block) {
  if (block["events"].items().empty()) return {};
  Tree shown = block;
  shown.erase("conversation_id");
  if (!shown["calls"].is_array() || !shown["timeline"].is_array()) {
    CallTree tree = call_tree(shown["events"]);
    if (!shown["calls"].is_array()) shown.set("calls", std::move(tree.calls));
    if (!shown["timeline"].is_array()) shown.set("timeline", std::move(tree.timeline));
  }
  redact_stored(shown, false);
  return shown;
}

}  // namespace millrace::chat
