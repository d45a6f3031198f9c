#include "message/history.hpp"

#include <algorithm>
#include <array>
#include <bitset>
#include <iterator>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/json.hpp"
#include "message/answer_ends.hpp"
#include "message/left_calls.hpp"
#include "message/ordered_answers.hpp"
#include "message/parts.hpp"
#include "message/server_calls.hpp"

namespace millrace::message {
namespace {

using Index = std::size_t;

// One message of the repaired history: an old one, or the result of an interrupted call.
struct Step {
  Index message = 0;
  const ToolCall* interrupted = nullptr;
};

// Finds out what is wrong and how the history would be right, without touching it.
class Plan {
 public:
  explicit Plan(std::span<const Message> messages, const RepairOptions& options = {})
      : messages_(messages),
        unmatched_(options.unmatched),
        has_answers_(options.has_ordered_answers),
        open_server_calls_(options.open_server_calls),
        closes_last_(options.closes_last_calls),
        results_(messages.size()),
        early_results_(messages.size()),
        open_calls_(messages.size()),
        done_(messages.size()),
        reported_(messages.size()) {
    if (has_answers_) find_answers();
    match();
    for (Index at = 0; at < messages_.size(); ++at) lay(at);
  }

  [[nodiscard]] std::vector<Change>& changes() { return changes_; }
  [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }

 private:
  struct Open {
    Index message = 0;
    const ToolCall* call = nullptr;
  };

  // The messages of a recorded answer are one message for the provider.
  void find_answers() {
    const OrderedAnswers answers(messages_);
    const std::vector<Index> ends = answer_ends(messages_);
    for (Index at = 0; at < messages_.size(); ++at) {
      Index end = at;
      for (const Part& part : answers.at(at)) end = std::max(end, part.at);
      if (end == at) end = ends[at];
      if (end > at) answer_ends_.emplace(at, end);
    }
  }

  // Gives each result to the latest open call of its id; one that came before any call of its id to
  // the first that stays without.
  void match() {
    std::unordered_map<std::string_view, Open> open;
    Index turn = 0;  // where it begins
    for (Index at = 0; at < messages_.size(); ++at) {
      const Message& message = messages_[at];
      if (message.role == Role::user) turn = at;
      if (message.role == Role::tool) {
        const auto found = open.find(message.tool_call_id);
        if (found == open.end()) {
          const bool is_early = !called_.contains(message.tool_call_id);
          if (is_early) early_[message.tool_call_id].push_back(at);
          unmatched_results_.emplace_back(at, is_early);
          continue;
        }
        const auto& [called, call] = found->second;
        const bool stays = has_answers_ && called >= turn && is_server_call(*call);
        if (!stays) results_[called].push_back(at);
        open.erase(found);
      } else if (message.role == Role::assistant) {
        open_calls(open, at);
      }
      note_last(at);
    }
    for (const auto& [id, call] : open) left_open(call);
    for (const auto& [at, is_early] : unmatched_results_) {
      if (!done_[at]) leave_out(at, is_early && !called_.contains(messages_[at].tool_call_id));
    }
  }

  void note_last(Index at) {
    const Role role = messages_[at].role;
    if (role == Role::reasoning || role == Role::activity) return;
    last_ = std::max(last_, at);
    if (role != Role::tool || reported_[at]) last_turn_ = std::max(last_turn_, at);
  }

  void leave_out(Index at, bool has_no_call) {
    const Message& result = messages_[at];
    const bool reported =
        unmatched_ == Unmatched::as_user_text && has_no_call && !text_of(result.content).empty();
    change(reported ? Change::Kind::reported_result : Change::Kind::dropped_result,
           result.tool_call_id, at);
    done_[at] = !reported;
    reported_[at] = reported;
    if (reported) note_last(at);
  }

  void open_calls(std::unordered_map<std::string_view, Open>& open, Index at) {
    for (const ToolCall& call : messages_[at].tool_calls) {
      called_.insert(call.id);
      const auto [place, is_new] = open.try_emplace(call.id, Open{at, &call});
      if (is_new) continue;
      if (place->second.message == at) {
        change(Change::Kind::dropped_call, call.id, at);
      } else {
        left_open(place->second);
        place->second = {at, &call};
      }
    }
  }

  void left_open(const Open& call) {
    const auto early = early_.find(call.call->id);
    if (early == early_.end()) {
      open_calls_[call.message].push_back(call.call);
      return;
    }
    const Index result = early->second.front();
    early_results_[call.message].push_back(result);
    done_[result] = true;
    early_.erase(early);
  }

  static bool may_stand_between(Role role) {
    return role == Role::tool || role == Role::reasoning || role == Role::activity;
  }

