// What a provider needs again unchanged, under LobeHub's names: signatures of reasoning and items
// of an answer.
#include <algorithm>
#include <utility>

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

// The item as the Responses API takes it back without knowing the conversation.
void LobeEncoder::write_response_item(const event::EncryptedValue& value) {
  begin("reasoning_response_item");
  out_.push_back('{');
  json::append_member(out_, "type", "reasoning");
  json::append_member(out_, "id", value.entity_id);
  std::string list = "[";
  for (const std::string& summary : summaries_) {
    if (summary.empty()) continue;
    list.append(list.size() > 1 ? "," : "").append(R"({"type":"summary_text")");
    json::append_member(list, "text", summary);
    list.push_back('}');
  }
  json::append_raw_member(out_, "summary", list + "]");
  json::append_member(out_, "encrypted_content", scoped(value, value.value));
  out_.push_back('}');
  end();
}

}  // namespace millrace::encoder
