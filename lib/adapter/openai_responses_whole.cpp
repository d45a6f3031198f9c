// What the ends of parts, items and responses have beyond the pieces that came: it is shown where
// the pieces are its beginning, else named. Of a text, the end of the item is what goes back; of
// a call, what was shown and could run.
#include <map>

#include "adapter/openai_responses.hpp"

namespace millrace::adapter {

using openai::ItemGroup;

// What of the end of a part is still to be shown. `end` is the record, or the part itself. Behind
// another part it would be at the wrong place.
std::string_view OpenAiResponses::missing_of(Item& item, Part part, std::int64_t number,
                                             std::string_view whole, const json::Value& end) {
  const auto found = item.texts.find({part, number});
  if (whole.empty() || found == item.texts.end() || !services_.gives_all()) return {};
  Given& given = found->second;
  const auto rest = given.text.rest(whole);
  if ((rest && rest->empty()) || given.whole == whole) return {};
  const bool is_last = number == item.given[Item::at(part)];
  if (rest && is_last && given.whole.empty() && may_follow(item)) return *rest;
  given.whole = whole;
  skip(end, "The end of a part has another text than its pieces, which are shown.");
  return {};
}

// Whether the part that was given last can go on.
bool OpenAiResponses::may_follow(const Item& item) const {
  const bool is_text = item.type->group == ItemGroup::message;
  const bool is_strict = services_.mode == event::Mode::strict;
  return !item.is_over && ((is_text && is_strict) || services_.parts.is_open(item.key));
}

void OpenAiResponses::complete_text(Item& item, std::int64_t number, std::string_view whole,
                                    const json::Value& end) {
  const bool is_new = item.is_new(Part::text, number);
  const std::string_view text = is_new ? whole : missing_of(item, Part::text, number, whole, end);
  if (!text.empty()) give_text(item, text);
  item.give(Part::text, number, text);
}

// A part may begin with words, with which its pieces go on.
// Source: openai-node 7.57.0, `ResponsesWebSocketAccumulator`.
void OpenAiResponses::on_part_begun(const json::Value& record, const Row& row) {
  const json::Value part = record["part"];
  const std::string_view type = part["type"].string();
  const bool is_refusal = type == refusal_kind;
  const bool is_text = is_refusal || type == "output_text";
  const std::string_view text = part[is_refusal ? refusal_kind : "text"].string();
  if (text.empty() || services_.mode == event::Mode::as_received) return;
  Item& item = find_or_add(record, is_text ? ItemGroup::message : ItemGroup::reasoning);
  if (is_late(item, record["item_id"], record)) return;
  if (is_refusal) reject(item);
  const json::Value number = record[row.member];
  if (is_text) return complete_text(item, item.number(Part::text, number), text, part);
  const Part kind = type == "reasoning_text" ? Part::reasoning_part : row.part;
  begin_reasoning(item, kind, reasoning_number(item, kind, number), text, part);
}

// The end of a part has its text again. Without a number it is not known which part of reasoning
// ended.
void OpenAiResponses::on_part_done(const json::Value& record, const Row& row) {
  if (services_.mode == event::Mode::as_received) return;
  const json::Value part = record["part"];
  const json::Value number = record[row.member];
  const std::string_view type = part["type"].string();
  const bool is_refusal = type == refusal_kind;
  const bool is_text = is_refusal || type == "output_text";
  const std::string_view text = part[is_refusal ? refusal_kind : "text"].string();
  Item* item = find(record, is_text ? ItemGroup::message : ItemGroup::reasoning);
  if (item == nullptr || item->is_whole || text.empty()) return;
  if (is_refusal) reject(*item);
  if (is_text) return complete_text(*item, item->number(Part::text, number), text, part);
  if (!number.integer()) return;
  const Part kind = type == "reasoning_text" ? Part::reasoning_part : row.part;
  complete_reasoning(*item, kind, *number.integer(), text, part);
}

// The end of a response has an item again that had ended. What it has otherwise is named only: the
// item's own end goes back. Citations may stand nowhere else.
void OpenAiResponses::compare(Item& item, const json::Value& value) {
  const auto each = [&](Part part, const json::Value& list) {
    std::int64_t number = 0;
    for (const json::Value piece : list.items()) {
      const bool is_refusal = piece["type"].string() == refusal_kind;
      const std::string_view text = piece[is_refusal ? refusal_kind : "text"].string();
      if (!missing_of(item, part, number, text, piece).empty()) break;
      ++number;
    }
  };
  switch (item.type->group) {
    case ItemGroup::message:
      each(Part::text, value["content"]);
      cite(item, value["content"]);
      break;
    case ItemGroup::reasoning:
      each(Part::summary, value["summary"]);
      each(Part::reasoning_part, value["content"]);
      break;
    case ItemGroup::call: give_whole(item, openai::arguments_of(*item.type, value), value); break;
    case ItemGroup::result:
    case ItemGroup::other: break;
  }
}

// See openai::content_of.
std::string OpenAiResponses::content_state(const Item& item, const json::Value& value) {
  std::map<std::int64_t, TextHash> shown;
  for (const auto& [place, given] : item.texts) {
    const bool is_other = place.first == Part::text && !given.whole.empty();
    if (is_other) shown.emplace(place.second, given.text.shown());
  }
  return openai::content_of(value, shown);
}

// See openai::state_of. Arguments that were shown and are cut cannot be run: those of the end go
// back instead, with the hash of what was shown.
std::string OpenAiResponses::call_state(const Item& item, const json::Value& value) {
  std::string state = openai::state_of(*item.type, value);
  if (item.type->hosted || !item.arguments || item.arguments->whole.empty()) return state;
  if (item.type->arguments == "input" || !item.arguments->balance.is_cut()) return state;
  if (state.empty()) {
    state = "{";
    json::append_member(state, "type", item.type->type);
  } else {
    state.pop_back();
  }
  std::string whole = "{";
  json::append_member(whole, "hash", item.arguments->given.shown().text());
  json::append_member(whole, "arguments", item.arguments->whole, json::Surrogates::keep);
  json::append_raw_member(state, "whole", whole + "}");
  return state + "}";
}

}  // namespace millrace::adapter
