#include "model/payload/spelled_order.hpp"

#include "message/parts.hpp"

namespace millrace::model {
namespace {

using message::Content;
using message::PartKind;

constexpr std::string_view paragraph = "\n\n";

}  // namespace

void SpelledText::add_words(std::string_view words) {
  if (words.empty()) return;
  if (ends_in_call_) text_.append(paragraph);
  ends_in_call_ = false;
  text_.append(words);
}

void SpelledText::add_call(std::string_view text) {
  if (!text_.empty()) text_.append(paragraph);
  ends_in_call_ = true;
  text_.append(text);
}

Content with_text(const Content& content, const std::string& text) {
  if (content.kind != Content::Kind::parts) return Content::of_text(text);
  message::JsonBuilder out(json::Surrogates::keep);
  out.open_array();
  message::write_text_part(out, text);
  const message::Parts parts(content);
  for (const json::Value part : parts.items()) {
    if (part["type"].string() != "text") out.value(part);
  }
  out.close_array();
  return Content::of_parts(out.take());
}

void SpelledOrder::add_text(std::size_t message, std::size_t begin, std::size_t end) {
  if (begin == end) return;
  const bool goes_on =
      !rows_.empty() && rows_.back().kind == PartKind::text && rows_.back().at == message;
  if (goes_on) {
    rows_.back().end = end;
  } else {
    rows_.push_back({PartKind::text, message, nullptr, begin, end});
  }
}

std::string SpelledOrder::json(const SpelledTexts& texts) const {
  std::string out = "[";
  for (const Row& row : rows_) append(out, row, texts);
  return out + "]";
}

void SpelledOrder::append(std::string& out, const Row& row, const SpelledTexts& texts) const {
  const message::Message& message = messages_[row.at];
  message::OrderEntry entry{row.kind, message.id};
  switch (row.kind) {
    case PartKind::text: {
      const std::string_view text = texts.at(row.at).text();
      entry.hash = message::PartHash(text.substr(row.begin, row.end - row.begin));
      break;
    }
    case PartKind::reasoning:
      entry.hash = message::PartHash(message::text_of(message.content));
      break;
    case PartKind::item:
      entry.item_kind = row.part->state->kind;
      entry.at = static_cast<std::size_t>(row.part->state - message.metadata.provider_state.data());
      break;
    case PartKind::call:
      entry.id = row.part->call->id;
      entry.hash = message::PartHash(row.part->call->arguments);
      break;
    case PartKind::result: entry.id = row.part->call->id; break;
  }
  message::append_entry(out, entry);
}

}  // namespace millrace::model
