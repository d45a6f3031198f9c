#include "model/payload/signed_parts.hpp"

#include <string>
#include <string_view>
#include <utility>

#include "format/format.hpp"
#include "format/gemini_parts.hpp"
#include "format/openai_names.hpp"
#include "message/json_builder.hpp"
#include "message/parts.hpp"
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

bool has_signed_parts(const json::Value& content) {
  bool is_signed = false;
  for (const json::Value part : content.items()) {
    if (!is_text(part) && !is_image(part)) return false;
    is_signed = is_signed || part[signature_member].filled_string();
  }
  return is_signed;
}

// An image as a part of Gemini's.
std::string image_part(std::string_view url) {
  Media media{Media::Kind::image, Media::Source::url, url};
  message::take_data_url(media);
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

}  // namespace

void read_signed_parts(Messages& out, Message& message, const json::Value& content, IdSource& ids) {
  if (!has_signed_parts(content)) return;
  std::string issuer;
  Messages read = read_contents(contents_of(content, issuer), ids);
  if (read.empty()) return;
  for (Message& part : read) {
    if (!issuer.empty()) part.metadata.add(issuer_provider, issuer_kind, issuer_json(issuer));
  }
  Message last = std::move(read.back());
  read.pop_back();
  for (Message& part : read) out.push_back(std::move(part));
  // The list was kept whole for a vendor that reads it.
  std::erase_if(message.metadata.provider_state, [](const message::ProviderState& state) {
    return state.provider == format::openai::provider && state.kind == format::openai::content_kind;
  });
  for (message::ProviderState& state : last.metadata.provider_state) {
    message.metadata.provider_state.push_back(std::move(state));
  }
  message.metadata.order = std::move(last.metadata.order);
  message.content = std::move(last.content);
  if (last.encrypted_value) message.encrypted_value = std::move(last.encrypted_value);
}

}  // namespace millrace::model
