// The compression of a conversation before a model's turn.
#include <algorithm>
#include <optional>
#include <string>

#include "agent/history.hpp"
#include "agent/state.hpp"
#include "agent/step/step_machine.hpp"
#include "agent/tokens.hpp"
#include "base/sha256.hpp"

namespace millrace::agent {

using json::Tree;

namespace {

// The system messages before `cut`, the summary in place of the others, and what follows.
Tree with_summary(const Tree& messages, std::size_t cut, std::string_view group,
                  std::string_view summary) {
  Tree made = Tree::array();
  for (std::size_t i = 0; i < cut; ++i) {
    if (messages.items()[i]["role"].string() == "system") made.push(messages.items()[i]);
  }
  Tree state_message = Tree::object();
  state_message.set("id", group);
  state_message.set("role", "compressedGroup");
  state_message.set("content", summary);
  made.push(std::move(state_message));
  for (std::size_t i = cut; i < messages.items().size(); ++i) made.push(messages.items()[i]);
  return made;
}

// What distinguishes a row from others, whatever is noted in it later.
std::string mark_of(const Tree& state_message) {
  return sha256_hex(std::string(state_message["role"].string()) +
                    state_message["content"].to_json());
}

}  // namespace

// What the conversation may take of a window: the tools and the answer are in it as well. Where
// they would leave next to nothing, the conversation is not given up for them.
std::int64_t StepMachine::room_in(std::int64_t window) const {
  constexpr std::int64_t answer_share = 8;  // of an answer whose limit is not known
  constexpr std::int64_t least_share = 4;
  const std::int64_t answer =
      options_.answer_tokens > 0 ? options_.answer_tokens : window / answer_share;
  const bool has_tools = !state_["forceFinish"].truthy();
  const std::int64_t tools =
      has_tools ? estimate_context_tokens(Tree::array(), tools_of(state_)) : 0;
  return std::max(window - answer - tools, window / least_share);
}

// A summary that failed, or was no shorter, is not paid for again before each turn: only where what
// came since is a quarter of what was to be summed up. Rows of another history have no such past.
bool StepMachine::is_worth_a_summary(const Tree& messages) {
  constexpr std::int64_t least_share = 4;
  Tree* failed = state_.find("failedCompression");
  if (failed == nullptr) return true;
  const auto known = static_cast<std::size_t>((*failed)["rows"].integer_or(0));
  const auto& state_messages = messages.items();
  std::int64_t grown = (*failed)["grown"].integer_or(0);
  for (std::size_t i = known; i < state_messages.size(); ++i)
    grown += estimate_message_tokens(state_messages[i]);
  const bool is_same = state_messages.size() >= known && known > 0 &&
                       mark_of(state_messages[known - 1]) == (*failed)["last"].string();
  if (is_same && grown * least_share < (*failed)["tokens"].integer_or(0)) {
    failed->set("grown", Tree::integer(grown));
    return false;
  }
  state_.erase("failedCompression");
  return true;
}

void StepMachine::compress_context(const Tree& instruction) {
  const Tree& payload = instruction["payload"];
  Tree messages = payload["messages"].is_array() ? payload["messages"] : state_["messages"];
  const std::size_t cut = compression_cut(messages, payload["preserveTailTokens"].integer_or(0));
  constexpr std::int64_t usual_window = 128000;
  const std::int64_t size =
      payload["maxWindowToken"].integer_or(model_setting("contextWindowTokens").integer_or(0));
  const Window window{room_in(size > 0 ? size : usual_window), size > 0};
  const Tree& parent = payload["parentMessageId"];
  if (!parent.is_null()) context_.at("payload").set("parentMessageId", parent);
  const Tree request_messages = summary_request(messages, cut, payload["existingSummary"].string());
  const bool nothing = cut == 0 || request_messages.items()[1]["content"].string().empty();
  if (nothing || !options_.model || !is_worth_a_summary(messages)) {
    return finish_compression(messages, cut, window, std::nullopt, Tree());
  }
  if (over_limit_before("llm")) return finish_instruction();
  answer_ = Tree::object();
  answer_.set("content", "");
  answer_.set("tool_calls", Tree::array());
  answer_.set("compresses", Tree::flag(true));
  const Tree& own = model_setting("compressionModel");
  Tree model = Tree::object();
  for (const std::string_view member : {"model", "provider"}) {
    const Tree& value = own.is_object() ? own[member] : model_setting(member);
    if (!value.is_null()) model.set(member, value);
  }
  Tree call = model;
  call.set("messages", request_messages);
  call.set("purpose", "compression");
  Tree action = Tree::object();
  action.set("payload", std::move(call));
  const std::int64_t started = now_ms_;
  request_model(
      std::move(action),
      [this, messages, cut, window, started, model](const Tree&) {
        std::string summary(answer_["content"].string());
        Tree result = std::move(answer_);
        for (const auto& [name, value] : model.members()) result.set(name, value);
        account("llm", std::move(result), now_ms_ - started,
                [this, messages, cut, window, summary] {
                  finish_compression(messages, cut, window, summary, Tree());
                });
      },
      [this, messages, cut, window](Tree error) {
        finish_compression(messages, cut, window, std::nullopt, std::move(error));
      });
}

void StepMachine::report_uncompressed(std::int64_t tokens, Tree error) {
  state_.set("failedCompression", Tree::object()).set("tokens", Tree::integer(tokens));
  report(CompressionFailure{std::string(error["type"].string()),
                            std::string(error["message"].string())});
  Tree event = typed("compression_error");
  event.set("error", std::move(error));
  emit(std::move(event));
}

void StepMachine::report_compressed(const std::string& group) {
  state_.erase("failedCompression");
  Tree event = typed("compression_complete");
  event.set("groupId", group);
  if (!context_["payload"]["parentMessageId"].is_null()) {
    event.set("parentMessageId", context_["payload"]["parentMessageId"]);
  }
  emit(std::move(event));
}

// Puts the summary in, or leaves the rows as they are; what is still too long loses whole turns,
// and then the middles of its longest texts.
void StepMachine::finish_compression(const Tree& messages, std::size_t cut, Window window,
                                     std::optional<std::string> summary, Tree error) {
  const std::int64_t before = estimate_context_tokens(messages, Tree());
  Tree made = messages;
  bool helped = false;
  std::string group;
  if (summary && summary->empty()) {
    error = error_tree(
        make_error(Errc::provider_error,
                   "The model returned an empty summary; the conversation was not compressed."));
  } else if (summary) {
    group = new_id();
    made = with_summary(messages, cut, group, *summary);
    helped = estimate_context_tokens(made, Tree()) < before;
    if (!helped) {
      made = messages;
      error = error_tree(
          make_error(Errc::provider_error,
                     "The summary of " + std::to_string(summary->size()) +
                         " bytes is not shorter than the messages it replaces; it was discarded."));
    }
  }
  if (!error.is_null()) {
    report_uncompressed(before, std::move(error));
  } else if (helped) {
    report_compressed(group);
  }
  made = truncate_turns(made, window.room);
  if (window.known) made = shorten_messages(made, window.room);
  if (Tree* failed = state_.find("failedCompression")) {
    failed->set("rows", Tree::integer(static_cast<std::int64_t>(made.items().size())));
    if (!made.items().empty()) failed->set("last", mark_of(made.items().back()));
  }
  const bool changed = !(made == messages);
  set_status(state_, Status::running);
  state_.set("messages", made);
  Tree payload = Tree::object();
  payload.set("compressedMessages", std::move(made));
  if (helped) payload.set("groupId", group);
  if (!context_["payload"]["parentMessageId"].is_null()) {
    payload.set("parentMessageId", context_["payload"]["parentMessageId"]);
  }
  payload.set("skipped", Tree::flag(!changed));
  next_context_ = context_of("compression_result", std::move(payload));
  finish_instruction();
}

}  // namespace millrace::agent
