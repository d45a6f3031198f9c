// The content of an answer of chat completions: texts, reasoning, images, audio and sources.
#include <array>
#include <utility>

#include "adapter/further_members.hpp"
#include "adapter/openai_chat.hpp"
#include "adapter/skipped_members.hpp"
#include "base/error.hpp"
#include "base/json_members.hpp"

namespace millrace::adapter {
namespace {

constexpr std::array chat_fact_names{
    FactName{"id", "id"},
    FactName{"model", "model"},
    FactName{"created", "created", true},
    FactName{"service_tier", "serviceTier"},
    FactName{"system_fingerprint", "fingerprint"},
};
// What has events of its own, says what the record is, or only pads it.
constexpr std::array<std::string_view, 10> chat_left_out{
    "choices",        "object",     "usage",       "moderation", "citations",
    "search_results", "web_search", "search_info", "error",      "obfuscation"};
constexpr std::array<std::string_view, 7> choice_left_out{
    "index", "delta", "message", "messages", "finish_reason", "logprobs", "usage"};
constexpr std::array<std::string_view, 1> known_of_address{"url"};

// The member of an image that has its address.
std::string_view address_place(const json::Value& image) {
  for (const std::string_view place : {"image_url", "url", "image"}) {
    if (!image[place].is_nothing()) return place;
  }
  return "image_url";
}

// Appends further members to an object that has one.
void append_members(std::string& object, const std::string& members) {
  if (!members.empty()) object.append(",").append(members);
}

}  // namespace

// The first and the last records of an answer have what may differ between records. A body may hold
// several answers: the facts of one are given before those of the next.
void OpenAiChat::note_facts(const json::Value& record, const json::Value& choice) {
  // Records of Azure's filters have no id.
  const std::string_view id = record["id"].string();
  const bool is_another = !id.empty() && !facts_id_.empty() && id != facts_id_;
  if (facts_ended_ && choice.exists() && is_another) {
    const std::string facts = services_.facts->take();
    services_.parts.pass(event::AnswerInfo{facts});
    services_.facts->restart();
    facts_ended_ = has_facts_ = false;
  }
  if (!id.empty()) facts_id_ = id;
  facts_ended_ = facts_ended_ || choice["finish_reason"].filled_string();
  const bool ends = choice["finish_reason"].is_string() || record["usage"].is_object();
  if (std::exchange(has_facts_, true) && !ends) return;
  services_.facts->note(record, chat_fact_names, chat_left_out);
  services_.facts->note(choice, {}, choice_left_out);
}

void OpenAiChat::note_others(const json::Value& choices, const json::Value& own) {
  std::optional<std::int64_t> own_index;
  if (own.exists()) own_index = own["index"].integer().value_or(choice_.index());
  std::size_t place = 0;
  for (const json::Value choice : choices.items()) {
    const auto index = number_of(choices, choice, place++);
    if (!index || !choice.is_object()) continue;
    if (!choice["index"].integer()) services_.facts->add_name(missing_members, "choice.index");
    if (index != own_index) alternatives_.add_choice(choice, *index);
  }
}

void OpenAiChat::on_logprobs(const json::Value& logprobs) {
  if (logprobs.size() == 0) return;
  if (message_id_.empty()) open_message();
  services_.parts.pass(event::Logprobs{message_id_, logprobs.to_json()});
}

// Its words are the text of the answer; the state tells them from one.
void OpenAiChat::on_refusal(std::string_view words) {
  open_message();
  given_.text = true;
  if (services_.gives_all() && !std::exchange(rejected_, true)) {
    services_.parts.pass(event::ProviderState{chat_provider, refusal_kind, message_id_, "true"});
  }
  on_text(words);
}

void OpenAiChat::on_annotations(const json::Value& annotations) {
  for (const json::Value annotation : annotations.items()) {
    if (annotation.is_null()) continue;
    std::string citation = annotation.to_json();
    if (!citations_.edit().insert(message_id_ + citation).second) continue;
    services_.parts.pass(event::Citation{message_id_, std::move(citation)});
  }
}

void OpenAiChat::on_content(const json::Value& content) {
  if (content.is_array()) {
    on_content_parts(content);
  } else if (const auto text = content.filled_string()) {
    content_.add_text(*text);
    on_piece(*text);
  }
}

// How the content was made of parts, where a reader needs all of it.
void OpenAiChat::give_content_list() {
  if (content_.empty()) return;
  const auto state = content_.take();
  if (!state || message_id_.empty() || !services_.gives_all()) return;
  services_.parts.pass(
      event::ProviderState{state->provider, state->kind, message_id_, state->json});
}

void OpenAiChat::on_piece(std::string_view text) {
  given_.text = true;
  given_.text_bytes += text.size();
  if (services_.mode == event::Mode::strict) {
    tagged_.feed(text, *this);
  } else {
    on_text(text);
  }
}

void OpenAiChat::on_text(std::string_view text) {
  services_.parts.text_delta(text_key, text);
}

void OpenAiChat::on_reasoning_part(std::string_view text) {
  on_reasoning_text(text);
}

// Content as a list of typed parts, as Mistral sends it.
void OpenAiChat::on_content_parts(const json::Value& parts) {
  for (const json::Value part : parts.items()) {
    if (part.is_string()) {
      content_.add_text(part.string());
      on_piece(part.string());
      continue;
    }
    const std::string_view type = part["type"].string();
    content_.add(part, !is_whole_);
    if (type == "text" || (type.empty() && part["text"].is_string())) {
      if (const auto text = part["text"].filled_string()) on_piece(*text);
    } else if (type == "thinking") {
      const json::Value thinking = part["thinking"];
      on_reasoning_text(thinking.string());
      for (const json::Value piece : thinking.items()) on_reasoning_text(piece["text"].string());
      if (services_.mode == event::Mode::strict) keep_thinking(part);
    } else if (type == "reasoning" && services_.gives_all()) {
      // Databricks'; its signature stays in the list of the parts.
      on_reasoning_text(part["text"].string());
      for (const json::Value piece : part["summary"].items()) {
        on_reasoning_text(piece["text"].string());
      }
    } else if (type == "reference") {
      services_.parts.pass(event::Citation{message_id_, part.to_json()});
    } else if ((type.empty() || type.find("image") != std::string_view::npos) && on_image(part)) {
      // Its state was given.
    } else if (services_.gives_all() && part.exists() && !part.is_null()) {
      open_message();
      services_.parts.pass(
          event::ProviderState{chat_provider, "content_part", message_id_, part.to_json()});
    }
  }
}

// What Mistral needs again beside the text of its reasoning.
void OpenAiChat::keep_thinking(const json::Value& part) {
  std::string members;
  for (const std::string_view key : {"signature", "closed"}) {
    if (const json::Value value = part[key]; !value.is_nothing()) {
      json::append_raw_member(members, key, value.to_json(json::Surrogates::keep));
    }
  }
  if (members.empty()) return;
  services_.parts.reasoning_encrypted(reasoning_key, R"({"mistral":{)" + members + "}}");
}

// As OpenRouter sends it beside the text, and Qwen as a part of the content. The state has the
// address at one place, and the further members where they stood. False without an address.
bool OpenAiChat::on_image(const json::Value& image) {
  if (!services_.gives_all()) return true;
  const std::string_view place = address_place(image);
  json::Value given = image[place];
  while (given.is_object() && given["image_url"].exists()) given = given["image_url"];
  const json::Value inner = given;
  if (given.is_object()) given = given["url"];
  const auto url = image.is_string() ? image.filled_string() : given.filled_string();
  if (!url) return false;
  open_message();
  given_.images = true;
  const std::array<std::string_view, 2> known_of_image{"type", place};
  std::string state = R"({"type":"image_url","image_url":{)";
  json::append_member(state, "url", *url);
  append_members(state, json::further_members(inner, known_of_address));
  state.push_back('}');
  append_members(state, json::further_members(image, known_of_image));
  services_.parts.pass(event::ProviderState{chat_provider, "image", message_id_, state + "}"});
  return true;
}

void OpenAiChat::on_images(const json::Value& images) {
  for (const json::Value image : images.items()) {
    if (image.is_nothing() || on_image(image)) continue;
    services_.parts.pass(event::Warning{row_of(Errc::record_skipped).code,
                                        "An image of the answer was left out: it has no address.",
                                        redacted(image.to_json(), 256)});
  }
}

void OpenAiChat::on_reasoning(const json::Value& delta) {
  const bool strict = services_.mode == event::Mode::strict;
  const bool has_blocks = delta["thinking_blocks"].size() > 0;
  const std::string_view kind = has_blocks ? "thinking_blocks" : "reasoning_details";
  const std::string_view words = has_blocks ? "thinking" : "text";
  const json::Value details = delta[kind];
  const auto content = delta["reasoning_content"].filled_string();
  const auto other = delta["reasoning"].filled_string();
  const auto plain = delta["reasoning_text"].filled_string();
  if (content && other && *content != *other) skip_member("delta.reasoning");
  if (content) {
    on_reasoning_text(*content);
  } else if (other) {
    on_reasoning_text(*other);
  } else if (plain && strict) {
    on_reasoning_text(*plain);
  } else {
    for (const json::Value detail : details.items()) {
      on_reasoning_text(detail[words].string());
      if (strict) on_reasoning_text(detail["summary"].string());
    }
  }
  for (const json::Value detail : details.items()) {
    if (strict) {
      details_.add(detail);
      continue;
    }
    const bool is_signed = has_blocks ? detail["signature"].filled_string().has_value()
                                      : !detail["signature"].is_nothing();
    add_block_words(detail[words].string());
    if (is_signed || !detail["data"].is_nothing()) {
      const std::string state = is_signed ? signed_block(detail, words) : detail.to_json();
      services_.parts.pass(event::ProviderState{chat_provider, kind, message_id_, state});
    }
  }
}

void OpenAiChat::add_block_words(std::string_view text) {
  constexpr std::size_t limit_bytes = 4UL * 1024 * 1024;
  if (text.empty() || block_words_->text.size() + text.size() > limit_bytes) return;
  block_words_.edit().text.append(text);
}

// A signature may come behind the words of its block. Those of the first block are the reasoning
// before all others; each later one is given with its own.
std::string OpenAiChat::signed_block(const json::Value& block, std::string_view words) {
  const std::array<std::string_view, 1> known{words};
  BlockWords& given = block_words_.edit();
  const std::string own = std::exchange(given.text, {});
  const bool is_first = !std::exchange(given.is_later, true);
  if (is_first || own.empty() || !block[words].string().empty()) return block.to_json();
  std::string state = "{" + json::further_members(block, known);
  json::append_member(state, words, own);
  return state + "}";
}

void OpenAiChat::skip_member(std::string_view name) {
  if (services_.facts != nullptr) services_.facts->add_name(skipped_members, std::string(name));
}

void OpenAiChat::on_reasoning_text(std::string_view text) {
  if (text.empty()) return;
  given_.reasoning_parts = true;
  services_.parts.reasoning_delta(reasoning_key, text);
}

// The words that it signs are reasoning, and the next request needs both. A whole message has it
// among its further members.
// Source: earendil-works/pi, pull request 1502 (2026-02); anomalyco/opencode, pull request 8900
// (2026-01).
void OpenAiChat::on_opaque(const json::Value& value) {
  const auto signature = value.filled_string();
  if (!signature || is_whole_ || !services_.gives_all()) return;
  open_message();
  opaque_.edit() = *signature;
}

// A spoken answer is shown by its words, beside which its sound comes in pieces; the next request
// names it by its id.
void OpenAiChat::on_audio(const json::Value& audio) {
  if (!audio.is_object() || !services_.gives_all()) return;
  if (const auto words = audio["transcript"].filled_string()) {
    open_message();
    on_text(*words);
  }
  if (const auto audio_data = audio["data"].filled_string()) {
    open_message();
    given_.audio = true;
    std::string state = "{";
    json::append_member(state, "data", *audio_data);
    services_.parts.pass(
        event::ProviderState{chat_provider, "audio_data", message_id_, state + "}"});
  }
  if (services_.facts != nullptr) services_.facts->set_detail("expires_at", audio["expires_at"]);
  const auto id = audio["id"].filled_string();
  if (!id || *id == audio_id_) return;
  open_message();
  audio_id_ = *id;
  std::string state = "{";
  json::append_member(state, "id", *id);
  services_.parts.pass(event::ProviderState{chat_provider, "audio", message_id_, state + "}"});
}

}  // namespace millrace::adapter
