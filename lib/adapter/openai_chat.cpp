#include "adapter/openai_chat.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_set>
#include <utility>

#include "adapter/usage.hpp"
#include "base/error.hpp"
#include "base/json_members.hpp"
#include "base/shown.hpp"

namespace millrace::adapter {
namespace {

constexpr std::string_view silent_sentence =
    "The answer of the provider has neither a text nor a valid tool call.";

// Groq and Moonshot have places of their own for the counts, where the answer ends.
json::Value usage_of(const json::Value& record, const json::Value& usage, const json::Value& choice,
                     bool finished) {
  if (usage.is_object() || !finished) return usage;
  if (const json::Value groq = record["x_groq"]["usage"]; groq.is_object()) return groq;
  return choice["usage"];
}

// 0, SiliconFlow's 20000 and the numbers of HTTP's good answers are no failures; heartbeats and
// wrappers have them.
bool is_failure(std::string_view code) {
  const bool is_status =
      code.size() == 3 && code.find_first_not_of("0123456789") == std::string_view::npos;
  const bool is_good = code == "0" || code == "20000" || (is_status && code.front() == '2');
  return !code.empty() && !is_good;
}

// Errors that stand in the place of a chunk: MiniMax's `base_resp`, what stopped a stream of
// Groq's, and SiliconFlow's record of a code and a message.
// Source: groq/groq-python, chat_completion_chunk.py (2026-11).
std::optional<ErrorRecord> error_in_place(const json::Value& record, bool is_chunk) {
  const json::Value base = record["base_resp"];
  if (const json::Value status = base["status_code"]; status.truthy()) {
    const std::string code = status.is_string() ? std::string(status.string()) : status.to_json();
    const std::string_view received = base["status_msg"].string();
    if (is_failure(code)) {
      return ErrorRecord{std::string(received.empty() ? "Stream error" : received), code};
    }
  }
  if (auto error = error_of(record["x_groq"])) return error;
  if (is_chunk || !record["message"].filled_string()) return std::nullopt;
  ErrorRecord error = read_error(record, {});
  if (!is_failure(error.code)) return std::nullopt;
  return error;
}

// Whether a message beside a delta has other words than it, or more than were given.
bool has_more_words(const json::Value& message, const json::Value& delta, std::size_t given) {
  const auto words = message["content"].filled_string();
  return words && (words->size() > given || !words->ends_with(delta["content"].string()));
}

bool may_reason(const json::Value& delta) {
  return delta.may_have(
      {"reasoning_content", "reasoning", "reasoning_text", "reasoning_details", "thinking_blocks"});
}

// The texts of sources, by which a list without their other members names them.
std::unordered_set<std::string_view> texts_of(const json::Value& sources) {
  std::unordered_set<std::string_view> texts;
  for (const json::Value source : sources.items()) {
    texts.insert(source.string());
    for (const json::Member& member : source.members()) texts.insert(member.value.string());
  }
  return texts;
}

}  // namespace

bool OpenAiChat::on_record(std::string_view /*name*/, const json::Value& record) {
  const json::Value choices = record["choices"];
  const json::Value usage = record["usage"];
  auto error = error_of(record);
  if (!error && services_.mode == event::Mode::strict) {
    error = error_in_place(record, choices.exists() || usage.is_object());
  }
  if (error) {
    give_early();
    tagged_.flush(*this);
    note_usage(record, usage);
    flush_usage();
    if (services_.mode == event::Mode::strict) {
      error->message = relayed_message(error->message, record["error"]);
    }
    fail_with(services_.parts, services_.mode, *error);
    return true;
  }
  const bool is_chunk = choices.is_array() || usage.is_object();
  // An answer that was not streamed is read in strict mode.
  const bool whole = record["object"].string() == "chat.completion";
  if (!is_chunk || (whole && services_.mode == event::Mode::as_received)) return false;
  answer_name_.note(services_, record["id"].string());
  // Sources that come with the end of the answer stand before it.
  const bool has_message = !message_id_.empty();
  if (has_message) on_citations(record);
  if (services_.vendor_ids && answer_id_.empty()) answer_id_ = record["id"].string();
  const json::Value choice = on_choices(choices);
  if (services_.mode == event::Mode::strict && choice["error"].is_object()) take_error(choice);
  on_moderation(record["moderation"]);
  note_usage(record, usage_of(record, usage, choice, finished_));
  if (services_.facts != nullptr) note_facts(record, choice);
  if (!has_message) on_citations(record);
  // Other wires have records with a usage, too, but they do not follow a message of this one.
  return choices.is_array() || has_message;
}

// `speaks`: the words of the choice are the answer's, not its calls alone.
void OpenAiChat::on_choice(const json::Value& choice, const Given& before, bool speaks) {
  const json::Value delta = choice["delta"];
  const bool strict = services_.mode == event::Mode::strict;
  if (delta["tool_calls"].size() == 0 && delta["function_call"].is_nothing()) open_named_calls();
  if (delta.is_object()) {
    if (speaks) on_delta(delta, {});
    on_tool_calls(delta["tool_calls"], std::nullopt);
    on_function_call(delta);
    if (speaks) on_annotations(delta["annotations"]);
    const json::Value message = choice["message"];
    const bool has_more = has_more_words(message, delta, given_.text_bytes) ||
                          message["tool_calls"].size() > calls_.size();
    if (speaks && has_more) skip_member("choice.message");
  } else if (strict && choice["message"].is_object()) {
    const bool last = choice["finish_reason"].filled_string().has_value();
    on_message(choice["message"], before, last, speaks);
  }
  if (strict && speaks) {
    for (const json::Value message : choice["messages"].items()) {
      on_annotations(message["annotations"]);
      if (is_of_search(message) && message["content"].truthy()) skip_member("choice.messages");
    }
  }
  if (services_.logprobs && speaks) on_logprobs(choice["logprobs"]);
}

// An answer that was not streamed, or the record that closes a stream with the whole message: of
// that one only what did not come in pieces, which is in `before`, is new.
void OpenAiChat::on_message(const json::Value& message, const Given& before, bool last,
                            bool speaks) {
  Given given;
  if (last) {
    given.text = before.text && message["content"].string().size() >= before.text_bytes;
    given.reasoning_parts = before.reasoning_parts;
    given.images = before.images;
  }
  const bool has_calls = last && before.calls > 0;
  only_message_ = choices_ == 1;
  const json::Value content = message["content"];
  if (only_message_ && !content.is_nothing() && !content.is_string() && !content.is_array()) {
    return services_.parts.fail(
        row_of(Errc::provider_error).code,
        "The `content` of the provider's answer must be a string or a list of parts, not " +
            shown_value(content) + ".");
  }
  is_whole_ = true;
  if (speaks) on_delta(message, given);
  is_whole_ = false;
  if (!has_calls) {
    // Those of the choice before this one stand before its own.
    on_tool_calls(message["tool_calls"], static_cast<std::int64_t>(given_.calls - before.calls));
    on_function_call(message);
  }
  if (speaks) on_annotations(message["annotations"]);
  if (speaks) give_further(message);
  is_silent_ = only_message_ && has_no_content(message);
}

// A model that has nothing to say gives an empty content, or a reason to finish.
bool OpenAiChat::has_no_content(const json::Value& message) const {
  const bool has_calls =
      std::any_of(calls_.begin(), calls_.end(), [](const Call& call) { return call.named; });
  if (has_calls || given_.text || given_.reasoning_parts || given_.images) return false;
  if (message["audio"].is_object()) return false;
  return !message["content"].exists() || message["tool_calls"].size() > 0;
}

void OpenAiChat::open_message() {
  if (announced_) return;
  flush_usage();
  announced_ = true;
  message_id_ = answer_id_.empty() ? services_.ids.next_id() : answer_id_;
  services_.parts.text_open(text_key, message_id_);
}

// MiniMax repeats what its search found under another role, with a reason to finish of its own.
bool OpenAiChat::is_of_search(const json::Value& delta) const {
  return services_.mode == event::Mode::strict && delta["role"].string() == "tool";
}

// Gives what is not in `given`.
void OpenAiChat::on_delta(const json::Value& delta, const Given& given) {
  const bool is_ours = !is_of_search(delta);
  if (!is_ours && delta["content"].truthy()) skip_member("delta.content");
  const json::Value content = given.text || !is_ours ? json::Value() : delta["content"];
  const bool bare_role = is_ours && delta["role"].truthy() && !finished_;
  if (content.truthy() || bare_role) open_message();
  if (!given.reasoning_parts && may_reason(delta)) on_reasoning(delta);
  on_content(content);
  if (delta.may_have({"images", "audio", "executed_tools", "refusal", "reasoning_opaque"})) {
    on_others(delta, given);
  }
}

// What few deltas have.
void OpenAiChat::on_others(const json::Value& delta, const Given& given) {
  if (!given.images) on_images(delta["images"]);
  if (!given.text) on_audio(delta["audio"]);
  on_executed_tools(delta["executed_tools"]);
  on_opaque(delta["reasoning_opaque"]);
  const json::Value refusal = delta["refusal"];
  if (refusal.filled_string() && !given.text) on_refusal(refusal.string());
}

void OpenAiChat::on_finish(std::string_view reason) {
  // Nothing came since: what it says last holds.
  if (finished_ && !announced_ && reason != last_reason_ && services_.gives_all()) {
    cut_reason_.clear();
    services_.parts.pass(event::Warning{
        row_of(Errc::record_skipped).code,
        "The answer gave two reasons to finish, of which the last one counts.", last_reason_});
  }
  finished_ = true;
  announced_ = false;
  last_reason_ = reason;
  tagged_.flush(*this);
  tagged_.restart();
  event::PartTracker& parts = services_.parts;
  const bool strict = services_.mode == event::Mode::strict;
  const auto cut = strict ? stop_sentence(reason) : cut_sentence(reason);
  drop_nameless_calls();
  if (!strict && !cut) end_calls_by_index();
  if (!cut || strict) parts.close_all();
  const bool rejected = std::exchange(rejected_, false) && reason == "stop";
  give_running_tools();
  give_content_list();
  parts.pass(event::Finish{rejected ? refusal_kind : reason});
  if (!cut) {
    give_state();
    return;
  }
  calls_.clear();
  if (strict) {
    // The usage record follows the finish; the error waits for it.
    cut_reason_ = reason;
    return;
  }
  parts.close_reasoning();
  parts.close_texts();
  parts.fail(reason, *cut);
}

void OpenAiChat::on_citations(const json::Value& record) {
  if (!record.may_have({"search_results", "search_info", "citations", "web_search"})) return;
  json::Value best;
  for (const auto& [key, value] : record.members()) {
    // Qwen's stand in an object, Zhipu's under a name of their own.
    const json::Value list = key == "search_info" ? value["search_results"] : value;
    const bool full = key == "search_results" || key == "search_info";
    const bool known = full || key == "citations" || key == "web_search";
    if (known && list.is_array() && list.size() > 0 && (full || !best)) best = list;
  }
  if (best) {
    std::string list = best.to_json();
    if (list != sources_json_) {
      sources_json_ = std::move(list);
      give_sources(best);
    }
  }
  note_other_sources(record, best);
}

// What no citation shows: members beside Qwen's results, and lists that hold more than those which
// are given.
void OpenAiChat::note_other_sources(const json::Value& record, const json::Value& given) {
  if (services_.facts == nullptr) return;
  constexpr std::array<std::string_view, 1> shown{"search_results"};
  std::optional<std::unordered_set<std::string_view>> texts;
  for (const std::string_view key : {"search_info", "search_results", "citations", "web_search"}) {
    const json::Value value = record[key];
    if (key == "search_info" && value.is_object()) {
      const std::string members = json::further_members(value, shown);
      if (!members.empty()) services_.facts->set_detail_json(key, "{" + members + "}");
      continue;
    }
    const auto is_given = [&](const json::Value& source) {
      if (!source.is_string()) return sources_->contains(source.to_json());
      if (!texts) texts = texts_of(given);
      return texts->contains(source.string());
    };
    bool is_shown = value.is_array();
    for (const json::Value source : value.items()) is_shown = is_shown && is_given(source);
    if (!is_shown) services_.facts->set_detail(key, value);
  }
}

// Chunks repeat the list, which may grow: only what was not in it before is given again.
void OpenAiChat::give_sources(const json::Value& list) {
  const bool is_first = sources_->empty();
  std::string more;
  for (const json::Value source : list.items()) {
    std::string json = source.to_json();
    if (!sources_.edit().insert(json).second) continue;
    more.append(more.empty() ? "[" : ",").append(json);
  }
  if (more.empty()) return;
  services_.parts.pass(event::Citation{message_id_, is_first ? sources_json_ : more + "]"});
}

void OpenAiChat::note_usage(const json::Value& record, const json::Value& usage) {
  if (!usage.is_object()) return;
  const std::string_view id = record["id"].string();
  // That of another answer has nothing of this one's.
  if (id != usage_id_) static_cast<void>(usage_.take_json());
  usage_.take(usage, services_.document->shape());
  usage_id_ = id;
  model_ = record["model"].string();
}

void OpenAiChat::flush_usage() {
  if (usage_.empty()) return;
  const std::string usage = usage_.take_json();
  if (!given_usage_.is_new(usage_id_, usage)) return;
  json::Document document;
  if (auto value = document.parse(usage)) {
    services_.parts.pass(read_usage(UsageDialect::openai_chat, "", model_, value.value(), usage));
  }
}

// Gateways leave out the reason to finish and end the stream as one that is whole. Arguments that
// are not whole were cut all the same.
void OpenAiChat::on_sentinel() {
  give_early();
  finish_with_held_reason();
  if (finished_) return;
  tagged_.flush(*this);
  const bool is_cut = std::any_of(calls_.begin(), calls_.end(),
                                  [](const Call& call) { return call.arguments.is_cut(); });
  const bool has_given = given_.text || given_.images || given_.audio || !calls_.empty();
  if (!is_cut && has_given) finish_without_reason();
}

void OpenAiChat::finish_without_reason() {
  finished_ = true;
  drop_nameless_calls();
  services_.parts.close_all();
  give_running_tools();
  give_content_list();
  give_state();
}

void OpenAiChat::on_end() {
  give_early();
  // Pieces of calls may follow the reason to finish.
  if (finished_ && services_.mode == event::Mode::strict) drop_nameless_calls();
  open_named_calls();
  finish_with_held_reason();
  tagged_.flush(*this);
  flush_usage();
  alternatives_.give(services_.parts);
  // Some servers give a whole answer without a reason to finish.
  if (!finished_ && is_silent_ && choices_ == 1) {
    return services_.parts.fail(row_of(Errc::provider_error).code, silent_sentence);
  }
  if (!finished_ && only_message_ && choices_ == 1) finish_without_reason();
  if (!cut_reason_.empty()) fail_as_cut();
}

// OpenRouter's place of an error that ends the answer.
// Source: https://openrouter.ai/docs/api/api-reference/chat/send-chat-completion-request (2026-11).
void OpenAiChat::take_error(const json::Value& choice) {
  const json::Value error = choice["error"];
  if (!error["message"].filled_string()) return;
  choice_error_ = error.to_json();
  if (cut_reason_.empty()) cut_reason_ = "error";
  finished_ = true;
}

void OpenAiChat::fail_as_cut() {
  const std::string_view sentence = stop_sentence(cut_reason_).value_or("");
  json::Document document;
  const auto given = document.parse(*choice_error_);
  if (!given) return services_.parts.fail(cut_reason_, sentence);
  ErrorRecord error = read_error(given.value(), sentence);
  error.message = relayed_message(error.message, given.value());
  fail_with(services_.parts, services_.mode, error);
}

}  // namespace millrace::adapter
