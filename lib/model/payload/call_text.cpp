#include "model/payload/call_text.hpp"

#include <array>
#include <string_view>
#include <utility>

#include "format/openai_names.hpp"
#include "message/parts.hpp"

namespace millrace::model {
namespace {

using message::Media;
using message::Message;
using message::ToolCall;

constexpr auto keep = json::Surrogates::keep;
constexpr std::string_view encrypted = "encrypted_";
constexpr std::size_t most_name_bytes = 256;

std::string sizes_of(std::string_view base64) {
  return "(" + std::to_string(base64.size() / 4 * 3) + " bytes)";
}

void write_plain_string(std::string& out, std::string_view text) {
  message::DataUrl data;
  if (!message::read_data_url(data, text)) return json::append_string(out, text, keep);
  json::append_string(out, std::string(data.mime_type) + " " + sizes_of(data.data), keep);
}

// A value without what has no reader.
void write_plain(std::string& out, const json::Value& value) {
  if (value.is_string()) return write_plain_string(out, value.string());
  if (value.is_array()) {
    out.push_back('[');
    for (const json::Value item : value.items()) {
      if (out.back() != '[') out.push_back(',');
      write_plain(out, item);
    }
    out.push_back(']');
    return;
  }
  if (!value.is_object()) return value.write(out, keep);
  const bool is_bytes = value["type"].string() == "base64";
  out.push_back('{');
  for (const auto& [key, member] : value.members()) {
    if (key.starts_with(encrypted)) continue;
    if (out.back() != '{') out.push_back(',');
    json::append_string(out, key, keep);
    out.push_back(':');
    if (is_bytes && key == "data") {
      json::append_string(out, sizes_of(member.string()), keep);
    } else {
      write_plain(out, member);
    }
  }
  out.push_back('}');
}

std::string plain_text(std::string_view text) {
  const bool may_be_json = text.starts_with('{') || text.starts_with('[');
  json::Document document(message::depth_limit);
  const auto value = document.parse(may_be_json ? text : std::string_view());
  if (!value) return std::string(text);
  std::string out;
  write_plain(out, value.value());
  return out;
}

// Up to the limit, and no half character.
std::string_view start_of(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return text;
  constexpr unsigned char mask = 0xC0;
  constexpr unsigned char inner = 0x80;
  std::size_t size = limit;
  while (size > 0 && (static_cast<unsigned char>(text[size]) & mask) == inner) --size;
  return text.substr(0, size);
}

void add_line(CallText& out, std::string_view label, std::string_view text) {
  if (text.empty() || text == "{}") return;
  const std::string_view start = start_of(text, call_text_bytes);
  out.text.append("\n").append(label).append(": ").append(start);
  if (start.size() == text.size()) return;
  out.text.append(" (cut)");
  out.is_cut = true;
}

// What the state of the call has beside what is shown: the server of a tool, what an image was made
// from, and all that is known of a failure.
struct Further {
  std::string server;
  std::string prompt;
  std::string error;
};
Further further_of(const ToolCall& call) {
  Further found;
  for (const message::ProviderState& state : call.metadata.provider_state) {
    if (state.kind != "item" && state.kind != "server_tool") continue;
    json::Document document(message::depth_limit);
    const auto value = document.parse(state.json);
    if (!value) continue;
    for (const std::string_view key : {"server_label", "server_name"}) {
      if (const auto name = value.value()[key].filled_string()) found.server = *name;
    }
    found.prompt = value.value()["revised_prompt"].string();
    const json::Value error = value.value()["error"];
    if (const auto sentence = error.filled_string()) found.error = *sentence;
    if (error.is_object() && error.size() > 0) write_plain(found.error, error);
  }
  return found;
}

void add_heading(CallText& out, std::string_view tool, std::string_view server) {
  out.tool = start_of(tool, most_name_bytes);
  out.text = "(The tool " + out.tool;
  if (!server.empty()) out.text.append(" of the server ").append(start_of(server, most_name_bytes));
  out.text.append(" ran at the provider.)");
}

void add_image(CallText& out, Media media) {
  message::take_data_url(media);
  message::JsonBuilder part(keep);
  message::write_media(part, media);
  out.images.push_back(part.take());
}

// The image that a call of OpenAI's made is kept beside it.
void add_made_image(CallText& out, const ToolCall& call) {
  const auto* state = call.metadata.find(format::openai::items_provider, "image");
  json::Document document(message::depth_limit);
  const auto value = document.parse(state == nullptr ? "" : state->json);
  if (!value) return;
  const auto url = value.value()["image_url"]["url"].filled_string();
  if (url) add_image(out, {Media::Kind::image, Media::Source::url, *url});
}

// What it is, its name, and where it is unless its bytes are given.
std::string named_medium(const Media& media) {
  std::string text(message::name_of(media.kind));
  if (!media.filename.empty()) text.append(" ").append(media.filename);
  message::DataUrl data;
  const bool is_given =
      media.source == Media::Source::data || message::read_data_url(data, media.value);
  return is_given ? text : text.append(" ").append(media.value);
}

// What failed of a part, as the provider's block that it holds has it.
void add_part_errors(CallText& out, const json::Value& part) {
  for (const json::Value state : part["metadata"]["millrace"]["providerState"].items()) {
    for (const auto& [key, member] : state["state"].members()) {
      const json::Value error = member["error"];
      if (!error.is_object() || error.size() == 0) continue;
      std::string text;
      write_plain(text, error);
      add_line(out, "Error", text);
    }
  }
}

void add_result(CallText& out, const Message& result, bool has_error) {
  const std::string text = message::text_of(result.content);
  add_line(out, "Result", plain_text(text));
  if (!has_error && result.error && *result.error != text) {
    add_line(out, "Error", result.error->empty() ? "The tool failed." : *result.error);
  }
  const message::Parts parts(result.content);
  for (const json::Value part : parts.items()) {
    add_part_errors(out, part);
    Media media;
    if (!message::read_media(media, part)) continue;
    if (media.kind == Media::Kind::image) add_image(out, media);
    add_line(out, "Result", named_medium(media));
  }
}

}  // namespace

CallText text_of_call(const ToolCall& call, const Message* result) {
  const Further further = further_of(call);
  CallText out;
  add_heading(out, call.name, further.server);
  add_line(out, "Arguments", plain_text(call.arguments));
  add_line(out, "Prompt", further.prompt);
  add_line(out, "Error", further.error);
  if (result != nullptr) add_result(out, *result, !further.error.empty());
  add_made_image(out, call);
  if (!out.images.empty()) add_line(out, "Images", std::to_string(out.images.size()));
  return out;
}

CallText text_of_tool_part(const json::Value& part) {
  struct Row {
    std::string_view member;
    std::string_view content;
    std::string_view label;
  };
  constexpr std::array rows{Row{"toolCall", "args", "Arguments"},
                            Row{"toolResponse", "response", "Result"}};
  CallText out;
  for (const Row& row : rows) {
    const json::Value value = part[row.member];
    if (!value.is_object()) continue;
    std::string content;
    write_plain(content, value[row.content]);
    add_heading(out, value["toolType"].string(), {});
    add_line(out, row.label, content);
  }
  return out;
}

}  // namespace millrace::model
