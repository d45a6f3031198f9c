#include "format/openai_content.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/json_members.hpp"
#include "base/text_hash.hpp"
#include "format/further_members.hpp"
#include "format/openai_names.hpp"
#include "format/retained.hpp"
#include "format/support.hpp"
#include "message/parts.hpp"

namespace millrace::format::openai {
namespace {

using message::JsonBuilder;
using message::Message;

// The texts that an answer's parts are, by their sizes and hashes; empty when the text is another
// by now.
std::vector<std::string_view> pieces_of(const json::Value& parts, std::string_view text) {
  std::vector<std::string_view> pieces;
  for (const json::Value part : parts.items()) {
    const auto size =
        static_cast<std::size_t>(std::max<std::int64_t>(part["size"].integer().value_or(0), 0));
    if (size > text.size()) return {};
    pieces.push_back(text.substr(0, size));
    if (!TextHash::fits(pieces.back(), part["hash"].string())) return {};
    text.remove_prefix(size);
  }
  return text.empty() ? pieces : std::vector<std::string_view>();
}

std::size_t annotations_of(const json::Value& part) {
  return static_cast<std::size_t>(
      std::max<std::int64_t>(part["annotations"].integer().value_or(0), 0));
}

void write_output_part(JsonBuilder& out, const json::Value& part, std::string_view text,
                       std::span<const std::string> citations) {
  const std::string_view type = part["type"].filled_string().value_or("output_text");
  const bool is_text = type == "output_text";
  const bool is_refusal = type == "refusal";
  out.open_object();
  out.text("type", type);
  if (is_text || is_refusal || !text.empty()) out.text(is_refusal ? "refusal" : "text", text);
  if (is_text || part["annotations"].exists()) {
    out.open_array("annotations");
    for (const std::string& citation : citations) out.raw(citation);
    out.close_array();
  }
  if (part["logprobs"].is_array()) out.value("logprobs", part["logprobs"]);
  write_further(out, part[further_kind], {"type", "text", "refusal", "annotations", "logprobs"});
  out.close_object();
}

// The parts of a history, as they came.
bool write_given_parts(JsonBuilder& out, const json::Value& parts, std::string_view text) {
  constexpr std::string_view lead = "[Refusal]: ";
  std::string words;
  for (const json::Value part : parts.items()) {
    const bool is_refusal = part["type"].string() == "refusal";
    if (!is_refusal && part["type"].string() != "output_text") return false;
    if (is_refusal) words.append(lead);
    words.append(part[is_refusal ? "refusal" : "text"].string());
  }
  if (words != text || parts.size() == 0) return false;
  out.value("content", parts);
  return true;
}

// Claude's ids of messages begin as OpenAI's do: `msg_01` and 22 more letters and digits, or the
// name of the cloud. OpenAI's are hexadecimal.
bool is_claude_id(std::string_view id) {
  constexpr std::string_view start = "msg_01";
  constexpr std::size_t size = 28;
  constexpr std::string_view hexadecimal = "0123456789abcdef";
  if (id.starts_with("msg_bdrk_") || id.starts_with("msg_vrtx_")) return true;
  return id.size() == size && id.starts_with(start) &&
         id.find_first_not_of(hexadecimal, start.size()) != std::string_view::npos;
}

}  // namespace

std::string text_of_part(const json::Value& part) {
  constexpr std::array<std::string_view, 5> texts{"output_text", "input_text", "text",
                                                  "summary_text", "reasoning_text"};
  const std::string_view type = part["type"].string();
  if (type == "refusal") return std::string("[Refusal]: ").append(part["refusal"].string());
  const bool known = std::find(texts.begin(), texts.end(), type) != texts.end();
  return known ? std::string(part["text"].string()) : std::string();
}

std::string text_of_parts(const json::Value& content) {
  if (content.is_string()) return std::string(content.string());
  std::string text;
  for (const json::Value part : content.items()) text.append(text_of_part(part));
  return text;
}

bool is_output_list(const json::Value& content, bool has_id) {
  bool is_plain = content.size() <= 1 && !(has_id && content.size() == 1);
  for (const json::Value part : content.items()) {
    const bool is_output = part["type"].string() == "output_text";
    if (!is_output && part["type"].string() != "refusal") return false;
    is_plain =
        is_plain && is_output && part["annotations"].size() == 0 && part["logprobs"].size() == 0;
  }
  return !is_plain;
}

bool is_part_list(const json::Value& output) {
  if (!output.is_array() || output.size() == 0) return false;
  for (const json::Value part : output.items()) {
    const std::string_view type = part["type"].string();
    if (type.empty() || (!part["text"].is_string() && !type.starts_with("input_"))) return false;
  }
  return true;
}

bool is_own_id(std::string_view id) {
  if (is_claude_id(id)) return false;
  constexpr std::array<std::string_view, 6> starts{"msg_", "fc_", "ctc_", "rs_", "fco_", "ctco_"};
  return std::any_of(starts.begin(), starts.end(),
                     [&](std::string_view start) { return id.starts_with(start); });
}

std::string members_of(const json::Value& item, std::initializer_list<std::string_view> known) {
  std::string members;
  json::each_further(item, known, [&](const json::Member& member) {
    // The API takes its own ids alone.
    const bool is_left_out = member.key == "id" && !is_own_id(member.value.string());
    if (!is_left_out) json::append_member(members, member);
  });
  return members;
}

void keep_members(message::Metadata& metadata, const json::Value& item,
                  std::initializer_list<std::string_view> known) {
  const std::string members = members_of(item, known);
  if (!members.empty()) metadata.add(items_provider, further_kind, "{" + members + "}");
}

void append_part_members(std::string& out, std::string_view key, const json::Value& parts) {
  std::string list = "[";
  bool has_any = false;
  for (const json::Value part : parts.items()) {
    const std::string members = members_of(part, {"type", "text"});
    has_any = has_any || !members.empty();
    if (list.size() > 1) list.push_back(',');
    list.append("{").append(members).append("}");
  }
  if (has_any) json::append_raw_member(out, key, list + "]");
}

void write_output_text(JsonBuilder& out, std::string_view text) {
  out.open_array("content");
  out.open_object();
  out.text("type", "output_text");
  out.text("text", text);
  out.raw("annotations", "[]");
  out.close_object();
  out.close_array();
}

bool write_output_parts(JsonBuilder& out, const Message& message, std::string_view text) {
  const auto* state = message.metadata.find(items_provider, content_kind);
  json::Document document(message::depth_limit);
  const auto content = document.parse(state == nullptr ? "" : state->json);
  if (!content) return false;
  const json::Value parts = content.value()["parts"];
  const auto pieces = pieces_of(parts, text);
  if (pieces.empty()) return write_given_parts(out, parts, text);
  const std::span<const std::string> citations(message.metadata.citations);
  std::size_t count = 0;
  for (const json::Value part : parts.items()) count += annotations_of(part);
  if (count != citations.size()) return false;
  std::size_t at = 0;
  std::size_t cited = 0;
  out.open_array("content");
  for (const json::Value part : parts.items()) {
    const std::size_t of_part = annotations_of(part);
    // What was shown is not what the part said at its end.
    const std::string_view text_of_end = part["whole"].string();
    const std::string_view piece = text_of_end.empty() ? pieces[at] : text_of_end;
    write_output_part(out, part, piece, citations.subspan(cited, of_part));
    ++at;
    cited += of_part;
  }
  out.close_array();
  return true;
}

}  // namespace millrace::format::openai
