#include "agent/provider_rows.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "agent/approval/vendor_approvals.hpp"
#include "agent/history.hpp"
#include "agent/listed_parts.hpp"
#include "agent/state.hpp"
#include "agent/tool_names.hpp"
#include "base/partial_json.hpp"
#include "message/tool_name.hpp"

namespace millrace::agent {
namespace {

using json::Tree;

bool is_result(const Tree& row) {
  return is_role(row, "tool");
}

// What a provider reads again is an object, whatever the model wrote.
void mend_arguments(Tree& row, std::size_t at) {
  const Tree& function = std::as_const(row)["tool_calls"].items()[at]["function"];
  const Tree& given = function["arguments"];
  if (function["name"].is_null() || !(given.is_string() || given.is_null())) return;
  const std::string whole = json::object_text(given.string());
  if (whole == given.string()) return;
  row.at("tool_calls").items()[at].at("function").set("arguments", whole);
}

// A model may have called what no tool can be called; providers reject such a name in a later
// request.
void name_calls(Tree& row) {
  const std::size_t count = std::as_const(row)["tool_calls"].items().size();
  for (std::size_t at = 0; at < count; ++at) {
    const std::string_view given =
        std::as_const(row)["tool_calls"].items()[at]["function"]["name"].string();
    const std::string name = given.empty() ? "unknown" : message::sendable_name(given);
    if (name != given) row.at("tool_calls").items()[at].at("function").set("name", name);
    mend_arguments(row, at);
  }
}

// A call of LobeHub's shape as a provider reads it.
Tree provider_call(const Tree& call) {
  Tree made = Tree::object();
  made.set("id", call["id"]);
  made.set("type", "function");
  const std::string_view name = call["apiName"].string();
  const std::string_view identifier = call["identifier"].string();
  const bool plain = identifier.empty() || identifier == name;
  made.at("function").set("name", plain ? std::string(name) : shown_tool_name(identifier, name));
  made.at("function").set("arguments", call["arguments"]);
  if (!call["thoughtSignature"].is_null()) made.set("thoughtSignature", call["thoughtSignature"]);
  return made;
}

constexpr std::string_view no_result = "The call has no result.";

// What the model reads of a result: where it has no text, what failed.
Tree content_of(const Tree& content, const Tree& error) {
  const bool is_list = content.is_array() && !content.items().empty();
  if (is_list || !content.string().empty()) return content;
  if (!error["message"].string().empty()) return error["message"];
  return content.is_string() ? content : Tree::text(no_result);
}

// LobeHub writes this before the first word of an answer, and leaves it where none came.
bool is_placeholder(const Tree& row) {
  constexpr std::string_view placeholder = "...";
  if (row["content"].string() != placeholder) return false;
  return std::all_of(row.members().begin(), row.members().end(), [](const Tree::Member& member) {
    constexpr std::array<std::string_view, 8> content_members{
        "tools",     "tool_calls", "reasoning", "imageList",
        "videoList", "fileList",   "audioList", "chunksList"};
    const bool has_content = std::find(content_members.begin(), content_members.end(),
                                       member.first.view()) != content_members.end();
    return !has_content || member.second.is_null() ||
           (member.second.is_array() && member.second.items().empty());
  });
}

// One turn of a group of turns, and the results that are with its calls.
void push_turn(std::vector<Tree>& rows, const Tree& turn) {
  if (is_placeholder(turn)) return;
  Tree row = with_listed_parts(turn);
  Tree results = Tree::array();
  Tree calls = Tree::array();
  for (const Tree& call : turn["tools"].items()) {
    calls.push(provider_call(call));
    const Tree& given = call["result"];
    if (!given.is_object()) continue;
    Tree result = Tree::object();
    result.set("id", given["id"]);
    result.set("role", "tool");
    result.set("content", content_of(given["content"], given["error"]));
    result.set("tool_call_id", call["id"]);
    results.push(std::move(result));
  }
  row.erase("tools");
  row.set("role", "assistant");
  if (row["content"].is_null()) row.set("content", "");
  if (!calls.items().empty()) row.set("tool_calls", std::move(calls));
  rows.push_back(std::move(row));
  for (Tree& result : results.items()) rows.push_back(std::move(result));
}

void push_task(std::vector<Tree>& rows, const Tree& task) {
  Tree reported = task;
  reported.set("role", "user");
  reported.set("content", "Result of the task \"" +
                              std::string(task["metadata"]["instruction"].string()) + "\":\n" +
                              std::string(task["content"].string()));
  rows.push_back(std::move(reported));
}

// A result as the model reads it.
Tree result_row(const Tree& row) {
  const Tree& error = row["pluginError"].is_object() ? row["pluginError"] : row["error"];
  const Tree content = content_of(row["content"], error);
  if (content.is_same(row["content"])) return row;
  Tree made = row;
  made.set("content", content);
  return made;
}

// The turns of one run; without any the row is its only one.
void push_turns(std::vector<Tree>& rows, const Tree& group) {
  if (!group["children"].is_array()) return push_turn(rows, group);
  for (const Tree& turn : group["children"].items()) push_turn(rows, turn);
}

// The row, or where it holds others, as LobeHub shows a run, those; the result of a task is told by
// the user.
void push_flat(std::vector<Tree>& rows, const Tree& row) {
  const std::string_view role = row["role"].string();
  if (role == "assistantGroup" || role == "supervisor") {
    push_turns(rows, row);
  } else if (role == "agentCouncil") {
    for (const Tree& member : row["members"].items()) push_flat(rows, member);
  } else if (role == "tasks" || role == "groupTasks") {
    for (const Tree& task : row["tasks"].items()) push_task(rows, task);
  } else if (is_mcp_answer(row)) {
    rows.push_back(mcp_answer(row));
  } else if (role == "task") {
    push_task(rows, row);
  } else if (role == "tool") {
    rows.push_back(result_row(row));
  } else if (role == "assistant" && row["tool_calls"].items().empty() &&
             (!row["tools"].items().empty() || is_placeholder(row))) {
    push_turn(rows, row);
  } else {
    rows.push_back(with_listed_parts(row));
  }
}

// A row of the conversation as it is sent.
void finish_row(Tree& row) {
  name_calls(row);
  if (!is_role(row, "compressedGroup")) return;
  row.set("role", "user");
  row.set("content",
          "Summary of the conversation so far:\n" + std::string(row["content"].string()));
}

// Some providers take no conversation that an assistant begins; its beginning may have been edited
// away.
Tree missing_beginning() {
  Tree opening = Tree::object();
  opening.set("role", "user");
  opening.set("content", "(The beginning of the conversation is missing.)");
  return opening;
}

// The results of a history by the ids of their calls. Each is taken once; calls ask in the order of
// their rows.
class Results {
 public:
  explicit Results(std::span<const Tree> rows) {
    for (std::size_t at = 0; at < rows.size(); ++at) {
      if (is_result(rows[at])) places_[rows[at]["tool_call_id"].string()].at.push_back(at);
    }
  }

