#include "adapter/reasoning_details.hpp"

#include <algorithm>
#include <utility>

namespace millrace::adapter {

namespace {
constexpr std::size_t limit_bytes = 4UL * 1024 * 1024;
// Of one detail; one that has more is as much too large.
constexpr std::size_t most_members = 256;

std::string_view text_key_of(const json::Value& piece) {
  for (const std::string_view key : {"summary", "thinking"}) {
    if (piece[key].is_string()) return key;
  }
  return "text";
}
}  // namespace

bool ReasoningDetails::is_opaque() const {
  return opaque_ && bytes_ <= limit_bytes;
}

// The latest detail when the piece continues it: encrypted data always stands alone.
ReasoningDetails::Detail& ReasoningDetails::detail_of(const json::Value& piece) {
  const std::string_view type = piece["type"].string();
  const std::int64_t index = piece["index"].integer().value_or(-1);
  const bool alone = !piece["data"].is_nothing();
  if (!alone && !details_.empty()) {
    Detail& last = details_.back();
    const bool is_open = !last.text_key.empty() && !last.is_signed_block;
    if (last.type == type && last.index == index && is_open) return last;
  }
  Detail& detail = details_.emplace_back();
  detail.type = type;
  detail.index = index;
  if (!alone) detail.text_key = text_key_of(piece);
  return detail;
}

void ReasoningDetails::add(const json::Value& piece) {
  if (!piece.is_object() || bytes_ > limit_bytes) return;
  // Pieces of a block have an empty signature before its own.
  const bool is_block = piece["thinking"].is_string();
  const bool is_signed =
      is_block ? piece["signature"].filled_string().has_value() : !piece["signature"].is_nothing();
  opaque_ = opaque_ || !piece["data"].is_nothing() || is_signed;
  Detail& detail = detail_of(piece);
  detail.is_signed_block = is_block && is_signed;
  for (const auto& [key, value] : piece.members()) {
    if (bytes_ > limit_bytes) return;
    if (key == detail.text_key) {
      detail.text.append(value.string());
      bytes_ += value.string().size();
      continue;
    }
    const auto same = [&, &name = key](const auto& member) { return member.first == name; };
    const auto found = std::find_if(detail.members.begin(), detail.members.end(), same);
    if (found == detail.members.end()) {
      detail.members.emplace_back(key, value.to_json(json::Surrogates::keep));
      bytes_ += key.size() + detail.members.back().second.size();
      if (detail.members.size() > most_members) bytes_ = limit_bytes + 1;
    } else if (!value.is_null()) {
      found->second = value.to_json(json::Surrogates::keep);
    }
  }
}

std::string ReasoningDetails::take() {
  std::string out = "[";
  for (const Detail& detail : details_) {
    if (out.size() > 1) out.push_back(',');
    out.push_back('{');
    for (const auto& [key, json] : detail.members) json::append_raw_member(out, key, json);
    if (!detail.text_key.empty())
      json::append_member(out, detail.text_key, detail.text, json::Surrogates::keep);
    out.push_back('}');
  }
  out.push_back(']');
  details_.clear();
  opaque_ = false;
  bytes_ = 0;
  return out;
}

}  // namespace millrace::adapter
