#include "model/body/media.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "base/base64.hpp"
#include "base/utf8.hpp"
#include "message/media_type.hpp"
#include "model/body/fields.hpp"
#include "model/body/foreign_files.hpp"

namespace millrace::model {
namespace {

using message::Media;

struct Extension {
  std::string_view mime_type;
  std::string_view name;
};
constexpr std::array extensions{
    Extension{"text/plain", "txt"},
    Extension{"text/markdown", "md"},
    Extension{"application/msword", "doc"},
    Extension{"application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"},
    Extension{"application/vnd.ms-excel", "xls"},
    Extension{"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"},
    Extension{"application/vnd.ms-powerpoint", "ppt"},
    Extension{"application/vnd.openxmlformats-officedocument.presentationml.presentation", "pptx"},
};

// Of most types the second half is the extension: pdf, csv, html, json.
std::string_view extension_of(std::string_view mime_type) {
  constexpr std::size_t longest = 5;
  const auto* row = std::find_if(extensions.begin(), extensions.end(),
                                 [&](const Extension& e) { return e.mime_type == mime_type; });
  if (row != extensions.end()) return row->name;
  const std::string_view second = mime_type.substr(std::min(mime_type.find('/'), mime_type.size()));
  const bool plain = second.size() > 1 && second.size() <= longest + 1 &&
                     std::all_of(second.begin() + 1, second.end(), [](char c) {
                       return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
                     });
  if (plain) return second.substr(1);
  return mime_type.starts_with("text/") ? "txt" : "bin";
}

// OpenAI refuses a file without a name, and goes by its extension.
// Source: https://github.com/openai/openai-agents-python/issues/1513 (2026-07).
std::string file_name(const Media& media) {
  if (media.filename.find('.') != std::string_view::npos) return std::string(media.filename);
  std::string name(media.filename.empty() ? "document" : media.filename);
  return name.append(".").append(extension_of(media.mime_type));
}

// The kind that a medium is: clients send PDFs as images, and pictures as documents.
Media::Kind true_kind(const Media& media) {
  const Media::Kind reported = message::kind_of_mime(media.mime_type);
  // Of a type that is left open, only a kind such as that of "image/*" says what it is.
  const bool is_open = message::is_open_type(media.mime_type);
  if (is_open && reported == Media::Kind::document) return media.kind;
  const bool doubtful = media.kind == Media::Kind::image || media.kind == Media::Kind::document;
  return doubtful ? reported : media.kind;
}

// The media type of the bytes of an image by value, where it is another one than the given: vendors
// that get the type compare it with the bytes. "" for any other medium.
std::string_view true_type(const Media& media) {
  constexpr std::string_view image = "image/";
  if (media.source != Media::Source::data || !media.mime_type.starts_with(image)) return {};
  const std::string_view shown = message::type_by_base64(media.value);
  return shown.starts_with(image) && shown != media.mime_type ? shown : std::string_view();
}

void write_settled(message::JsonBuilder& out, const Media& media, std::string_view filename) {
  message::JsonBuilder metadata(json::Surrogates::keep);
  metadata.open_object();
  for (const auto& [key, value] : media.metadata.members()) {
    if (key != "filename") metadata.value(key, value);
  }
  metadata.filled("filename", filename);
  metadata.close_object();
  const std::string text = metadata.take();
  message::write_media(out, media, text == "{}" ? std::string_view() : std::string_view(text));
}

// A medium as it ought to be.
struct Settled {
  Media media;
  std::string filename;
  bool changed = false;
};

// `held` keeps what the address had as text.
std::optional<Settled> settled(const json::Value& part, FileNames names, std::string& held) {
  Settled out;
  Media& media = out.media;
  if (!message::read_media(media, part)) return std::nullopt;
  out.changed = part["type"].string() == "binary";
  if (message::take_data_url(media, held)) {
    media.mime_type = media.mime_type.substr(0, media.mime_type.find(';'));
    out.changed = true;
  }
  if (const std::string_view type = true_type(media); !type.empty()) {
    media.mime_type = type;
    out.changed = true;
  }
  const Media::Kind kind = true_kind(media);
  const bool is_file = kind == Media::Kind::document && media.source == Media::Source::data;
  const bool named = is_file && names == FileNames::demanded;
  out.filename = named ? file_name(media) : std::string(media.filename);
  out.changed = out.changed || kind != media.kind || out.filename != media.filename;
  media.kind = kind;
  return out;
}

// Most messages stay as they are, and media may be large.
void settle(message::Message& message, FileNames names) {
  const message::Parts parts(message.content);
  bool changed = false;
  std::string held;
  for (const json::Value part : parts.items()) {
    const auto medium = settled(part, names, held);
    changed = changed || (medium && medium->changed);
  }
  if (!changed) return;
  message::JsonBuilder out(json::Surrogates::keep);
  out.open_array();
  for (const json::Value part : parts.items()) {
    if (const auto medium = settled(part, names, held); medium && medium->changed) {
      write_settled(out, medium->media, medium->filename);
    } else {
      out.value(part);
    }
  }
  out.close_array();
  message.content = message::Content::of_parts(out.take());
}

// A text by value where the provider takes no documents: its words, under its name. Nothing for
// any other medium.
std::optional<std::string> words_of_document(const Media& media) {
  const bool is_text = media.kind == Media::Kind::document && media.source == Media::Source::data &&
                       media.mime_type.starts_with("text/");
  if (!is_text) return std::nullopt;
  auto bytes = base64::decode(media.value);
  if (!bytes || !utf8::is_valid(*bytes)) return std::nullopt;
  if (media.filename.empty()) return bytes;
  return std::string(media.filename).append("\n\n").append(*bytes);
}

std::optional<std::string> words_of_document(const json::Value& part, const Draft& draft,
                                             MediaCheck check) {
  Media media;
  if (!message::read_media(media, part) || !check(media, draft)) return std::nullopt;
  return words_of_document(media);
}

// Documents that the provider does not take but whose words it can read go as texts.
void spell_out(message::Message& message, const Draft& draft, MediaCheck check) {
  const message::Parts parts(message.content);
  bool any = false;
  for (const json::Value part : parts.items()) {
    any = any || words_of_document(part, draft, check);
  }
  if (!any) return;
  message::JsonBuilder out(json::Surrogates::keep);
  out.open_array();
  for (const json::Value part : parts.items()) {
    if (const auto words = words_of_document(part, draft, check)) {
      message::write_text_part(out, *words);
    } else {
      out.value(part);
    }
  }
  out.close_array();
  message.content = message::Content::of_parts(out.take());
  draft.note("messages", "The provider takes no documents: a text document goes as text.");
}

// A medium as an error names it: where it is and how it comes.
std::string place_of(std::size_t message, std::size_t part, const Media& media) {
  constexpr std::array<std::string_view, 3> sources{"by value", "by address", "by id"};
  std::string place = "messages[" + std::to_string(message) + "].content[" + std::to_string(part);
  place.append("], ").append(message::name_of(media.kind)).append(" ");
  return place.append(sources.at(static_cast<std::size_t>(media.source)));
}

bool is_media_type(std::string_view type) {
  constexpr std::array<std::string_view, 4> types{"image", "audio", "video", "document"};
  return std::find(types.begin(), types.end(), type) != types.end();
}

// What a part is that nothing is written for; nothing for a text.
std::optional<std::string> unknown_part(const json::Value& part) {
  if (part["text"].is_string()) return std::nullopt;
  const std::string_view type = part["type"].string();
  if (is_media_type(type)) {
    return std::string(type).append(
        " left out: its `source` is none with `type` data, url or file, and `value`.");
  }
  return "part left out: its type, \"" + redacted(type, 64) + "\", is not known.";
}

// What of the content cannot be given, in words; nothing for what can.
std::optional<std::string> refusal_of(const json::Value& part, const Draft& draft,
                                      MediaCheck check) {
  Media media;
  if (message::read_media(media, part)) {
    const auto sentence = check(media, draft);
    if (!sentence) return std::nullopt;
    return std::string(message::name_of(media.kind)).append(" left out: ").append(*sentence);
  }
  return unknown_part(part);
}

// A text takes the place of each part that cannot be given, of which `refusal_of` gives why; most
// messages have none.
template <class RefusalOf>
void leave_out(message::Message& message, const Draft& draft, RefusalOf refusal_of) {
  const message::Parts parts(message.content);
  bool is_whole = true;
  for (const json::Value part : parts.items()) is_whole = is_whole && !refusal_of(part);
  if (is_whole) return;
  message::JsonBuilder out(json::Surrogates::keep);
  out.open_array();
  for (const json::Value part : parts.items()) {
    const auto refusal = refusal_of(part);
    if (!refusal) {
      out.value(part);
      continue;
    }
    message::write_text_part(out, "[" + *refusal + "]");
    draft.notes.push_back({"messages", *refusal, true});
  }
  out.close_array();
  message.content = message::Content::of_parts(out.take());
}

void note_unknown(const Draft& draft, const json::Value& part,
                  std::span<const std::string_view> own_types) {
  const std::string_view type = part["type"].string();
  if (std::find(own_types.begin(), own_types.end(), type) != own_types.end()) return;
  if (auto sentence = unknown_part(part)) {
    draft.notes.push_back({"messages", *std::move(sentence), true});
  }
}

// No address, no bytes: what a form sends that nothing was put into.
bool is_empty_medium(const json::Value& part) {
  Media media;
  if (!message::read_media(media, part)) return false;
  std::string held;
  message::take_data_url(media, held);
  return media.value.empty();
}

std::size_t count_empty_media(const message::Message& message) {
  const message::Parts parts(message.content);
  std::size_t count = 0;
  for (const json::Value part : parts.items()) count += is_empty_medium(part) ? 1 : 0;
  return count;
}

void drop_empty_parts(message::Message& message) {
  const message::Parts parts(message.content);
  message::JsonBuilder out(json::Surrogates::keep);
  out.open_array();
  for (const json::Value part : parts.items()) {
    if (!is_empty_medium(part)) out.value(part);
  }
  out.close_array();
  message.content = message::Content::of_parts(out.take());
}

}  // namespace

std::size_t drop_empty_media(message::SharedMessages& messages) {
  std::size_t dropped = 0;
  for (std::size_t at = 0; at < messages.size(); ++at) {
    if (messages[at].content.kind != message::Content::Kind::parts) continue;
    const std::size_t count = count_empty_media(messages[at]);
    if (count > 0) drop_empty_parts(messages.edit()[at]);
    dropped += count;
  }
  return dropped;
}

Result<void> check_media(const Draft& draft, MediaCheck check, FileNames names,
                         std::span<const std::string_view> own_types) {
  for (std::size_t at = 0; at < draft.messages.size(); ++at) {
    if (draft.messages[at].content.kind != message::Content::Kind::parts) continue;
    message::Message& message = draft.messages.edit(at);
    leave_out(message, draft, [&](const json::Value& part) { return foreign_file(part, draft); });
    settle(message, names);
    spell_out(message, draft, check);
    if (draft.payload.leaves_out) {
      leave_out(message, draft,
                [&](const json::Value& part) { return refusal_of(part, draft, check); });
      continue;
    }
    const message::Parts parts(message.content);
    std::size_t number = 0;
    for (const json::Value part : parts.items()) {
      const std::size_t place = number++;
      Media media;
      if (!message::read_media(media, part)) {
        note_unknown(draft, part, own_types);
        continue;
      }
      if (const auto sentence = check(media, draft)) {
        return not_supported(draft, *sentence, place_of(at, place, media));
      }
    }
  }
  return {};
}

}  // namespace millrace::model