  // The first that follows this row and was not taken.
  std::optional<std::size_t> take(std::string_view id, std::size_t row) {
    const auto found = places_.find(id);
    if (id.empty() || found == places_.end()) return std::nullopt;
    Places& places = found->second;
    while (places.next < places.at.size() && places.at[places.next] <= row) ++places.next;
    if (places.next == places.at.size()) return std::nullopt;
    return places.at[places.next++];
  }

 private:
  struct Places {
    std::vector<std::size_t> at;
    std::size_t next = 0;
  };
  std::unordered_map<std::string_view, Places> places_;
};

// Repairs rows one after the other. Rows change only where something is wrong with them: the others
// stay shared.
class Repair {
 public:
  // `seen` has the ids of calls before these rows, and gets theirs; `early` has results before
  // them.
  Repair(std::span<const Tree> rows, std::set<std::string>& seen, EarlyResults& early,
         IdSource& ids)
      : messages_(rows), seen_(seen), early_(early), ids_(ids), results_(rows) {}

  // Appends a row and the results of its calls.
  void add(Tree& out, std::size_t at) {
    if (is_result(messages_[at])) return note_early(messages_[at]);
    Tree row = messages_[at];
    const Tree* calls = is_role(row, "assistant") ? messages_[at].find("tool_calls") : nullptr;
    const std::size_t count = calls == nullptr ? 0 : calls->items().size();
    std::vector<Tree> results;
    for (std::size_t call = 0; call < count; ++call) {
      const std::string id(calls->items()[call]["id"].string());
      std::string fresh = id;
      if (id.empty() || !note(id)) {
        fresh = "call_" + ids_.next_id();
        row.at("tool_calls").items()[call].set("id", fresh);
      }
      results.push_back(result_of(id, fresh, at));
    }
    if (calls != nullptr && count == 0) row.erase("tool_calls");
    out.push(std::move(row));
    for (Tree& result : results) out.push(std::move(result));
  }

  // Each call before this row has its result behind it, and none of these results is behind this
  // row.
  [[nodiscard]] bool is_settled_before(std::size_t at) const { return !open_ && at >= needed_; }
  // Everything that was added so far is settled.
  void settle() {
    unsettled_.clear();
    early_changes_.clear();
  }
  // Forgets the ids that were noted since, and what became of results before their calls.
  void forget() {
    for (const std::string& id : unsettled_) seen_.erase(id);
    for (auto change = early_changes_.rbegin(); change != early_changes_.rend(); ++change) {
      if (change->taken) {
        early_.emplace(change->id, *std::move(change->taken));
      } else {
        early_.erase(change->id);
      }
    }
  }

