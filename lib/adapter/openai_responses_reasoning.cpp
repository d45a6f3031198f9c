// The reasoning of the Responses API: each part is a message of its own; the first one has the
// item's id.
#include "adapter/openai_responses.hpp"

#include <algorithm>
#include <utility>

namespace millrace::adapter {

using openai::ItemGroup;

// The number of the part that an event is about. Where servers leave it out, a part ends with the
// event that has its whole text, or where the next one begins.
std::int64_t OpenAiResponses::reasoning_number(const Item& item, Part part,
                                               const json::Value& number) const {
  const bool is_next =
      item.reasoning_ended && item.reasoning_part == part && item.reasoning_parts > 0;
  return number.integer().value_or(item.number(part, number) + (is_next ? 1 : 0));
}

void OpenAiResponses::give_reasoning(Item& item, Part part, std::int64_t number,
                                     std::string_view text) {
  if (text.empty()) return;
  event::PartTracker& parts = services_.parts;
  if (item.reasoning_parts == 0 || item.reasoning_part != part || item.reasoning_number != number) {
    parts.reasoning_close(item.key);
    const std::string suffix =
        item.reasoning_parts > 0 ? ":" + std::to_string(item.reasoning_parts) : "";
    parts.reasoning_open(item.key, item.id + suffix);
    ++item.reasoning_parts;
    item.reasoning_part = part;
    item.reasoning_number = number;
  }
  item.reasoning_ended = false;
  parts.reasoning_delta(item.key, text);
  item.give(part, number, text);
}

// What the end of a part has beyond its pieces.
void OpenAiResponses::complete_reasoning(Item& item, Part part, std::int64_t number,
                                         std::string_view whole, const json::Value& end) {
  const bool is_new = item.is_new(part, number);
  give_reasoning(item, part, number, is_new ? whole : missing_of(item, part, number, whole, end));
}

// A part that begins with words. Most servers go on with them; others say them again in pieces.
void OpenAiResponses::begin_reasoning(Item& item, Part part, std::int64_t number,
                                      std::string_view text, const json::Value& end) {
  if (text.empty()) return;
  if (item.is_new(part, number)) {
    item.beginnings.edit().push_back({part, number, std::string(text)});
  }
  complete_reasoning(item, part, number, text, end);
}

// What of a piece is not the beginning of its part once more. What may be that waits.
std::string OpenAiResponses::new_of(Item& item, Part part, std::int64_t number,
                                    std::string_view piece) {
  std::string all(piece);
  if (item.beginnings->empty()) return all;
  std::vector<Beginning>& beginnings = item.beginnings.edit();
  const auto begun =
      std::find_if(beginnings.begin(), beginnings.end(), [&](const Beginning& beginning) {
        return beginning.part == part && beginning.number == number;
      });
  if (begun == beginnings.end()) return all;
  const std::string_view rest = std::string_view(begun->text).substr(begun->repeated);
  const std::size_t size = std::min(rest.size(), piece.size());
  const bool is_same = rest.substr(0, size) == piece.substr(0, size);
  all = is_same ? std::string(piece.substr(size))
                : begun->text.substr(0, begun->repeated).append(piece);
  begun->repeated += size;
  if (!is_same || begun->repeated == begun->text.size()) beginnings.erase(begun);
  return all;
}

// The part ends. `has_whole`: its whole text follows and has what waits.
void OpenAiResponses::leave_beginning(Item& item, Part part, std::int64_t number, bool has_whole) {
  if (item.beginnings->empty()) return;
  std::string waiting;
  std::erase_if(item.beginnings.edit(), [&](const Beginning& begun) {
    const bool is_own = begun.part == part && begun.number == number;
    if (is_own && !has_whole) waiting = begun.text.substr(0, begun.repeated);
    return is_own;
  });
  give_reasoning(item, part, number, waiting);
}

void OpenAiResponses::on_reasoning_begun(const json::Value& record, const Row& row) {
  Item* item = find(record, ItemGroup::reasoning);
  const bool has_number = record[row.member].integer().has_value();
  if (item != nullptr && !has_number && item->reasoning_part == row.part) {
    item->reasoning_ended = true;
  }
  on_part_begun(record, row);
}

void OpenAiResponses::on_reasoning_delta(const json::Value& record, const Row& row) {
  Item& item = find_or_add(record, ItemGroup::reasoning);
  if (is_late(item, record["item_id"], record)) return;
  const std::int64_t number = reasoning_number(item, row.part, record[row.member]);
  give_reasoning(item, row.part, number, new_of(item, row.part, number, record["delta"].string()));
}

void OpenAiResponses::on_reasoning_done(const json::Value& record, const Row& row) {
  Item& item = find_or_add(record, ItemGroup::reasoning);
  const std::int64_t number = reasoning_number(item, row.part, record[row.member]);
  leave_beginning(item, row.part, number, record["text"].filled_string().has_value());
  complete_reasoning(item, row.part, number, record["text"].string(), record);
  item.reasoning_ended = true;
  services_.parts.reasoning_close(item.key);
}

void OpenAiResponses::finish_reasoning(Item& item, const json::Value& value) {
  const auto give_rest = [&](Part part, const json::Value& list) {
    std::int64_t number = 0;
    for (const json::Value piece : list.items()) {
      complete_reasoning(item, part, number, piece["text"].string(), piece);
      ++number;
    }
  };
  while (!item.beginnings->empty()) {
    const Part part = item.beginnings->front().part;
    const std::int64_t number = item.beginnings->front().number;
    const json::Value list = value[part == Part::summary ? "summary" : "content"];
    leave_beginning(item, part, number, static_cast<std::int64_t>(list.size()) > number);
  }
  give_rest(Part::summary, value["summary"]);
  give_rest(Part::reasoning_part, value["content"]);
  item.is_whole = item.reasoning_parts > 0;
  event::PartTracker& parts = services_.parts;
  parts.reasoning_close(item.key);
  if (services_.gives_all()) give_reasoning_state(item, value);
  const auto encrypted = value["encrypted_content"].filled_string();
  if (encrypted && item.reasoning_parts > 0) {
    parts.pass(event::EncryptedValue{"message", item.id, *encrypted});
  } else if (encrypted) {
    parts.reasoning_open(item.key, item.id);
    parts.reasoning_encrypted(item.key, *encrypted);
    parts.reasoning_close(item.key);
  }
}

// Reasoning that is more than a summary, or not encrypted: how many of its parts are the summary.
// Of an encrypted summary the status alone. Without words and value it is an item that no reader
// sees.
void OpenAiResponses::give_reasoning_state(Item& item, const json::Value& value) {
  const bool is_encrypted = value["encrypted_content"].filled_string().has_value();
  const bool is_summary = value["content"].size() == 0 || item.reasoning_parts == 0;
  if (is_summary && is_encrypted) {
    if (const json::Value status = value["status"]; status.is_string()) {
      std::string state = R"({"type":"reasoning")";
      json::append_member(state, "status", status.string());
      give_state("item", item.id, state + "}");
    }
    return;
  }
  if (item.reasoning_parts == 0) {
    if (!value["id"].filled_string()) return;
    item.further.edit().clear();
    return give_state("reasoning", item.id, value.to_json());
  }
  std::int64_t summaries = 0;
  for (const json::Value piece : value["summary"].items()) {
    if (!piece["text"].string().empty()) ++summaries;
  }
  std::string state = R"({"type":"reasoning_text")";
  if (summaries > 0) {
    json::append_member(state, "summary", summaries);
  }
  if (const json::Value status = value["status"]; status.is_string()) {
    json::append_member(state, "status", status.string());
  }
  give_state("item", item.id, state + "}");
}

}  // namespace millrace::adapter
