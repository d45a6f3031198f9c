#include "model/payload/signed_parts.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "format/format.hpp"
#include "format/gemini_parts.hpp"
#include "format/openai_names.hpp"
#include "message/json_builder.hpp"
#include "message/ordered_answers.hpp"
#include "message/parts.hpp"
#include "model/body/media.hpp"
#include "model/call/scope.hpp"
#include "model/provider/providers.hpp"

namespace millrace::model {
namespace {

using message::JsonBuilder;
using message::Media;
using message::Message;
using message::Messages;

constexpr std::string_view signature_member = "googleThoughtSignature";
constexpr json::Surrogates surrogates = json::Surrogates::keep;

bool is_text(const json::Value& part) {
  return part["type"].string() == "text";
}

bool is_image(const json::Value& part) {
  return part["type"].string() == "image_url" && part["image_url"]["url"].filled_string();
}

// Whether they are texts and images, one of which is as `wanted` says.
template <class Wanted>
bool has_parts(const json::Value& content, const Wanted& wanted) {
  bool has_any = false;
  for (const json::Value part : content.items()) {
    if (!is_text(part) && !is_image(part)) return false;
    has_any = has_any || wanted(part);
  }
  return has_any;
}

bool is_signed(const json::Value& part) {
  return part[signature_member].filled_string().has_value();
}

// An image as a part of Gemini's, "" for one that the API does not take.
std::string image_part(std::string_view url) {
  Media media{Media::Kind::image, Media::Source::url, url};
  message::take_data_url(media);
  if (media.mime_type == svg_type) return {};
  JsonBuilder canonical(surrogates);
  message::write_media(canonical, media);
  json::Document document(message::depth_limit);
  const auto part = document.parse(canonical.take());
  return part ? format::gemini::part_of(part.value(), surrogates) : std::string();
}

std::string text_part(std::string_view text) {
  std::string part = "{";
  json::append_member(part, "text", text, surrogates);
  return part + "}";
}

// The parts as the contents of Gemini's API, and who issued the signatures.
std::string contents_of(const json::Value& content, std::string& issuer) {
  std::string contents = R"({"contents":[{"role":"model","parts":[)";
  bool is_first = true;
  for (const json::Value given : content.items()) {
    std::string part = is_text(given) ? text_part(given["text"].string())
                                      : image_part(given["image_url"]["url"].string());
    if (part.empty()) return {};
    if (const auto signature = given[signature_member].filled_string()) {
      const ScopedSignature scoped = read_scoped(*signature);
      if (!scoped.provider.empty()) issuer = scoped.provider;
      part.pop_back();
      json::append_member(part, "thoughtSignature", scoped.signature, surrogates);
      part.push_back('}');
    }
    if (!std::exchange(is_first, false)) contents.push_back(',');
    contents.append(part);
  }
  return contents + "]}]}";
}

Messages read_contents(const std::string& contents, IdSource& ids) {
  json::Document document(message::depth_limit);
  const auto parsed = document.parse(contents);
  if (!parsed) return {};
  auto read = format::find_format("gemini")->read(parsed.value(), ids);
  return read ? std::move(read).value() : Messages();
}

// Puts the parts in the place of the message's text; those before the last one go to `out`.
void place_parts(Messages& out, Message& message, const json::Value& content, IdSource& ids) {
  std::string issuer;
  Messages read = read_contents(contents_of(content, issuer), ids);
  if (read.empty()) return;
  for (Message& part : read) {
    if (!issuer.empty()) part.metadata.add(issuer_provider, issuer_kind, issuer_json(issuer));
  }
  Message last = std::move(read.back());
  read.pop_back();
  for (Message& part : read) out.push_back(std::move(part));
  // The list was stored whole for a vendor that reads it.
  std::erase_if(message.metadata.provider_state, [](const message::ProviderState& state) {
    return state.provider == format::openai::provider && state.kind == format::openai::content_kind;
  });
  for (message::ProviderState& state : last.metadata.provider_state) {
    message.metadata.provider_state.push_back(std::move(state));
  }
  // The record of the order has the message by its id.
  if (!last.metadata.order->empty()) message.id = std::move(last.id);
  message.metadata.order = std::move(last.metadata.order);
  message.content = std::move(last.content);
  if (last.encrypted_value) message.encrypted_value = std::move(last.encrypted_value);
}

// The list that the format stored of an answer; nothing when its texts are no longer the message's.
json::Value stored_list(const Message& message, json::Document& document) {
  using namespace format::openai;
  if (message.role != message::Role::assistant) return {};
  const auto* state = message.metadata.find(provider, content_kind);
  const auto content = document.parse(state == nullptr ? "" : state->json);
  if (!content) return {};
  std::string words;
  for (const json::Value part : content.value().items()) words.append(part["text"].string());
  return words == message::text_of(message.content) ? content.value() : json::Value();
}

}  // namespace

void read_signed_parts(Messages& out, Message& message, const json::Value& content, IdSource& ids) {
  if (has_parts(content, is_signed)) place_parts(out, message, content, ids);
}

void read_unsigned_images(message::SharedMessages& messages, IdSource& ids) {
  const message::OrderedAnswers answers(messages.list());
  std::vector<bool> has_images(messages.size());
  bool has_any = false;
  for (std::size_t at = 0; at < messages.size(); ++at) {
    json::Document document(message::depth_limit);
    has_images[at] =
        !answers.covers(at) && has_parts(stored_list(messages[at], document), is_image);
    has_any = has_any || has_images[at];
  }
  if (!has_any) return;
  Messages out;
  std::size_t at = 0;
  for (Message& message : messages.edit()) {
    json::Document document(message::depth_limit);
    if (has_images[at++]) place_parts(out, message, stored_list(message, document), ids);
    out.push_back(std::move(message));
  }
  messages = message::SharedMessages(std::move(out));
}

}  // namespace millrace::model