  // The results of the calls in these messages that stand behind them.
  [[nodiscard]] std::vector<Index> results_behind(Index at, Index last) const {
    std::vector<Index> results;
    for (Index i = at; i <= last; ++i) {
      std::copy_if(results_[i].begin(), results_[i].end(), std::back_inserter(results),
                   [last](Index result) { return result > last; });
    }
    std::sort(results.begin(), results.end());
    return results;
  }

  void lay(Index at) {
    if (done_[at]) return;
    done_[at] = true;
    steps_.push_back({at, nullptr});
    const auto answer = answer_ends_.find(at);
    const Index last = answer == answer_ends_.end() ? at : answer->second;
    const std::vector<Index> results = results_behind(at, last);
    Index end = last;  // the last result that stands where it should
    Index next = 0;
    for (Index i = last + 1; next < results.size() && i < messages_.size(); ++i) {
      if (!may_stand_between(messages_[i].role)) break;
      if (results[next] != i) continue;
      ++next;
      end = i;
    }
    const bool goes_on = at > last_ || last_ > last;
    for (Index i = at; i <= end; ++i) {
      if (!done_[i] && !reported_[i]) steps_.push_back({i, nullptr});
      done_[i] = done_[i] || !reported_[i];
      if (i == last && goes_on) add_results(at, last, true);
    }
    for (; next < results.size(); ++next) move(results[next]);
    bool closes = goes_on || closes_last_;
    for (Index i = at; i <= last; ++i) {
      for (const Index result : early_results_[i]) move(result);
      closes = closes || !early_results_[i].empty();
    }
    if (closes) add_results(at, last, false);
  }

  void move(Index result) {
    change(Change::Kind::moved_result, messages_[result].tool_call_id, result);
    steps_.push_back({result, nullptr});
    done_[result] = true;
  }

  // For the calls of these messages, in their order: those of the provider's before the results of
  // the host.
  void add_results(Index first, Index last, bool of_provider) {
    for (Index at = first; at <= last; ++at) {
      auto& open = open_calls_[at];
      std::sort(open.begin(), open.end());
      for (const ToolCall* call : open) {
        const bool is_server = is_server_call(*call);
        if ((has_answers_ && is_server) != of_provider) continue;
        if (is_server && last_ <= last) continue;  // its answer may go on
        if (of_provider && open_server_calls_ != OpenServerCalls::answered) {
          if (open_server_calls_ == OpenServerCalls::open || last_turn_ <= last) continue;
          if (is_at_work(*call, messages_.first(last_turn_ + 1))) continue;
          change(Change::Kind::left_out_call, call->id, at);
          continue;
        }
        change(Change::Kind::added_result, call->id, at);
        steps_.push_back({0, call});
      }
    }
  }

  void change(Change::Kind kind, const std::string& id, Index at) {
    changes_.push_back({kind, id, at});
  }

  std::span<const Message> messages_;
  Unmatched unmatched_;
  bool has_answers_;
  OpenServerCalls open_server_calls_;
  bool closes_last_;
  std::unordered_set<std::string_view> called_;                     // ids of the calls so far
  std::unordered_map<std::string_view, std::vector<Index>> early_;  // results before their calls
  std::vector<std::pair<Index, bool>> unmatched_results_;           // with: no call was before it
  std::vector<std::vector<Index>> results_;                         // by the message of the call
  std::vector<std::vector<Index>> early_results_;                   // the same
  std::vector<std::vector<const ToolCall*>> open_calls_;            // by message
  std::unordered_map<Index, Index> answer_ends_;  // of several messages, by their first one
  std::vector<bool> done_;
  std::vector<bool> reported_;  // results that become words of the user
  Index last_ = 0;              // the last message that a provider would see
  Index last_turn_ = 0;         // the same, results aside
  std::vector<Step> steps_;
  std::vector<Change> changes_;
};

Message interrupted(const ToolCall& call, IdSource& ids) {
  Message message;
  message.role = Role::tool;
  message.id = ids.next_id();
  message.tool_call_id = call.id;
  message.content = Content::of_text(interrupted_result);
  message.error = interrupted_result;
  return message;
}

// A message of the user has no member for what failed.
void append_error(Message& message) {
  const std::string error = std::exchange(message.error, std::nullopt).value_or("");
  if (error.empty() || message.content.kind != Content::Kind::text) return;
  if (!has_error(message.content.text, error))
    message.content.text.append("\nError: ").append(error);
}

void drop_repeated(std::vector<ToolCall>& calls) {
  std::unordered_set<std::string> ids;
  std::erase_if(calls, [&](const ToolCall& call) { return !ids.insert(call.id).second; });
}

}  // namespace

std::string describe(const Change& change) {
  constexpr std::array<std::string_view, 6> rest{
      " was dropped: no call is open for it.",
      " was moved behind its call.",
      " was added: the conversation went on without one.",
      " was dropped: its message has another call of this id.",
      " became a message of the user: no call is known for it.",
      " was left out: its provider ran the tool, and the conversation went on without a result."};
  const bool is_call =
      change.kind == Change::Kind::dropped_call || change.kind == Change::Kind::left_out_call;
  std::string sentence = is_call ? "Tool call \"" : "The result of tool call \"";
  return sentence.append(change.tool_call_id)
      .append("\"")
      .append(rest[static_cast<std::size_t>(change.kind)]);
}

namespace {

constexpr std::size_t most_glanced_calls = 32;

// The calls of one message, until each has its result.
class OpenCalls {
 public:
  // False for calls that share an id, and for too many.
  bool begin(std::span<const ToolCall> calls) {
    if (calls.size() > most_glanced_calls) return false;
    calls_ = calls;
    answered_.reset();
    for (std::size_t at = 0; at < calls.size(); ++at) {
      if (place_of(calls[at].id) != at) return false;
    }
    return true;
  }
  // False for a result of another call, or a second one.
  bool answer(std::string_view id) {
    const Index at = place_of(id);
    if (at == calls_.size() || answered_.test(at)) return false;
    answered_.set(at);
    return true;
  }
  [[nodiscard]] bool all_answered() const { return answered_.count() == calls_.size(); }
  [[nodiscard]] bool none_answered() const { return answered_.none(); }