 private:
  void note_early(const Tree& result) {
    const std::string id(result["tool_call_id"].string());
    if (id.empty() || seen_.contains(id) || !early_.emplace(id, result).second) return;
    early_changes_.push_back({id, std::nullopt});
  }

  bool note(const std::string& id) {
    const bool is_new = seen_.insert(id).second;
    if (is_new) unsettled_.push_back(id);
    return is_new;
  }

  Tree result_of(std::string_view id, const std::string& fresh, std::size_t at) {
    Tree result = Tree::object();
    if (const auto found = results_.take(id, at)) {
      needed_ = std::max(needed_, *found + 1);
      result = messages_[*found];
    } else if (const auto early = early_.find(id); early != early_.end()) {
      // One behind the call may still come, and counts then.
      open_ = true;
      result = early->second;
      early_.erase(early);
      early_changes_.push_back({std::string(id), result});
    } else {
      open_ = true;
      result.set("role", "tool");
      result.set("content", no_result);
    }
    if (std::as_const(result)["tool_call_id"].string() != fresh) result.set("tool_call_id", fresh);
    return result;
  }

  std::span<const Tree> messages_;
  std::set<std::string>& seen_;
  EarlyResults& early_;
  IdSource& ids_;
  Results results_;
  std::vector<std::string> unsettled_;
  // A result that was noted, or taken by its call, since the rows before were settled.
  struct EarlyChange {
    std::string id;
    std::optional<Tree> taken;
  };
  std::vector<EarlyChange> early_changes_;
  std::size_t needed_ = 0;  // rows up to the last result that was taken
  bool open_ = false;
};

}  // namespace

Tree repair_messages(const Tree& messages, IdSource& ids) {
  std::set<std::string> seen;
  EarlyResults early;
  const std::span<const Tree> rows(messages.items());
  Repair repair(rows, seen, early, ids);
  Tree repaired = Tree::array();
  for (std::size_t at = 0; at < rows.size(); ++at) repair.add(repaired, at);
  return repaired;
}

Tree provider_messages(const Tree& messages, IdSource& ids) {
  return ProviderMessages().take(messages, ids);
}

void ProviderMessages::begin_anew() {
  settled_.clear();
  settled_rows_ = 0;
  begun_ = false;
  ids_.clear();
  early_.clear();
  messages_ = Tree::array();
}

Tree ProviderMessages::take(const Tree& messages, IdSource& ids) {
  const std::vector<Tree>& given = messages.items();
  const bool goes_on =
      given.size() >= settled_.size() &&
      std::equal(settled_.begin(), settled_.end(), given.begin(),
                 [](const Tree& one, const Tree& other) { return one.is_same(other); });
  if (!goes_on) begin_anew();
  messages_.items().resize(settled_rows_);
  const std::size_t known = settled_.size();
  std::vector<Tree> fresh;
  std::vector<std::size_t> starts;  // of the given rows in `fresh`
  for (std::size_t at = known; at < given.size(); ++at) {
    starts.push_back(fresh.size());
    push_flat(fresh, given[at]);
  }
  Repair repair(fresh, ids_, early_, ids);
  bool begun = begun_;
  const auto settle = [&](std::size_t rows) {
    repair.settle();
    settled_.insert(settled_.end(), given.begin() + static_cast<std::ptrdiff_t>(settled_.size()),
                    given.begin() + static_cast<std::ptrdiff_t>(rows));
    settled_rows_ = std::as_const(messages_).items().size();
    begun_ = begun;
  };
  std::size_t next = 0;  // of the given rows
  for (std::size_t at = 0; at < fresh.size(); ++at) {
    for (; next < starts.size() && starts[next] == at; ++next) {
      if (repair.is_settled_before(at)) settle(known + next);
    }
    const std::size_t from = std::as_const(messages_).items().size();
    if (!begun && !is_result(fresh[at]) && !is_prompt(fresh[at])) {
      begun = true;
      if (is_role(fresh[at], "assistant")) messages_.push(missing_beginning());
    }
    repair.add(messages_, at);
    std::vector<Tree>& rows = messages_.items();
    for (std::size_t row = from; row < rows.size(); ++row) finish_row(rows[row]);
  }
  if (repair.is_settled_before(fresh.size())) settle(given.size());
  repair.forget();
  return messages_;
}

}  // namespace millrace::agent
