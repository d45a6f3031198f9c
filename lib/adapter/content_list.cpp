#include "adapter/content_list.hpp"

#include <algorithm>
#include <cstdint>

namespace millrace::adapter {
namespace {

constexpr auto as_it_is = json::Surrogates::keep;

bool is_plain_text(const json::Value& part) {
  return part["text"].is_string() && part["type"].string() == "text" && part.size() == 2;
}

}  // namespace

void ContentList::add(const json::Value& part, bool goes_on) {
  const std::string_view type = part["type"].string();
  is_own_ = is_own_ || !is_plain_text(part);
  if (type == "thinking") {
    is_foreign_ = is_foreign_ || !part["thinking"].is_array();
    return add_thinking(part, goes_on);
  }
  if (!is_plain_text(part)) {
    is_foreign_ = is_foreign_ || type.empty();
    parts_.push_back({Kind::other, {}, {}, {}, part.to_json(as_it_is)});
    return;
  }
  if (!goes_on || parts_.empty() || parts_.back().kind != Kind::text) {
    parts_.push_back({Kind::text, {}, {}, {}, {}});
  }
  parts_.back().text.append(part["text"].string());
}

void ContentList::add_text(std::string_view text) {
  if (parts_.empty() || text.empty()) return;
  if (parts_.back().kind != Kind::text) parts_.push_back({Kind::text, {}, {}, {}, {}});
  parts_.back().text.append(text);
}

void ContentList::add_thinking(const json::Value& part, bool goes_on) {
  if (!goes_on || parts_.empty() || parts_.back().kind != Kind::thinking) {
    parts_.push_back({Kind::thinking, {}, {}, {}, {}});
  }
  Part& thinking = parts_.back();
  for (const json::Value piece : part["thinking"].items()) {
    if (is_plain_text(piece)) {
      thinking.text.append(piece["text"].string());
      continue;
    }
    append_text(thinking.inner, thinking.text);
    thinking.text.clear();
    if (!thinking.inner.empty()) thinking.inner.push_back(',');
    piece.write(thinking.inner);
  }
  for (const auto& [key, value] : part.members()) {
    if (key == "type" || key == "thinking" || value.is_null()) continue;
    thinking.members.set(key, value.to_json(as_it_is));
  }
}

std::optional<ContentList::State> ContentList::take() {
  std::optional<State> state;
  const bool is_list = std::all_of(parts_.begin(), parts_.end(),
                                   [](const Part& part) { return part.kind == Kind::text; });
  if (parts_.empty() || is_foreign_) {
    // Nothing to keep.
  } else if (is_list) {
    state = State{"openai_chat", "list", lengths()};
  } else if (is_own_ && !is_shown()) {
    state = State{"mistral", "content", "["};
    for (const Part& part : parts_) append(state->json, part);
    state->json.push_back(']');
  }
  *this = ContentList();
  return state;
}

bool ContentList::is_shown() const {
  return parts_.size() == 2 && parts_.front().kind == Kind::thinking &&
         parts_.front().inner.empty() && parts_.back().kind == Kind::text;
}

std::string ContentList::lengths() const {
  std::string out = "[";
  for (const Part& part : parts_) {
    if (out.size() > 1) out.push_back(',');
    out.append(std::to_string(part.text.size()));
  }
  return out + "]";
}

// Appends a text part to elements of an array; an empty one is none.
void ContentList::append_text(std::string& out, std::string_view text) {
  if (text.empty()) return;
  if (!out.empty() && out.back() != '[') out.push_back(',');
  out.push_back('{');
  json::append_member(out, "type", "text");
  json::append_member(out, "text", text, as_it_is);
  out.push_back('}');
}

void ContentList::append(std::string& out, const Part& part) {
  if (part.kind == Kind::text) return append_text(out, part.text);
  if (out.back() != '[') out.push_back(',');
  if (part.kind == Kind::other) {
    out.append(part.json);
    return;
  }
  std::string pieces = part.inner;
  append_text(pieces, part.text);
  out.push_back('{');
  json::append_member(out, "type", "thinking");
  json::append_raw_member(out, "thinking", "[" + pieces + "]");
  part.members.append_to(out);
  out.push_back('}');
}

}  // namespace millrace::adapter
