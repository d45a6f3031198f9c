#include "agent/state.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>

#include "agent/vendor_calls.hpp"
#include "base/error_json.hpp"
#include "base/shown.hpp"
#include "base/tool_name_separator.hpp"

namespace millrace::agent {
namespace {

using json::Tree;
using json::Type;

// In the order of Status.
constexpr std::array<std::string_view, 7> statuses{
    "idle", "running", "waiting_for_human", "waiting_for_async_tool",
    "done", "error",   "interrupted"};

Tree zeros(std::initializer_list<std::string_view> names) {
  Tree made = Tree::object();
  for (const std::string_view name : names) made.set(name, Tree::integer(0));
  return made;
}

// Older states keep counts by name in an object; today they are a list.
void list_from_map(Tree& holder, std::string_view member, std::string_view name) {
  Tree* map = holder.find(member);
  if (map == nullptr || !map->is_object()) return;
  Tree list = Tree::array();
  for (auto& [key, value] : map->members()) {
    Tree entry = Tree::object();
    entry.set(name, key);
    for (auto& [inner, inner_value] : value.members()) entry.set(inner, inner_value);
    list.push(std::move(entry));
  }
  *map = std::move(list);
}

// Their counts by model have no other name than `provider/model`.
void name_models(Tree& llm) {
  for (Tree& entry : llm.at("byModel").items()) {
    const std::string id(std::as_const(entry)["id"].string());
    const std::size_t slash = id.find('/');
    if (slash == std::string::npos) continue;
    if (std::as_const(entry)["provider"].is_null()) entry.set("provider", id.substr(0, slash));
    if (std::as_const(entry)["model"].is_null()) entry.set("model", id.substr(slash + 1));
  }
}

void modernize(Tree& state) {
  if (state["operationId"].is_null() && state["sessionId"].is_string()) {
    state.set("operationId", state["sessionId"]);
  }
  if (state["status"].string() == "waiting_for_human_input") {
    set_status(state, Status::waiting_for_human);
  }
  if (Tree* usage = state.find("usage"); usage != nullptr && usage->find("tools") != nullptr) {
    list_from_map(usage->at("tools"), "byTool", "name");
  }
  if (Tree* cost = state.find("cost")) {
    if (Tree* llm = cost->find("llm"); llm != nullptr && llm->find("byModel") != nullptr) {
      list_from_map(*llm, "byModel", "id");
      name_models(*llm);
    }
    if (cost->find("tools") != nullptr) list_from_map(cost->at("tools"), "byTool", "name");
  }
}

Error wrong(std::string_view path, std::string_view expected, const Tree& given) {
  std::string message("`");
  message.append(path).append("` of the state must be a ").append(expected);
  message.append(", not ").append(shown_value(given)).append(".");
  return make_error(Errc::invalid_state, std::move(message));
}

struct Rule {
  std::string_view member;
  Type type;
  std::string_view expected;
};

constexpr std::array rules{Rule{"operationId", Type::string, "string"},
                           Rule{"messages", Type::array, "list"},
                           Rule{"stepCount", Type::number, "number"},
                           Rule{"maxSteps", Type::number, "number"},
                           Rule{"metadata", Type::object, "JSON object"},
                           Rule{"toolManifestMap", Type::object, "JSON object"},
                           Rule{"usage", Type::object, "JSON object"},
                           Rule{"cost", Type::object, "JSON object"},
                           Rule{"costLimit", Type::object, "JSON object"},
                           Rule{"pendingToolsCalling", Type::array, "list"},
                           Rule{"interruption", Type::object, "JSON object"},
                           Rule{"userInterventionConfig", Type::object, "JSON object"},
                           Rule{"securityBlacklist", Type::array, "list"},
                           Rule{"toolCallRepeatGuard", Type::object, "JSON object"}};

Result<void> check(const Tree& state) {
  for (const Rule& rule : rules) {
    const Tree& value = state[rule.member];
    if (!value.is_null() && value.type() != rule.type)
      return wrong(rule.member, rule.expected, value);
  }
  const auto& messages = state["messages"].items();
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (!messages[i].is_object())
      return wrong("messages[" + std::to_string(i) + "]", "message", messages[i]);
  }
  const Tree& status = state["status"];
  if (!status.is_null() &&
      std::find(statuses.begin(), statuses.end(), status.string()) == statuses.end()) {
    return wrong("status", "known status", status);
  }
  return {};
}

}  // namespace

Tree typed(std::string_view type) {
  Tree made = Tree::object();
  made.set("type", type);
  return made;
}

