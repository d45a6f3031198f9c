#include "model/body/chat_messages.hpp"

#include <algorithm>

#include "format/joined_answers.hpp"
#include "format/openai.hpp"
#include "message/parts.hpp"
#include "model/body/fields.hpp"
#include "model/body/media.hpp"
#include "model/body/result_media.hpp"

namespace millrace::model {
namespace {

using message::Content;
using message::JsonBuilder;
using message::Media;
using message::Message;
using message::Role;

constexpr std::size_t most_audio_base64 = 20UL * 1024 * 1024 / 3 * 4;

bool is_audio_taken(const Media& media) {
  const std::string_view type = media.mime_type;
  return media.source == Media::Source::data &&
         (type == "audio/wav" || type == "audio/x-wav" || type == "audio/wave" ||
          type == "audio/mpeg" || type == "audio/mp3");
}

// Uploads of the vendor's own have addresses, too.
bool is_far(const Media& media) {
  return media.source == Media::Source::url && !media.value.starts_with("ms://");
}

std::optional<std::string_view> refusal_of_audio(const Media& media, const Draft& draft) {
  if (draft.has(Quirk::no_audio)) return "it takes no audio.";
  if (media.value.size() > most_audio_base64) return "audio is of 20 MB at most.";
  if (draft.has(Quirk::audio_urls) && media.source != Media::Source::file) return std::nullopt;
  if (!is_audio_taken(media)) return "audio goes by value, as WAV or MP3.";
  return std::nullopt;
}

std::optional<std::string_view> refusal_of_file(const Media& media, const Draft& draft) {
  if (draft.has(Quirk::files_by_address) && media.source == Media::Source::data) {
    return "files go by address or by the id of an upload, not by value.";
  }
  const bool takes_addresses =
      draft.has(Quirk::file_url_parts) || draft.config.provider->dialect == Dialect::mistral;
  if (media.source != Media::Source::url || takes_addresses) return std::nullopt;
  return "files go by value or by the id of an upload, not by address.";
}

std::optional<std::string_view> refusal(const Media& media, const Draft& draft) {
  const bool is_image = media.kind == Media::Kind::image;
  if (draft.has(Quirk::no_images)) {
    return is_image ? "it takes no images." : "it takes text, no media.";
  }
  const bool is_file = media.kind == Media::Kind::document || media.source == Media::Source::file;
  if (is_file && draft.has(Quirk::no_files)) {
    return "it takes no files, by value or by id: send their text.";
  }
  switch (media.kind) {
    case Media::Kind::audio: return refusal_of_audio(media, draft);
    case Media::Kind::document: return refusal_of_file(media, draft);
    case Media::Kind::video:
      if (!draft.has(Quirk::video_parts)) return "it takes no videos.";
      break;
    case Media::Kind::image:
      if (media.mime_type == svg_type) return no_svg;
      break;
  }
  if (draft.has(Quirk::images_by_value) && is_far(media)) {
    return is_image ? "images go by value (a data: URL), not by address."
                    : "videos go by value (a data: URL), not by address.";
  }
  return std::nullopt;
}

bool has_content(const Message& message) {
  return message.role != Role::reasoning && message.role != Role::activity;
}

// Mistral's models reject a message of the user right behind the result of a tool (code 3230), at
// every provider.
// Source: https://github.com/BerriAI/litellm/issues/17761, https://github.com/onyx-dot-app/onyx/issues/6458,
// https://github.com/NousResearch/hermes-agent/issues/20154 (2025-11 to 2026-05).
bool wants_results_answered(const Draft& draft) {
  return draft.config.provider->dialect == Dialect::mistral || draft.is(Trait::mistral_rules);
}

constexpr std::string_view answered_results =
    "The API takes no message of the user behind a result: an answer \"OK\" is put between them.";

bool has_unanswered_results(const Draft& draft) {
  if (!wants_results_answered(draft)) return false;
  Role last = Role::system;
  for (const Message& message : draft.messages) {
    if (!has_content(message)) continue;
    if (last == Role::tool && message.role == Role::user) return true;
    last = message.role;
  }
  return false;
}

// What stands between the results in `out` and a message of the user that follows.
void answer_results(const Draft& draft, message::Messages& out) {
  if (!wants_results_answered(draft)) return;
  const auto last = std::find_if(out.rbegin(), out.rend(), has_content);
  if (last == out.rend() || last->role != Role::tool) return;
  Message answer;
  answer.role = Role::assistant;
  answer.content = Content::of_text("OK");
  out.push_back(std::move(answer));
  const bool is_noted = std::any_of(draft.notes.begin(), draft.notes.end(), [](const Note& note) {
    return note.sentence == answered_results;
  });
  if (!is_noted) draft.note("messages", answered_results);
}

// Servers know the roles `system` and `developer`, or only the first.
Role system_role(const Draft& draft, Role role) {
  if (!draft.has(Quirk::developer_role)) return Role::system;
  return draft.is(Trait::no_system) ? Role::developer : role;
}

// Whether a server of this kind is sent the message as it is; nearly all are.
bool is_ready(const Draft& draft, const Message& message) {
  switch (message.role) {
    case Role::tool: return message.content.kind != Content::Kind::parts;
    case Role::system:
    case Role::developer: return system_role(draft, message.role) == message.role;
    case Role::assistant:
      return !draft.has(Quirk::blank_assistant_content) ||
             !message::text_of(message.content).empty();
    case Role::user:
    case Role::reasoning:
    case Role::activity: return true;
  }
  return false;
}

// Mistral takes media in results; those that came in its own parts stay there.
bool keeps_list(const Draft& draft, const Message& message) {
  return draft.config.provider->dialect == Dialect::mistral &&
         message.metadata.find("mistral", "content") != nullptr;
}

message::Messages prepared(const Draft& draft) {
  message::Messages out;
  out.reserve(draft.messages.size() + 1);
  const bool fills_blank = draft.has(Quirk::blank_assistant_content);
  for (std::size_t at = 0; at < draft.messages.size();) {
    const Message& message = draft.messages[at];
    if (message.role == Role::tool && keeps_list(draft, message)) {
      out.push_back(message);
      ++at;
      continue;
    }
    if (message.role == Role::tool) {
      TurnResults results = add_results(draft.messages, at, out);
      at = results.end;
      if (!results.carrier) continue;
      answer_results(draft, out);
      out.push_back(std::move(*results.carrier));
      continue;
    }
    if (message.role == Role::user) answer_results(draft, out);
    out.push_back(message);
    ++at;
    Message& copy = out.back();
    if (copy.role == Role::system || copy.role == Role::developer) {
      copy.role = system_role(draft, copy.role);
    }
    const bool is_blank = copy.role == Role::assistant && message::text_of(copy.content).empty() &&
                          !format::goes_on_behind_calls(draft.messages, at - 1);
    if (is_blank && fills_blank) {
      copy.content = Content::of_text(" ");
    }
  }
  return out;
}

void write_marked(JsonBuilder& out, const json::Value& part, bool marked) {
  out.open_object();
  for (const auto& [key, value] : part.members()) out.value(key, value);
  if (marked) out.raw("cache_control", R"({"type":"ephemeral"})");
  out.close_object();
}

// A message whose last part carries the mark.
void write_cached(JsonBuilder& out, const json::Value& message) {
  const json::Value content = message["content"];
  const bool is_text = !content.string().empty();
  if (!is_text && content.size() == 0) {
    out.value(message);
    return;
  }
  out.open_object();
  for (const auto& [key, value] : message.members()) {
    if (key != "content") {
      out.value(key, value);
      continue;
    }
    out.open_array("content");
    if (is_text) {
      out.open_object();
      out.text("type", "text");
      out.value("text", content);
      out.raw("cache_control", R"({"type":"ephemeral"})");
      out.close_object();
    }
    std::size_t left = content.is_array() ? content.size() : 0;
    for (const json::Value part : content.items()) write_marked(out, part, --left == 0);
    out.close_array();
  }
  out.close_object();
}

// Marks the first system message and the last message of the user.
Result<std::string> with_cache_marks(const std::string& messages) {
  json::Document document(message::depth_limit);
  auto parsed = document.parse(messages);
  if (!parsed) return std::move(parsed).error();
  std::size_t first_system = parsed.value().size();
  std::size_t last_user = parsed.value().size();
  std::size_t at = 0;
  for (const json::Value message : parsed.value().items()) {
    const std::string_view role = message["role"].string();
    if (role == "system" && first_system == parsed.value().size()) first_system = at;
    if (role == "user") last_user = at;
    ++at;
  }
  JsonBuilder out(json::Surrogates::replace);
  out.open_array();
  at = 0;
  for (const json::Value message : parsed.value().items()) {
    if (at == first_system || at == last_user) {
      write_cached(out, message);
    } else {
      out.value(message);
    }
    ++at;
  }
  out.close_array();
  return out.take();
}

// How the server marks an answer that is to be continued. Mistral takes no other at the end.
void set_begun(const Draft& draft, bool is_mistral, format::OpenAiWriteOptions& options) {
  if (is_mistral || draft.has(Quirk::prefix_member)) {
    options.begun_member = "prefix";
    options.always_begun = is_mistral;
  } else if (draft.has(Quirk::partial_member)) {
    options.begun_member = "partial";
  } else if (!draft.messages.empty() && format::is_begun(draft.messages.back())) {
    draft.note("prefix", "The API has no word for an answer that shall be continued.");
  }
}

void leave_names_out(const Draft& draft, format::OpenAiWriteOptions& options) {
  if (!draft.has(Quirk::no_names)) return;
  options.names = false;
  const bool has_name =
      std::any_of(draft.messages.begin(), draft.messages.end(), [](const Message& message) {
        return message.role != Role::tool && message.name.has_value();
      });
  if (has_name) draft.note("name", "The provider refuses the name of a message.");
}

// What the model itself gave goes back as it came.
void note_reasoning_left_out(const Draft& draft, bool is_mistral) {
  draft.note("messages",
             is_mistral ? "Reasoning of earlier turns is left out: the model takes its own alone."
                        : "Reasoning of earlier turns is left out: the API has no place for it.");
}

// The one member that reasoning goes back in, or "".
std::string_view reasoning_member(const Draft& draft) {
  return draft.has(Quirk::few_reasoning_back) ? "" : "reasoning";
}

}  // namespace

Result<std::string> chat_messages(const Draft& draft) {
  const bool is_mistral = draft.config.provider->dialect == Dialect::mistral;
  const FileNames names = is_mistral ? FileNames::optional : FileNames::demanded;
  MILLRACE_TRY(check_media(draft, refusal, names));
  format::OpenAiWriteOptions options;
  options.video_parts = true;  // others were refused above
  options.mistral_parts = is_mistral;
  options.mistral_state = is_mistral;
  options.openai_parts = is_openai_server(draft.config);
  options.own_answers = true;
  options.file_url_parts = draft.has(Quirk::file_url_parts);
  options.audio_urls = draft.has(Quirk::audio_urls);
  // Only models that reason read such parts.
  options.mistral_reasoning =
      is_mistral && (draft.is(Trait::reasoning_parts) || draft.payload.preserve_thinking ||
                     !draft.payload.reasoning->empty());
  set_begun(draft, is_mistral, options);
  leave_names_out(draft, options);
  options.answer_images = draft.has(Quirk::image_config);
  options.cache_marks = draft.has(Quirk::cache_control_parts);
  const bool always_thinks = draft.is(Trait::always_thinking);
  const bool is_thinking =
      draft.is(Trait::reasoning_back) && (always_thinks || !is_disabled(draft.payload.reasoning));
  if (is_thinking || draft.has(Quirk::reasoning_content_back) || draft.payload.preserve_thinking) {
    options.reasoning_member = "reasoning_content";
  }
  options.always_reasoning = is_thinking;
  // Of those models, Kimi's are the ones that always think.
  if (always_thinks) options.no_reasoning = " ";
  if (draft.has(Quirk::reasoning_member)) options.only_member = reasoning_member(draft);
  if (draft.has(Quirk::reasoning_details_back)) options.details_format = "MiniMax-response-v1";
  JsonBuilder out(json::Surrogates::replace);
  const auto& given = draft.messages;
  const bool all_ready = std::all_of(
      given.begin(), given.end(), [&](const Message& message) { return is_ready(draft, message); });
  const bool is_given = all_ready && !has_unanswered_results(draft);
  const format::OpenAiReasoning found = is_given
                                            ? format::write_openai(out, given, options)
                                            : format::write_openai(out, prepared(draft), options);
  if (found.left_out > 0) note_reasoning_left_out(draft, is_mistral);
  note_joined(draft, found.joined);
  std::string messages = out.take();
  const bool marks = draft.payload.context_caching && !draft.payload.cache_marks;
  if (!marks || !draft.has(Quirk::cache_control_parts)) return messages;
  return with_cache_marks(messages);
}

}  // namespace millrace::model