 private:
  [[nodiscard]] Index place_of(std::string_view id) const {
    const auto found = std::find_if(calls_.begin(), calls_.end(),
                                    [&](const ToolCall& call) { return call.id == id; });
    return static_cast<Index>(found - calls_.begin());
  }

  std::span<const ToolCall> calls_;
  std::bitset<most_glanced_calls> answered_;
};

}  // namespace

bool has_error(std::string_view text, std::string_view error) {
  constexpr std::size_t least = 8;  // a shorter one may be a part of another word
  if (text == error || (error.size() >= least && text.find(error) != std::string_view::npos)) {
    return true;
  }
  std::string quoted;
  json::append_string(quoted, error);
  return text.find(quoted) != std::string_view::npos;
}

bool is_paired(std::span<const Message> messages, bool closes_last_calls) {
  OpenCalls open;
  for (const Message& message : messages) {
    if (message.role == Role::reasoning || message.role == Role::activity) continue;
    if (message.role == Role::tool) {
      if (!open.answer(message.tool_call_id)) return false;
      continue;
    }
    if (!open.all_answered()) return false;
    std::span<const ToolCall> calls;
    if (message.role == Role::assistant) calls = message.tool_calls;
    if (!open.begin(calls)) return false;
  }
  // Calls of the last message may be open.
  return open.all_answered() || (!closes_last_calls && open.none_answered());
}

Result<void> check_history(std::span<const Message> messages) {
  constexpr std::array<std::string_view, 4> wrongs{
      " answers no open tool call: ", " does not follow its tool call: ",
      " has a tool call without result: ", " has two tool calls with one id: "};
  Plan plan(messages);
  if (plan.changes().empty()) return {};
  const Change& change = plan.changes().front();
  return make_error(Errc::invalid_messages,
                    "messages[" + std::to_string(change.message) + "]" +
                        std::string(wrongs[static_cast<std::size_t>(change.kind)]) + "\"" +
                        change.tool_call_id + "\".");
}

std::vector<Change> repair_history(Messages& messages, IdSource& ids,
                                   const RepairOptions& options) {
  Plan plan(messages, options);
  if (plan.changes().empty()) return {};
  LeftCalls left;
  std::unordered_set<std::string> programs;
  for (const Change& change : plan.changes()) {
    if (change.kind == Change::Kind::left_out_call) {
      left[change.message].insert(change.tool_call_id);
      programs.insert(change.tool_call_id);
    }
    if (change.kind != Change::Kind::reported_result) continue;
    Message& message = messages[change.message];
    message.role = Role::user;
    message.tool_call_id.clear();
    append_error(message);
  }
  erase_from_orders(messages, left);
  erase_callers(messages, programs);
  Messages repaired;
  repaired.reserve(plan.steps().size());
  for (const Step& step : plan.steps()) {
    // The calls stay where they are in memory when their message moves.
    repaired.push_back(step.interrupted != nullptr ? interrupted(*step.interrupted, ids)
                                                   : std::move(messages[step.message]));
    if (step.interrupted == nullptr) erase_calls(repaired.back(), step.message, left);
  }
  for (Message& message : repaired) drop_repeated(message.tool_calls);
  messages = std::move(repaired);
  return std::move(plan.changes());
}

}  // namespace millrace::message
