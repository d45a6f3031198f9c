// What a provider needs again unchanged, under LobeHub's names: signatures of reasoning and items
// of an answer.
#include <algorithm>
#include <span>

#include "encoder/lobe.hpp"

namespace millrace::encoder {
namespace {

// The opaque value as the provider named it: plain, or in one of the members that adapters keep.
struct Signature {
  std::string text;
  bool redacted = false;
};
Signature signature_of(std::string_view value) {
  if (!value.starts_with('{')) return {std::string(value), false};
  json::Document document;
  const auto parsed = document.parse(value);
  if (!parsed) return {std::string(value), false};
  if (const auto data = parsed.value()["data"].filled_string()) return {std::string(*data), true};
  for (const std::string_view key : {"thought_signature", "thoughtSignature", "signature"}) {
    const auto signature = parsed.value()[key].filled_string();
    if (signature) return {std::string(*signature), false};
  }
  return {std::string(value), false};
}

// The parts of an item of reasoning that have words.
std::string list_of(std::string_view type, std::span<const std::string> texts) {
  std::string list = "[";
  for (const std::string& text : texts) {
    if (text.empty()) continue;
    list.append(list.size() > 1 ? ",{" : "{");
    json::append_member(list, "type", type);
    json::append_member(list, "text", text);
    list.push_back('}');
  }
  return list + "]";
}

}  // namespace

void LobeEncoder::on_encrypted(const event::EncryptedValue& value) {
  const Signature signature = signature_of(value.value);
  const std::string text = scoped(value, signature.text);
  if (value.subtype == "tool-call") return on_tool_piece(value.entity_id, {}, text);
  if (options_.wire == "openai_responses") take_id(value.entity_id, true);
  if (write_all_signatures(value)) return;
  write(signature.redacted ? "flagged_reasoning_signature" : "reasoning_signature", text);
  if (options_.wire == "openai_responses") write_response_item(value);
  summaries_.clear();
}

// Readers join the texts of all reasoning parts and keep the last signature: inside a scope that
// one says which signature belongs to which piece.
bool LobeEncoder::write_all_signatures(const event::EncryptedValue& value) {
  const bool is_scoped = options_.scope != nullptr && !issuer_.empty();
  if (!is_scoped || options_.wire == "openai_responses") return false;
  const auto reasoning_part =
      std::find_if(reasoning_.begin(), reasoning_.end(),
                   [&](const ReasoningPart& known) { return known.id == value.entity_id; });
  if (reasoning_part == reasoning_.end()) return false;
  reasoning_part->value = value.value;
  if (reasoning_.size() == 1) return false;
  std::string list = R"({"blocks":[)";
  for (const ReasoningPart& known : reasoning_) {
    list.append(list.ends_with('[') ? "{" : ",{");
    json::append_member(list, "length", static_cast<std::int64_t>(known.bytes));
    json::append_member(list, "value", known.value, json::Surrogates::keep);
    list.push_back('}');
  }
  list.append("]}");
  write("reasoning_signature", options_.scope(issuer_, list));
  return true;
}

// Inside a scope the value keeps its own shape, so that it comes back as it was.
std::string LobeEncoder::scoped(const event::EncryptedValue& value, std::string_view plain) const {
  if (options_.scope == nullptr || issuer_.empty()) return std::string(plain);
  return options_.scope(issuer_, value.value);
}

// The item as the Responses API takes it back without knowing the conversation: its parts are its
// summary, and from where its state says so its content.
void LobeEncoder::write_response_item(const event::EncryptedValue& value) {
  json::Document document;
  const bool is_known = reasoning_item_.id == value.entity_id && !reasoning_item_.json.empty();
  const auto parsed = document.parse(is_known ? reasoning_item_.json : "{}");
  const json::Value state = parsed ? parsed.value() : json::Value();
  const bool has_content = state["type"].string() == "reasoning_text";
  const auto all = static_cast<std::int64_t>(summaries_.size());
  const std::int64_t given = has_content ? state["summary"].integer().value_or(0) : all;
  const std::span<const std::string> parts(summaries_);
  const auto summaries = static_cast<std::size_t>(std::clamp<std::int64_t>(given, 0, all));
  begin("reasoning_response_item");
  out_.push_back('{');
  json::append_member(out_, "type", "reasoning");
  json::append_member(out_, "id", value.entity_id);
  json::append_raw_member(out_, "summary", list_of("summary_text", parts.first(summaries)));
  if (has_content) {
    json::append_raw_member(out_, "content", list_of("reasoning_text", parts.subspan(summaries)));
  }
  json::append_member(out_, "encrypted_content", scoped(value, value.value));
  if (const auto status = state["status"].filled_string()) {
    json::append_member(out_, "status", *status);
  }
  out_.push_back('}');
  end();
}

}  // namespace millrace::encoder