std::string iso_time(std::int64_t now_ms) {
  using namespace std::chrono;
  const sys_time<milliseconds> time{milliseconds(now_ms)};
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss<milliseconds> clock(time - day);
  // Each step writes some.
  std::string text = "0000-00-00T00:00:00.000Z";
  const auto put = [&text](std::size_t end, std::int64_t number) {
    for (; number > 0; number /= 10) text[--end] = static_cast<char>('0' + number % 10);
  };
  put(4, std::clamp(static_cast<int>(date.year()), 0, 9999));
  put(7, static_cast<unsigned>(date.month()));
  put(10, static_cast<unsigned>(date.day()));
  put(13, clock.hours().count());
  put(16, clock.minutes().count());
  put(19, clock.seconds().count());
  put(23, clock.subseconds().count());
  return text;
}

Tree default_usage() {
  Tree usage = Tree::object();
  Tree& llm = usage.at("llm");
  llm.set("apiCalls", Tree::integer(0));
  llm.set("processingTimeMs", Tree::integer(0));
  llm.set("tokens", zeros({"input", "output", "total"}));
  Tree& tools = usage.at("tools");
  tools.set("totalCalls", Tree::integer(0));
  tools.set("totalTimeMs", Tree::integer(0));
  tools.set("byTool", Tree::array());
  usage.set("humanInteraction",
            zeros({"approvalRequests", "promptRequests", "selectRequests", "totalWaitingTimeMs"}));
  return usage;
}

Tree default_cost(std::int64_t now_ms) {
  Tree cost = Tree::object();
  cost.set("calculatedAt", iso_time(now_ms));
  cost.set("currency", "USD");
  for (const auto& [part, list] :
       {std::pair<std::string_view, std::string_view>("llm", "byModel"), {"tools", "byTool"}}) {
    Tree& entry = cost.at(part);
    entry.set(list, Tree::array());
    entry.set("currency", "USD");
    entry.set("total", Tree::integer(0));
  }
  cost.set("total", Tree::integer(0));
  return cost;
}

Tree initial_state(const Tree& partial, std::int64_t now_ms) {
  Tree state = Tree::object();
  state.set("operationId", "");
  set_status(state, Status::idle);
  state.set("stepCount", Tree::integer(0));
  state.set("messages", Tree::array());
  state.set("toolManifestMap", Tree::object());
  // What no run has counted yet is shared by all. It is never destroyed: at the end of a process
  // the engine's thread may still copy it.
  static const Tree& usage = *new Tree(default_usage());
  static const Tree& cost = *new Tree(default_cost(0));
  state.set("usage", usage);
  state.set("cost", cost).set("calculatedAt", iso_time(now_ms));
  const std::string now = iso_time(now_ms);
  state.set("createdAt", now);
  state.set("lastModified", now);
  if (partial["operationId"].is_null() && partial["sessionId"].is_string()) {
    state.set("operationId", partial["sessionId"]);
  }
  for (const auto& [key, value] : partial.members()) state.set(key, value);
  return state;
}

namespace {

// True when no member that is counted on has to be filled in.
bool is_complete(const Tree& state) {
  static const Tree& defaults = *new Tree(initial_state(Tree::object(), 0));
  const auto has_all = [](const Tree& value, const Tree& wanted) {
    const auto& members = wanted.members();
    return std::all_of(members.begin(), members.end(),
                       [&](const auto& member) { return !value[member.first].is_null(); });
  };
  return has_all(state, defaults) && has_all(state["usage"], defaults["usage"]) &&
         has_all(state["cost"], defaults["cost"]);
}

}  // namespace

Result<Tree> load_state(Tree state, const Tree& before, std::int64_t now_ms) {
  if (!state.is_object()) return wrong("state", "JSON object", state);
  modernize(state);
  MILLRACE_TRY(check(state));
  if (is_complete(state)) return state;
  const Tree defaults = initial_state(Tree::object(), now_ms);
  for (const auto& [key, value] : defaults.members()) {
    if (!state[key].is_null()) continue;
    state.set(key, before.find(key) != nullptr ? before[key] : value);
  }
  // A foreign usage or cost may be partial; what is counted on is there.
  for (const std::string_view part : {"usage", "cost"}) {
    for (const auto& [key, value] : defaults[part].members()) {
      if (state.at(part)[key].is_null()) state.at(part).set(key, value);
    }
  }
  return state;
}

const Tree& tools_of(const Tree& state) {
  const Tree& flat = state["tools"];
  return flat.is_null() ? state["operationToolSet"]["tools"] : flat;
}

