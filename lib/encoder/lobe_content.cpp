// The content of an answer in a LobeHub chat stream: texts, reasoning, images, and the parts that
// an answer has which mixes them.
#include <algorithm>
#include <array>

#include "encoder/lobe.hpp"
#include "event/answer_name.hpp"
#include "event/unsigned_reasoning.hpp"

namespace millrace::encoder {
namespace {

constexpr std::string_view responses = "openai_responses";  // whose reasoning has several parts
constexpr std::string_view data_image = "data:image/";

// Parts of an item's reasoning have its id and their number.
std::string_view item_of(std::string_view id) {
  const std::size_t colon = id.rfind(':');
  const bool is_numbered = colon != std::string_view::npos && colon + 1 < id.size() &&
                           id.find_first_not_of("0123456789", colon + 1) == std::string_view::npos;
  return is_numbered ? id.substr(0, colon) : id;
}

// The next image that stands in a text as Markdown writes it, with its data.
struct Inline {
  std::size_t begin = std::string_view::npos;
  std::size_t end = std::string_view::npos;
  std::string_view url;
};
Inline find_inline(std::string_view text) {
  const std::size_t link = text.find("](data:image/");
  if (link == std::string_view::npos) return {};
  const std::size_t begin = text.rfind("![", link);
  const std::size_t close = text.find(')', link);
  if (begin == std::string_view::npos || close == std::string_view::npos) return {};
  return {begin, close + 1, text.substr(link + 2, close - link - 2)};
}

// State that says of a text what its own events show as well: in which pieces it came, with which
// citations, and that no signature of it came.
bool is_about_shown(std::string_view kind) {
  return kind == "cited_text" || kind == event::unsigned_kind;
}

// What a part of Gemini has beside its image, as a part of those members; "" for nothing.
std::string members_beside_image(const json::Value& part, bool has_signature) {
  std::string out;
  const auto add = [](std::string& object, const json::Member& member) {
    if (object.empty()) object.push_back('{');
    json::append_member(object, member);
  };
  std::string image;
  for (const json::Member& member : part["inlineData"].members()) {
    if (member.key != "data" && member.key != "mimeType") add(image, member);
  }
  for (const json::Member& member : part.members()) {
    const bool is_written = member.key == "inlineData" || member.key == "thought" ||
                            (has_signature && member.key == "thoughtSignature");
    if (!is_written) add(out, member);
  }
  if (!image.empty()) {
    if (out.empty()) out.push_back('{');
    json::append_raw_member(out, "inlineData", image + "}");
  }
  return out.empty() ? out : out + "}";
}

}  // namespace

void LobeEncoder::answered_by(std::string_view wire, std::string_view model) {
  options_.wire = wire;
  answer_id_.clear();
  parts_.answered_by(wire, model);
  is_behind_part_ = false;
}

void LobeEncoder::on_text(std::string_view id, std::string_view delta) {
  if (delta.empty()) return;
  effective();
  take_id(id, false);
  for (Inline image = find_inline(delta); !image.url.empty(); image = find_inline(delta)) {
    write_text(delta.substr(0, image.begin));
    write_image(image.url);
    delta.remove_prefix(image.end);
  }
  write_text(delta);
}

void LobeEncoder::write_text(std::string_view text) {
  if (text.empty()) return;
  if (parts_.on_text()) return write_part({false, text});
  write("text", text);
}

void LobeEncoder::begin_reasoning(std::string_view id) {
  if (item_of(id) == id) summaries_.clear();
  summaries_.emplace_back();
  reasoning_.push_back({std::string(id), 0, {}});
}

void LobeEncoder::on_reasoning(std::string_view id, std::string_view delta) {
  if (delta.empty()) return;
  effective();
  take_id(options_.wire == responses ? item_of(id) : id, true);
  if (options_.wire == responses && !reasoning_id_.empty() && reasoning_id_ != id) {
    write("reasoning", "\n");
  }
  reasoning_id_ = id;
  if (!parts_.on_reasoning()) return write("reasoning", delta);
  write_part({true, delta});
}

void LobeEncoder::write_part(const Part& part) {
  begin(part.reasoning_part ? "reasoning_part" : "content_part");
  out_.push_back('{');
  json::append_member(out_, "partType", part.mime_type.empty() ? "text" : "image");
  json::append_member(out_, "content", part.content);
  if (!part.mime_type.empty()) json::append_member(out_, "mimeType", part.mime_type);
  if (part.reasoning_part) json::append_raw_member(out_, "inReasoning", "true");
  if (!part.signature.empty()) json::append_member(out_, "thoughtSignature", part.signature);
  out_.push_back('}');
  end();
}

// Reasoning items and images have events of their own.
void LobeEncoder::on_state(const event::Event& event, const event::ProviderState& state) {
  if (is_about_shown(state.kind)) return;
  // Items of Responses have ids of their own, and who issued a state says nothing of its place.
  const bool is_part = state.kind != "item" && state.provider != event::issuer_provider;
  is_behind_part_ = is_behind_part_ || is_part;
  json::Document document;
  const auto parsed = document.parse(state.json);
  if (!parsed) return write_data(event);
  const json::Value& value = parsed.value();
  if (state.provider == event::issuer_provider && state.kind == event::answer_kind) {
    if (const auto id = value["id"].filled_string()) answer_id_ = *id;
    return parts_.mixes(value["mixes"].is_true());
  }
  if (state.provider == event::issuer_provider && state.kind == event::hosted_kind) {
    hosted_.emplace(state.entity_id);
    return write_data(event);
  }
  if (state.provider == event::issuer_provider && state.kind == event::issuer_kind) {
    issuer_ = value.string();
    issued_id_ = state.entity_id;
    has_issuer_to_write_ = true;
    return;
  }
  if (options_.wire == responses && state.kind == "item" &&
      value["type"].string().starts_with("reasoning")) {
    reasoning_item_ = {std::string(state.entity_id), std::string(state.json)};
    // A summary's is its status alone, which the frame of the item has.
    if (value["type"].string() == "reasoning") return;
  }
  if (!state.entity_id.empty()) id_ = state.entity_id;
  if (const auto url = value["image_url"]["url"].filled_string(); url && state.kind == "image") {
    return on_image_url(*url);
  }
  const bool is_image = value["inlineData"]["mimeType"].string().starts_with("image/");
  if (state.kind != "part" || !is_image) {
    write_issuer(state.entity_id, event);
    return write_data(event);
  }
  const std::string others = members_beside_image(value, on_image(value));
  if (others.empty()) return;
  write_issuer(state.entity_id, event);
  const event::ProviderState rest{state.provider, "members", state.entity_id, others};
  write_data(event::Event{rest, {}, event.subagent});
}

// Who issued the state that is written next, once for each message, item or call.
void LobeEncoder::write_issuer(std::string_view entity_id, const event::Event& event) {
  if (!has_issuer_to_write_ || issued_id_ != entity_id) return;
  has_issuer_to_write_ = false;
  std::string issuer;
  json::append_string(issuer, issuer_);
  const event::ProviderState state{event::issuer_provider, event::issuer_kind, entity_id, issuer};
  write_data(event::Event{state, {}, event.subagent});
}

// An image of Gemini: a part of an answer that has parts, else an image of its own. Gives whether
// its signature was written as well.
bool LobeEncoder::on_image(const json::Value& medium) {
  effective();
  const json::Value data = medium["inlineData"];
  const bool reasoning_part = medium["thought"].is_true();
  if (reasoning_part ? parts_.on_reasoning_image() : parts_.on_image()) {
    const std::string_view plain = medium["thoughtSignature"].string();
    const std::string signature =
        plain.empty() ? std::string() : scoped({"message", {}, plain}, plain);
    write_part({reasoning_part, data["data"].string(), data["mimeType"].string(), signature});
    return true;
  }
  std::string image = "data:";
  image.append(data["mimeType"].string()).append(";base64,").append(data["data"].string());
  write_image(image);
  return false;
}

// An image of a chat completion. One that stands elsewhere is text that shows it.
void LobeEncoder::on_image_url(std::string_view url) {
  effective();
  if (url.starts_with(data_image)) return write_image(url);
  write_text("![image](" + std::string(url) + ")");
}

void LobeEncoder::write_image(std::string_view data_url) {
  constexpr std::string_view scheme = "data:";
  constexpr std::string_view coding = ";base64,";
  const std::size_t type_end = data_url.find(coding);
  const bool is_part = parts_.on_image();
  if (!is_part || type_end == std::string_view::npos) return write("base64_image", data_url);
  const std::string_view type = data_url.substr(scheme.size(), type_end - scheme.size());
  write_part({false, data_url.substr(type_end + coding.size()), type});
}

}  // namespace millrace::encoder
