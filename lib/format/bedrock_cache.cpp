#include "format/bedrock_cache.hpp"

#include "format/anthropic_blocks.hpp"

namespace millrace::format::bedrock {

std::string cache_point(const json::Value& mark) {
  if (!mark.is_object()) return {};
  std::string point = R"({"cachePoint":{"type":"default")";
  if (const auto ttl = mark["ttl"].filled_string()) json::append_member(point, "ttl", *ttl);
  return point + "}}";
}

void write_cache_point(message::JsonBuilder& out, const message::Metadata& metadata) {
  const auto* state = metadata.find(anthropic_provider, cache_control_kind);
  if (state == nullptr) return;
  json::Document document;
  const auto mark = document.parse(state->json);
  const std::string point = mark ? cache_point(mark.value()) : std::string();
  if (!point.empty()) out.written(point);
}

std::string marked_texts(const message::Metadata& metadata, std::string_view text) {
  const auto* state = metadata.find(anthropic_provider, cache_blocks_kind);
  if (state == nullptr) return {};
  json::Document document;
  const auto blocks = document.parse(state->json);
  if (!blocks) return {};
  std::string words;
  std::string written;
  for (const json::Value block : blocks.value().items()) {
    words.append(block["text"].string());
    std::string made = "{";
    json::append_member(made, "text", block["text"].string());
    written.append(written.empty() ? "" : ",").append(made).append("}");
    const std::string point = cache_point(block["cache_control"]);
    if (!point.empty()) written.append(",").append(point);
  }
  // The text may have been edited since.
  return words == text ? written : std::string();
}

}  // namespace millrace::format::bedrock