const Tree& manifest_of(const Tree& state, std::string_view identifier) {
  const Tree& flat = state["toolManifestMap"][identifier];
  if (!flat.is_null()) return flat;
  const Tree& bundled = state["operationToolSet"]["manifestMap"][identifier];
  if (!bundled.is_null()) return bundled;
  for (const Tree& found : state["activatedStepTools"].items()) {
    if (found["id"].string() == identifier) return found["manifest"];
  }
  return bundled;
}

void mark_doubt(Tree& state, const Tree& usage) {
  const std::string_view source = usage["source"].string();
  if (source.empty()) return;
  Tree& llm = state.at("usage").at("llm");
  if (source == "unknown" || (source == "estimated" && llm["source"].is_null())) {
    llm.set("source", source);
  }
  if (usage["cost"].is_number()) return;
  Tree& cost = state.at("cost");
  cost.set("unpricedCalls", Tree::integer(cost["unpricedCalls"].integer_or(0) + 1));
}

std::optional<std::int64_t> deadline_of(const Tree& state) {
  const Tree& limits = state["limits"];
  const std::int64_t longest = limits["maxDurationMs"].integer_or(0);
  const std::int64_t started = limits["startedAtMs"].integer_or(0);
  if (longest <= 0 || started <= 0) return std::nullopt;
  const std::int64_t last = std::numeric_limits<std::int64_t>::max();
  return longest < last - started ? started + longest : last;
}

void end_human_wait(Tree& state, std::int64_t now_ms) {
  const Tree* since = state.find("humanWaitingSince");
  if (since == nullptr) return;
  const std::int64_t waited = std::max<std::int64_t>(0, now_ms - since->integer_or(now_ms));
  Tree& human = state.at("usage").at("humanInteraction");
  human.set("totalWaitingTimeMs",
            Tree::integer(human["totalWaitingTimeMs"].integer_or(0) + waited));
  leave_out_time(state, waited);
  state.erase("humanWaitingSince");
}

void leave_out_time(Tree& state, std::int64_t ms) {
  const std::int64_t started = state["limits"]["startedAtMs"].integer_or(0);
  if (started <= 0 || ms <= 0) return;
  state.at("limits").set("startedAtMs", Tree::integer(started + ms));
}

std::string_view name_of(Status status) {
  return statuses[static_cast<std::size_t>(status)];
}

Status status_of(const Tree& state) {
  const Tree& status = state["status"];
  if (!status.is_string()) return Status::idle;
  const auto* found = std::find(statuses.begin(), statuses.end(), status.string());
  return found == statuses.end() ? Status::error : static_cast<Status>(found - statuses.begin());
}

void set_status(Tree& state, Status status) {
  state.set("status", name_of(status));
}

bool is_blocked(Status status) {
  return status != Status::idle && status != Status::running;
}

Tree error_tree(const Error& given) {
  const Error error = for_clients(given);
  Tree tree = Tree::object();
  tree.set("type", error.code_name());
  tree.set("message", error.message);
  if (!error.detail.empty()) tree.at("body").set("detail", error.detail);
  return tree;
}

std::string joined_name(std::string_view plugin, std::string_view function) {
  std::string joined(plugin);
  return joined.append(tool_name_separator).append(function);
}

Tree chat_tool_call(const Tree& call) {
  const Tree& function = call["function"];
  if (!function.is_object()) return call;
  std::string_view name = function["name"].string();
  Tree made = Tree::object();
  const std::size_t first = name.find(tool_name_separator);
  std::string_view api = name;
  std::string_view type = "default";
  std::string_view identifier = name;
  if (first != std::string_view::npos) {
    identifier = name.substr(0, first);
    api = name.substr(first + tool_name_separator.size());
    if (const std::size_t second = api.find(tool_name_separator);
        second != std::string_view::npos) {
      type = api.substr(second + tool_name_separator.size());
      api = api.substr(0, second);
    }
  }
  made.set("apiName", api);
  made.set("arguments",
           function["arguments"].is_string()
               ? function["arguments"]
               : Tree::text(function["arguments"].is_null() ? std::string("{}")
                                                            : function["arguments"].to_json()));
  made.set("id", call["id"].is_string() ? call["id"] : Tree::text(""));
  made.set("identifier", identifier);
  for (const std::string_view member :
       {std::string_view("thoughtSignature"), pending_checks_member}) {
    if (!call[member].is_null()) made.set(member, call[member]);
  }
  made.set("type", type);
  made.fit();
  return made;
}

}  // namespace millrace::agent
