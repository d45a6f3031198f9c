// The items of a response: which one an event is about, how it begins and how it ends.
#include <algorithm>
#include <iterator>
#include <utility>

#include "adapter/openai_responses.hpp"
#include "base/bytes.hpp"
#include "base/error.hpp"

namespace millrace::adapter {
namespace {

constexpr std::ptrdiff_t items_limit = 1024;

}  // namespace

using openai::ItemGroup;
using openai::ItemType;

// The item that an event is about: by its id, else by its index, else the last one.
OpenAiResponses::Item* OpenAiResponses::find(const json::Value& record, ItemGroup group) {
  const std::string_view id = record["item_id"].string();
  const auto index = record["output_index"].integer();
  Item* by_index = nullptr;
  for (auto item = items_.rbegin(); item != items_.rend(); ++item) {
    if (item->type->group != group) continue;
    // An item without an id is spoken of by the id of its call.
    const std::string& known_as = item->id.empty() ? item->call_id : item->id;
    if (id.empty() ? !index : same_text(known_as, id)) return &*item;
    if (by_index == nullptr && index && item->index == *index) by_index = &*item;
  }
  return by_index;
}

OpenAiResponses::Item& OpenAiResponses::find_or_add(const json::Value& record, ItemGroup group) {
  if (Item* item = find(record, group)) return *item;
  const std::string_view type = group == ItemGroup::message ? "message" : "reasoning";
  return add(openai::item_type(type), record["item_id"].string(), record["output_index"].integer());
}

// The item that was announced as `item` was, whose id may have changed since.
OpenAiResponses::Item* OpenAiResponses::find_same(const ItemType& type, const json::Value& item,
                                                  std::optional<std::int64_t> index) {
  const std::string_view id = item["id"].string();
  const std::string_view call_id = item["call_id"].string();
  const auto same = [&](const Item& known) {
    if (known.type != &type) return false;
    if (!id.empty() && known.id == id) return true;
    const bool same_call =
        !type.by_call_id || call_id.empty() || known.call_id.empty() || known.call_id == call_id;
    return same_call && (index ? known.index == *index : id.empty() && !known.done);
  };
  const auto found = std::find_if(items_.rbegin(), items_.rend(), same);
  return found == items_.rend() ? nullptr : &*found;
}

OpenAiResponses::Item& OpenAiResponses::add(const ItemType& type, std::string_view id,
                                            std::optional<std::int64_t> index) {
  // Late events about items of long ago find nothing; the search for the others stays short.
  if (std::ssize(items_) >= items_limit) {
    items_.erase(items_.begin(), items_.begin() + items_limit / 2);
    has_forgotten_ = true;
  }
  Item& item = items_.emplace_back();
  item.type = &type;
  item.id = id;
  item.index = index.value_or(-1);
  item.key = "item " + std::to_string(++items_seen_);
  const bool shows_id = type.group == ItemGroup::message || type.group == ItemGroup::reasoning;
  if (id.empty() && shows_id) item.id = services_.ids.next_id();
  if (type.group == ItemGroup::message) message_id_ = item.id;
  if (type.group == ItemGroup::reasoning) part_calls();
  return item;
}

void OpenAiResponses::on_item_added(const json::Value& record, const Row& /*row*/) {
  const json::Value value = record["item"];
  if (!value.is_object() || openai::is_foreign(value)) return;
  const auto index = record["output_index"].integer();
  Item* known = find_same(openai::item_type(value), value, index);
  if (known != nullptr && is_late(*known, value["id"], record)) return;
  if (known != nullptr && !known->done) return;
  Item& item = announce(value, index);
  item.begun = true;
  if (item.type->group != ItemGroup::reasoning || services_.mode != event::Mode::strict) return;
  // Servers may give a summary here alone, or its first words.
  std::int64_t number = 0;
  for (const json::Value piece : value["summary"].items()) {
    begin_reasoning(item, Part::summary, number++, piece["text"].string(), piece);
  }
}

// Whether an event is about an item that has ended with all that it says, which the event says
// again. Several items may have one id: then their numbers tell them apart, and without those, that
// the item had a beginning.
bool OpenAiResponses::is_late(Item& item, const json::Value& id, const json::Value& record) {
  if (!item.is_whole || services_.mode != event::Mode::strict) return false;
  const auto index = record["output_index"].integer();
  if (!id.truthy() || id.string() != item.id) return false;
  if (index ? *index != item.index : item.begun) return false;
  if (std::exchange(item.late_named, true)) return true;
  skip(record, "A piece of an item that had already ended was skipped, and so are those after it.");
  return true;
}

void OpenAiResponses::skip(const json::Value& record, std::string_view sentence) {
  const std::string payload = redacted(record.to_json(), 256);
  services_.parts.pass(event::Warning{row_of(Errc::record_skipped).code, sentence, payload});
}

OpenAiResponses::Item& OpenAiResponses::announce(const json::Value& value,
                                                 std::optional<std::int64_t> index) {
  Item& item = add(openai::item_type(value), value["id"].string(), index);
  if (item.type->group == ItemGroup::message) services_.parts.text_open(item.key, item.id);
  if (item.type->group == ItemGroup::call) {
    open_call(item, value);
    if (!item.ended) item.announced = openai::arguments_of(*item.type, value);
  }
  take_further(item, value);
  if (item.type->type == "function_call_output") give_output(item, value);
  return item;
}

void OpenAiResponses::on_item_done(const json::Value& record, const Row& /*row*/) {
  finish_item(record["item"], record["output_index"].integer());
}

void OpenAiResponses::finish_item(const json::Value& value, std::optional<std::int64_t> index) {
  if (!value.is_object() || openai::is_foreign(value)) return;
  const ItemType& type = openai::item_type(value);
  Item* known = find_same(type, value, index);
  if (known != nullptr && known->done) return;
  end_item(known != nullptr ? *known : announce(value, index), value);
}

void OpenAiResponses::end_item(Item& item, const json::Value& value) {
  item.done = true;
  item.is_whole = true;
  take_further(item, value);
  switch (item.type->group) {
    case ItemGroup::message: finish_message(item, value); break;
    case ItemGroup::reasoning: finish_reasoning(item, value); break;
    case ItemGroup::call: finish_call(item, value); break;
    case ItemGroup::result:
      if (!item.ended) give_output(item, value);
      break;
    case ItemGroup::other:
      give_state(value["type"].string(), value["id"].string(), value.to_json());
      break;
  }
  give_further(item, entity_of(item, value));
  item.is_over = true;
}

}  // namespace millrace::adapter
