#include "agent/context.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "agent/history.hpp"
#include "agent/provider_rows.hpp"
#include "base/shown.hpp"

namespace millrace::agent {
namespace {

using json::Tree;

// A number that a request may carry, and its range when the card has none.
struct Parameter {
  std::string_view name;
  double least;
  double most;
};
constexpr double unbounded = 1e15;
constexpr std::array parameters{
    Parameter{"temperature", 0, 2},           Parameter{"top_p", 0, 1},
    Parameter{"top_k", 0, unbounded},         Parameter{"frequency_penalty", -2, 2},
    Parameter{"presence_penalty", -2, 2},     Parameter{"max_tokens", 1, unbounded},
    Parameter{"seed", -unbounded, unbounded}, Parameter{"thinkingBudget", 0, unbounded}};

std::string date_of(std::int64_t now_ms, std::int64_t offset_minutes) {
  using std::chrono::days;
  using std::chrono::milliseconds;
  const std::chrono::sys_time<milliseconds> local{milliseconds(now_ms + offset_minutes * 60'000)};
  const std::chrono::year_month_day date(std::chrono::floor<days>(local));
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02u", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
  return text.data();
}

// A value of `variables` as text; lists are theirs with commas.
std::string variable_text(const Tree& value) {
  if (value.is_null()) return {};
  if (value.is_string()) return std::string(value.string());
  if (!value.is_array()) return value.to_json();
  std::string text;
  for (const Tree& item : value.items()) {
    const std::string one = variable_text(item);
    if (!one.empty()) text.append(text.empty() ? "" : ", ").append(one);
  }
  return text;
}

// `{{name}}` by its value; an unknown name stays as it is.
std::string filled(std::string_view text, const Tree& variables) {
  std::string out;
  while (!text.empty()) {
    const std::size_t open = text.find("{{");
    const std::size_t close = text.find("}}", open == std::string_view::npos ? open : open + 2);
    if (close == std::string_view::npos) break;
    std::string_view name = text.substr(open + 2, close - open - 2);
    name.remove_prefix(std::min(name.find_first_not_of(' '), name.size()));
    name = name.substr(0, name.find_last_not_of(' ') + 1);
    const Tree* value = variables.find(name);
    out.append(text.substr(0, open));
    if (value != nullptr) {
      out.append(variable_text(*value));
    } else {
      out.append(text.substr(open, close + 2 - open));
    }
    text.remove_prefix(close + 2);
  }
  return out.append(text);
}

// Foreign text in an element of ours: its own end tags must not end ours.
std::string enclosed(std::string_view text, std::string_view element) {
  const std::string end = "</" + std::string(element);
  std::string out;
  for (std::size_t at = text.find(end); at != std::string_view::npos; at = text.find(end)) {
    out.append(text.substr(0, at)).append("< /").append(element);
    text.remove_prefix(at + end.size());
  }
  return out.append(text);
}

std::string attribute(std::string_view name, const Tree& value) {
  if (!value.is_string()) return {};
  std::string text(value.string());
  std::replace_if(
      text.begin(), text.end(),
      [](char c) { return c == '"' || c == '<' || c == '>' || c == '\n'; }, ' ');
  return " " + std::string(name) + "=\"" + text + "\"";
}

class Builder {
 public:
  Builder(const Tree& input, IdSource& ids) : input_(input), ids_(ids) {}

  Result<Tree> build() {
    if (!input_["messages"].is_array()) {
      return make_error(Errc::invalid_argument, "`messages` must be a list of messages, not " +
                                                    shown_value(input_["messages"]) + ".");
    }
    const Tree& agent = input_["agent"];
    for (const std::string_view member : {"model", "provider"}) {
      if (agent[member].is_string()) payload_.set(member, agent[member]);
    }
    takes_tools_ = !is_false(input_["card"]["abilities"]["functionCall"]);
    Tree state_messages = history();
    const bool is_empty =
        std::all_of(state_messages.items().begin(), state_messages.items().end(),
                    [](const Tree& state_message) { return is_role(state_message, "system"); });
    if (is_empty) {
      return make_error(Errc::invalid_argument,
                        "`messages` has only system messages; add a message of the user.");
    }
    payload_.set("messages", std::move(state_messages));
    add_tools();
    add_parameters();
    Tree result = Tree::object();
    result.set("payload", std::move(payload_));
    result.set("dropped", std::move(dropped_));
    return result;
  }

 private:
  static bool is_false(const Tree& value) { return value.type() == json::Type::boolean_false; }

  void drop(std::string_view what) {
    const auto& items = dropped_.items();
    const bool is_known = std::any_of(items.begin(), items.end(),
                                      [&](const Tree& item) { return item.string() == what; });
    if (!is_known) dropped_.push(Tree::text(what));
  }

  // The conversation as it is sent: the newest rows, whole, behind one system message.
  Tree history() {
    Tree state_messages = input_["messages"];
    if (input_["historyCount"].is_number()) {
      // Without history the question is left.
      const std::int64_t most = std::max<std::int64_t>(input_["historyCount"].integer_or(1), 1);
      const std::size_t before = state_messages.items().size();
      state_messages = newest_messages(state_messages, static_cast<std::size_t>(most));
      if (state_messages.items().size() < before) drop("history");
    }
    state_messages = provider_messages(state_messages, ids_);
    std::string given;
    Tree sent = Tree::array();
    for (Tree& state_message : state_messages.items()) {
      if (is_role(state_message, "system") && sent.items().empty()) {
        if (!given.empty()) given.append("\n\n");
        given.append(state_message["content"].string());
      } else {
        sent.push(without_images(takes_tools_ ? std::move(state_message)
                                              : results_as_text(std::move(state_message))));
      }
    }
    const std::string system = system_text(given);
    if (system.empty()) return sent;
    Tree first = Tree::object();
    first.set("role", "system");
    first.set("content", system);
    sent.items().insert(sent.items().begin(), std::move(first));
    return sent;
  }

  std::string system_text(std::string_view given) {
    std::vector<std::string> parts;
    const Tree& agent = input_["agent"];
    const Tree& variables = input_["variables"];
    // A conversation that brings its own role keeps it.
    if (given.empty()) {
      parts.push_back(filled(agent["systemRole"].string(), variables));
    } else {
      parts.emplace_back(given);
    }
    for (const Tree& text : input_["instructions"].items()) {
      parts.push_back(filled(text.string(), variables));
    }
    if (takes_tools_) parts.push_back(plugin_roles());
    parts.push_back(resources());
    if (input_["nowMs"].is_number()) {
      parts.push_back(
          "Today is " +
          date_of(input_["nowMs"].integer_or(0), input_["utcOffsetMinutes"].integer_or(0)) + ".");
    }
    std::string text;
    for (const std::string& part : parts) {
      if (part.empty()) continue;
      if (!text.empty()) text.append("\n\n");
      text.append(part);
    }
    return text;
  }

  // The system prompts of tools, in the order in which the agent has them.
  std::string plugin_roles() {
    std::string text;
    for (const Tree& identifier : input_["agent"]["plugins"].items()) {
      const Tree& role = input_["manifests"][identifier.string()]["systemRole"];
      if (role.string().empty()) continue;
      text.append(text.empty() ? "" : "\n").append("<tool").append(attribute("name", identifier));
      text.append(">\n").append(enclosed(role.string(), "tool")).append("\n</tool>");
    }
    return text;
  }

  std::string resources() {
    std::string text;
    for (const Tree& resource : input_["resources"].items()) {
      text.append(text.empty() ? "" : "\n").append("<resource");
      text.append(attribute("title", resource["title"])).append(attribute("uri", resource["uri"]));
      text.append(">\n").append(enclosed(resource["content"].string(), "resource"));
      text.append("\n</resource>");
    }
    return text;
  }

  // For a model without tools: calls and results as sentences.
  Tree results_as_text(Tree state_message) {
    if (is_role(state_message, "tool")) {
      drop("tools");
      Tree replacement = Tree::object();
      replacement.set("role", "user");
      replacement.set("content",
                      "Result of a tool:\n" + std::string(state_message["content"].string()));
      return replacement;
    }
    const Tree* calls = state_message.find("tool_calls");
    if (calls == nullptr) return state_message;
    drop("tools");
    std::string text(state_message["content"].string());
    for (const Tree& call : calls->items()) {
      const Tree& function = call["function"];
      if (!text.empty()) text.push_back('\n');
      text.append("Called the tool ").append(function["name"].string());
      text.append(" with ").append(function["arguments"].string());
    }
    state_message.erase("tool_calls");
    state_message.set("content", text);
    return state_message;
  }

  Tree without_images(Tree state_message) {
    const Tree& content = state_message["content"];
    if (!content.is_array() || !is_false(input_["card"]["abilities"]["vision"]))
      return state_message;
    Tree parts = Tree::array();
    for (const Tree& part : content.items()) {
      if (part["type"].string() != "image_url") {
        parts.push(part);
        continue;
      }
      drop("images");
      Tree replacement = Tree::object();
      replacement.set("type", "text");
      replacement.set("text", "[An image was here, which this model cannot see.]");
      parts.push(std::move(replacement));
    }
    state_message.set("content", std::move(parts));
    return state_message;
  }

  void add_tools() {
    const Tree& tools = input_["tools"];
    if (tools.items().empty()) return;
    if (takes_tools_) {
      payload_.set("tools", tools);
    } else {
      drop("tools");
    }
  }

  void add_parameters() {
    const Tree& card = input_["card"];
    for (const auto& [name, value] : input_["agent"]["params"].members()) {
      if (value.is_null()) continue;
      const Tree& bounds = card["parameters"][name];
      if (is_false(bounds)) {
        drop(name);
        continue;
      }
      const auto state_message =
          std::find_if(parameters.begin(), parameters.end(),
                       [&, wanted = std::string_view(name)](const Parameter& parameter) {
                         return parameter.name == wanted;
                       });
      if (state_message == parameters.end()) {
        payload_.set(name, value);
      } else if (value.is_number()) {
        payload_.set(name, clamped(value, *state_message, bounds));
      } else {
        drop(name);
      }
    }
  }

  Tree clamped(const Tree& value, const Parameter& state_message, const Tree& bounds) {
    double least = bounds["min"].number_or(state_message.least);
    double most = bounds["max"].number_or(state_message.most);
    if (state_message.name == "max_tokens") {
      const Tree& card = input_["card"];
      most =
          std::min(most, card["maxOutput"].number_or(card["contextWindowTokens"].number_or(most)));
    }
    least = std::min(least, most);
    const double wanted = value.number_or(least);
    // In range it stays as it was written.
    if (wanted >= least && wanted <= most) return value;
    return Tree::number(std::clamp(wanted, least, most));
  }

  const Tree& input_;
  IdSource& ids_;
  Tree payload_ = Tree::object();
  Tree dropped_ = Tree::array();
  bool takes_tools_ = true;
};

}  // namespace

Result<Tree> build_context(const Tree& input, IdSource& ids) {
  return Builder(input, ids).build();
}

}  // namespace millrace::agent
