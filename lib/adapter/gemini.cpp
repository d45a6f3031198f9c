#include "adapter/gemini.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "adapter/gemini_values.hpp"
#include "base/error.hpp"
#include "base/json_depth.hpp"
#include "base/json_members.hpp"

namespace millrace::adapter {
namespace {

constexpr std::size_t arguments_limit_bytes = 16UL * 1024 * 1024;

constexpr std::array gemini_fact_names{
    FactName{"responseId", "id"},
    FactName{"modelVersion", "model"},
};
constexpr std::array<std::string_view, 1> signature_members{"thoughtSignature"};
constexpr std::array<std::string_view, 2> gemini_left_out{"candidates", "usageMetadata"};
constexpr std::array<std::string_view, 6> candidate_left_out{
    "content",          "index",         "groundingMetadata", "urlContextMetadata",
    "citationMetadata", "logprobsResult"};

}  // namespace

struct Gemini::Row {
  std::string_view member;
  Handler handler;
};

const std::array<Gemini::Row, 7>& Gemini::rows() {
  static constexpr std::array<Row, 7> all{{
      {"text", &Gemini::on_text},
      {"functionCall", &Gemini::on_call},
      {"functionResponse", &Gemini::on_response},
      {"executableCode", &Gemini::on_code},
      {"codeExecutionResult", &Gemini::on_code_result},
      {"inlineData", &Gemini::on_medium},
      {"fileData", &Gemini::on_medium},
  }};
  return all;
}

const Gemini::Row* Gemini::find_row(const json::Value& part) {
  const auto* row = std::find_if(rows().begin(), rows().end(),
                                 [&](const Row& r) { return !part[r.member].is_nothing(); });
  return row == rows().end() ? nullptr : row;
}

bool Gemini::is_content(std::string_view member) {
  return std::any_of(rows().begin(), rows().end(),
                     [&](const Row& row) { return row.member == member; });
}

bool Gemini::on_record(std::string_view /*name*/, const json::Value& record) {
  if (error_of(record)) {
    on_error(record["error"]);
    return true;
  }
  const json::Value candidates = record["candidates"];
  const json::Value usage = record["usageMetadata"];
  const json::Value feedback = record["promptFeedback"];
  if (!candidates.is_array() && !usage.is_object() && !feedback.is_object()) return false;
  answer_.name(record["responseId"].string());
  answer_name_.note(services_, record["responseId"].string(),
                    services_.vendor_ids && is_of_mixed_answer(usage, candidates));
  if (const auto model = record["modelVersion"].filled_string()) model_ = *model;
  // Some chunks of Vertex AI count nothing.
  if (usage.is_object()) usage_.take(usage, services_.document->shape());
  if (feedback.is_object()) on_feedback(feedback);
  if (block_.empty()) {
    note_count(usage, candidates);
    on_candidates(candidates);
  } else {
    skip_candidates(candidates);
  }
  if (services_.facts != nullptr) note_facts(record);
  return true;
}

// What follows a blocked prompt is no answer to it.
void Gemini::skip_candidates(const json::Value& candidates) {
  for (const json::Value candidate : candidates.items()) {
    if (candidate["content"]["parts"].size() == 0 || warned_of_block_) continue;
    warned_of_block_ = true;
    warn("An answer behind a blocked prompt was skipped.", candidate);
  }
}

void Gemini::on_candidates(const json::Value& candidates) {
  std::int64_t place = 0;
  for (const json::Value candidate : candidates.items()) {
    const std::int64_t own_place = place++;
    const auto given = candidate["index"].integer();
    const std::int64_t index = given.value_or(own_place);
    if (!given && candidates.size() > 1 && services_.facts != nullptr) {
      services_.facts->add_name(missing_members, "candidate.index");
    }
    if (index == 0) {
      on_candidate(candidate);
    } else if (services_.facts != nullptr) {
      alternatives_.add_candidate(candidate, index);
    } else if (!std::exchange(warned_of_candidates_, true)) {
      warn("The answer has several candidates; only the first one is given.", candidate);
    }
  }
}

// Chunks repeat them: what they are in the end counts.
void Gemini::note_facts(const json::Value& record) {
  const json::Value candidate =
      record["candidates"].size() > 0 ? *record["candidates"].items().begin() : json::Value();
  const bool ends = candidate["finishReason"].is_string() || record["promptFeedback"].is_object();
  if (std::exchange(has_facts_, true) && !ends && !candidate["continuationToken"].exists()) return;
  services_.facts->note(record, gemini_fact_names, gemini_left_out);
  if (candidate["index"].integer().value_or(0) != 0) return;
  services_.facts->note(candidate, {}, candidate_left_out);
}

// Gateways forget the reason to finish, and count the tokens of the answer once, at its end: with
// what is not its first piece, or behind all of them. A server that counts with every piece, as
// Google does, says nothing by it unless no candidate comes along.
void Gemini::note_count(const json::Value& usage, const json::Value& candidates) {
  const bool counts = usage["candidatesTokenCount"].exists();
  counted_ = counts && spoke_ && (!counts_ || candidates.size() == 0);
  counts_ = counts_ || counts;
  for (const json::Value candidate : candidates.items()) {
    spoke_ = spoke_ || candidate["content"]["parts"].size() > 0;
  }
}

void Gemini::on_candidate(const json::Value& candidate) {
  const json::Value content = candidate["content"];
  const json::Value parts = content["parts"];
  for (const json::Value part : parts.items()) on_part(part);
  on_sources(candidate);
  if (const json::Value logprobs = candidate["logprobsResult"];
      services_.logprobs && logprobs.size() > 0) {
    services_.parts.pass(event::Logprobs{answer_.message_id(), logprobs.to_json()});
  }
  if (const auto token = candidate["continuationToken"].filled_string()) continuation_ = *token;
  const json::Value reason = candidate["finishReason"];
  if (reason.filled_string()) {
    finish_ = reason.string();
    finish_message_ = candidate["finishMessage"].string();
  }
}

// Gives each of the contents of a part that has several as a part of its own; the API knows one.
// What it has beside them is the call's, which its signature is about, else the first one's; a text
// alone is reasoning.
bool Gemini::split_part(const json::Value& part) {
  if (part.size() < 2) return false;
  std::vector<std::string> parts;
  std::string others;
  std::size_t owner = 0;
  for (const json::Member& member : part.members()) {
    const bool is_mark = member.key == "thought" && part["text"].exists();
    if (member.value.is_nothing() || is_mark) continue;
    if (!is_content(member.key)) {
      json::append_member(others, member);
      continue;
    }
    if (member.key == "functionCall") owner = parts.size();
    std::string& one = parts.emplace_back("{");
    json::append_member(one, member);
    if (member.key == "text" && part["thought"].exists()) {
      json::append_member(one, json::Member{"thought", part["thought"]});
    }
  }
  if (parts.size() < 2) return false;
  for (std::size_t at = 0; at < parts.size(); ++at) {
    if (at == owner && !others.empty()) parts[at].append(",").append(others);
    json::Document document(json::data_depth_limit);
    if (const auto one = document.parse(parts[at] + "}")) on_part(one.value());
  }
  return true;
}

void Gemini::on_part(const json::Value& part) {
  if (!part.is_object()) return;
  if (split_part(part)) return;
  const Row* row = find_row(part);
  if (row == nullptr) {
    on_other(part);
    return;
  }
  if (row->handler != &Gemini::on_call) end_call();
  const json::Value value = part[row->member];
  (this->*row->handler)(value, part);
}

void Gemini::keep_members(std::string_view kind, std::string_view entity_id,
                          std::string_view members) {
  if (members.empty()) return;
  services_.parts.pass(event::ProviderState{gemini_provider, kind, entity_id, members});
}

// Further members are of the text that is open; text with other ones is another message.
void Gemini::on_text(const json::Value& value, const json::Value& part) {
  const std::string signature = signature_of(part);
  std::string members = part.size() == 1 ? std::string() : members_of(part);
  if (!members.empty() && value.string().empty()) return on_other(part);
  if (!signature.empty() && value.string().empty() && !part["thought"].is_true()) {
    return on_bare_signature(signature, part);
  }
  const bool is_other = !text_members_.json.empty() && members != text_members_.json;
  if (part["thought"].is_true()) {
    if (is_other) answer_.end_reasoning();
    const bool is_new = answer_.reasoning_id().empty();
    answer_.reasoning_part(value.string());
    // A signature may come with a later piece; this says whose the reasoning is without one.
    if (is_new && signature.empty()) answer_.mark_unsigned(gemini_provider);
    if (is_other || !members.empty()) own_members(answer_.reasoning_id(), std::move(members));
    if (!signature.empty()) {
      if (value.string().empty()) keep_apart(answer_.reasoning_id(), part);
      answer_.keep_for_reasoning(signature);
      answer_.end_reasoning();
    }
    return;
  }
  if (is_other && !value.string().empty()) answer_.end_text();
  answer_.text(value.string());
  if (!value.string().empty() && (is_other || !members.empty())) {
    own_members(answer_.message_id(), std::move(members));
  }
  if (!signature.empty()) answer_.keep_for_message(signature);
}

// A signature without words is shown as that of the text or reasoning that is open; behind anything
// else it is an item. Either way it goes back as a part of its own.
void Gemini::on_bare_signature(const std::string& signature, const json::Value& part) {
  const bool is_reasoning = !answer_.reasoning_id().empty() || !answer_.has_message();
  if (is_reasoning) {
    keep_apart(answer_.reasoning_id(), part);
    answer_.keep_for_reasoning(signature);
    answer_.end_reasoning();
  } else if (services_.parts.is_open(text_key)) {
    keep_apart(answer_.message_id(), part);
    answer_.keep_for_message(signature);
  } else {
    answer_.item(gemini_provider, "part", part.to_json());
  }
}

// Says that the signature of a text or of reasoning came in a part behind it, and what that has
// beside it: Google takes back no parts that were joined.
// Source: Gemini API documentation, "Thought signatures" (2026).
void Gemini::keep_apart(std::string_view id, const json::Value& part) {
  if (id.empty() || !services_.gives_all()) return;
  std::string others = json::further_members(part, signature_members);
  keep_members("signature_part", id, others.insert(0, "{").append("}"));
}

// The members of the text that is open; each message has them once.
void Gemini::own_members(std::string_view id, std::string members) {
  if (!members.empty() && text_members_.owner != id) keep_members("members", id, members);
  text_members_.owner = members.empty() ? std::string_view() : id;
  text_members_.json = std::move(members);
}

void Gemini::on_call(const json::Value& value, const json::Value& part) {
  if (const auto name = value["name"].filled_string()) {
    end_call();
    open_name_ = *name;
    open_key_ = answer_.open_call(value["id"].string(), *name);
  }
  if (open_key_.empty()) return;
  if (std::string signature = signature_of(part); !signature.empty()) {
    signature_ = std::move(signature);
  }
  if (std::string members = members_of(part); !members.empty()) {
    call_members_ = std::move(members);
  }
  add_arguments(value);
  if (!value["willContinue"].is_true()) end_call();
}

void Gemini::add_arguments(const json::Value& call) {
  const json::Value whole = call["args"];
  if (whole.size() > 0) whole_arguments_ = whole.to_json(json::Surrogates::keep);
  for (const json::Value piece : call["partialArgs"].items()) {
    if (!arguments_.add(piece)) warn("A piece of a call's arguments was skipped.", piece);
  }
  if (arguments_.bytes() <= arguments_limit_bytes) return;
  services_.parts.fail(row_of(Errc::tool_arguments_too_large).code,
                       "The arguments of the tool call \"" + open_name_ + "\" are larger than " +
                           std::to_string(arguments_limit_bytes) + " bytes.");
}

void Gemini::end_call() {
  if (open_key_.empty()) return;
  const std::string key = std::exchange(open_key_, {});
  const std::string pieces = arguments_.take();
  const std::string whole = std::exchange(whole_arguments_, {});
  answer_.arguments(key, whole.empty() ? pieces : whole);
  const std::string id = answer_.call_id(key);
  answer_.end_call(key);
  if (const std::string signature = std::exchange(signature_, {}); !signature.empty()) {
    answer_.keep_for_call(id, signature);
  }
  keep_members("members", id, std::exchange(call_members_, {}));
}

void Gemini::on_medium(const json::Value& /*value*/, const json::Value& part) {
  on_other(part);
}

void Gemini::on_other(const json::Value& part) {
  if (part.size() == 0) return;
  end_call();
  // A signature may come in a part that has nothing else.
  if (part.size() == 1 && part["thoughtSignature"].is_string()) {
    const std::string signature = signature_of(part);
    if (!signature.empty()) on_bare_signature(signature, part);
    return;
  }
  answer_.item(gemini_provider, "part", part.to_json());
}

void Gemini::on_feedback(const json::Value& feedback) {
  const auto reason = feedback["blockReason"].filled_string();
  // Vertex AI spells it in a way of its own.
  constexpr std::array<std::string_view, 2> unspecified{"BLOCK_REASON_UNSPECIFIED",
                                                        "BLOCKED_REASON_UNSPECIFIED"};
  if (!reason) return;
  if (std::find(unspecified.begin(), unspecified.end(), *reason) != unspecified.end()) return;
  block_ = *reason;
  block_message_ = feedback["blockReasonMessage"].string();
}

void Gemini::on_error(const json::Value& error) {
  flush_usage();
  const ErrorRecord record = read_error(error, "Stream error");
  const std::string_view status = error["status"].string();
  services_.parts.fail(status.empty() ? std::string_view(record.code) : status, record.message);
}

void Gemini::warn(std::string_view message, const json::Value& record) {
  constexpr std::size_t shown_bytes = 256;
  const std::string payload = redacted(record.to_json(), shown_bytes);
  services_.parts.pass(event::Warning{row_of(Errc::record_skipped).code, message, payload});
}

void Gemini::flush_usage() {
  if (usage_.empty()) return;
  const std::string usage = usage_.take_json();
  json::Document document;
  if (const auto value = document.parse(usage)) {
    services_.parts.pass(
        read_usage(UsageDialect::gemini, gemini_provider, model_, value.value(), usage));
  }
}

void Gemini::on_end() {
  // The end is known here only: some models give a reason to finish with every chunk.
  const bool is_cut = is_complete() && !open_key_.empty();
  if (is_complete()) {
    end_call();
    services_.parts.close_all();
    const std::string& reason = block_.empty() ? finish_ : block_;
    const bool goes_on = reason == gemini_continuation;
    std::string members;
    if (goes_on && !continuation_.empty()) {
      members = "{";
      json::append_member(members, "continuationToken", continuation_);
      members.push_back('}');
    }
    services_.parts.pass(event::Finish{reason, goes_on, members});
  }
  flush_usage();
  alternatives_.give(services_.parts);
  if (!block_.empty()) {
    services_.parts.fail(block_, block_message_.empty()
                                     ? "The provider blocked the prompt (" + block_ + ")."
                                     : block_message_);
    return;
  }
  const std::string_view sentence = gemini_sentence(finish_);
  const Error cut = make_error(Errc::stream_truncated);
  if (sentence.empty() && is_cut) return services_.parts.fail(cut.code_name(), cut.message);
  if (sentence.empty()) return;
  std::string message(sentence);
  if (!finish_message_.empty()) message.append(" ").append(finish_message_);
  services_.parts.fail(finish_, message);
}

}  // namespace millrace::adapter
