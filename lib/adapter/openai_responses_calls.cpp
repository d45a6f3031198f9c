// The calls of the Responses API, those that it runs itself among them, and their results.
#include <algorithm>
#include <utility>

#include "adapter/openai_responses.hpp"

namespace millrace::adapter {

using openai::ItemGroup;
using openai::ItemType;

// The message that holds the calls: the text before them, or one named after the response.
std::string_view OpenAiResponses::call_holder() {
  if (!message_id_.empty()) return message_id_;
  if (holder_.empty()) holder_ = std::exchange(response_id_, {});
  if (holder_.empty()) holder_ = services_.ids.next_id();
  return holder_;
}

// The API takes a thought back only before the call it led to, so that the calls behind a thought
// are another message's than those before it.
void OpenAiResponses::part_calls() {
  message_id_.clear();
  holder_.clear();
}

void OpenAiResponses::open_call(Item& item, const json::Value& value) {
  const ItemType& type = *item.type;
  const std::optional<std::int64_t> index =
      item.index < 0 ? std::nullopt : std::optional(item.index);
  if (item.tool.empty()) item.tool = openai::tool_of(type, value);
  if (item.call_id.empty()) item.call_id = openai::call_id_of(type, value, index);
  if (item.call_id.empty() && type.hosted) item.call_id = services_.ids.next_id();
  // A result follows a hosted call at once, so that it is a message of its own.
  const bool held = services_.mode == event::Mode::strict && !type.hosted;
  services_.parts.tool_open(item.key, item.call_id, item.tool,
                            held ? call_holder() : std::string_view(), type.hosted);
  if (type.result_kind == openai::Content::listing && !item.ended) {
    give_arguments(item, openai::arguments_of(type, value));
    end_call(item);
  }
}

// Arguments that came with the item are the call's when nobody else gives them, and their beginning
// when deltas go on with them. Deltas behind a whole value say it again, or take its place.
void OpenAiResponses::give_announced(Item& item, bool more_follow) {
  if (item.announced.empty()) return;
  const std::string text = std::exchange(item.announced, {});
  if (more_follow && json::Document().parse(text).ok()) return;
  item.has_arguments = true;
  give_arguments(item, text);
}

void OpenAiResponses::give_arguments(Item& item, std::string_view piece) {
  if (!piece.empty()) {
    Arguments& arguments = item.arguments ? *item.arguments : item.arguments.emplace();
    arguments.given.add(piece);
    arguments.balance.feed(piece);
  }
  services_.parts.tool_args(item.key, piece);
}

// Arguments of what ends the call: all of them when no delta brought any, else what it has beyond
// the deltas.
void OpenAiResponses::give_whole(Item& item, std::string_view arguments, const json::Value& end) {
  if (arguments.empty()) {
    if (!item.has_arguments) give_announced(item, false);
    return;
  }
  if (!item.arguments && !item.ended) {
    item.has_arguments = true;
    return give_arguments(item, arguments);
  }
  if (!services_.gives_all()) return;
  Arguments& known = item.arguments ? *item.arguments : item.arguments.emplace();
  const auto rest = known.given.rest(arguments, item.type->arguments != "input");
  if ((rest && rest->empty()) || known.whole == arguments) return;
  if (rest && !item.ended && known.whole.empty()) return give_arguments(item, *rest);
  known.whole = arguments;
  skip(end, "The end of a call has other arguments than its pieces, which are shown.");
}

// A call of which neither an end came nor all of its arguments, in a response that is complete.
bool OpenAiResponses::has_cut_call() const {
  return std::any_of(items_.begin(), items_.end(), [](const Item& item) {
    const bool is_open = !item.done && !item.ended && item.arguments.has_value();
    return is_open && item.type->arguments != "input" && item.arguments->balance.is_cut();
  });
}

void OpenAiResponses::end_call(Item& item) {
  item.ended = true;
  services_.parts.tool_close(item.key);
}

// The open call that a piece of arguments is about.
OpenAiResponses::Item* OpenAiResponses::call_of(const json::Value& record) {
  Item* item = find(record, ItemGroup::call);
  if (item != nullptr && !item->ended) return item;
  const bool is_named = item != nullptr && item->late_named;
  if (is_named || !services_.gives_all() || std::exchange(lost_arguments_, true)) return nullptr;
  skip(record, "Arguments of a call that was not open were skipped, and so are those after them.");
  return nullptr;
}

void OpenAiResponses::on_arguments_delta(const json::Value& record, const Row& /*row*/) {
  Item* item = call_of(record);
  if (item == nullptr) return;
  const json::Value delta = record["delta"];
  if (delta.truthy()) give_announced(*item, true);
  item->has_arguments = item->has_arguments || delta.truthy();
  if (delta.is_string()) {
    give_arguments(*item, delta.string());
  } else {
    give_arguments(*item, openai::text_or_json(delta));
  }
}

void OpenAiResponses::on_arguments_done(const json::Value& record, const Row& row) {
  const std::string arguments = openai::text_or_json(record[row.member]);
  Item* ended = find(record, ItemGroup::call);
  if (ended != nullptr && ended->ended) return give_whole(*ended, arguments, record);
  Item* item = call_of(record);
  if (item == nullptr) return;
  if (const auto name = record["name"].filled_string(); name && item->tool.empty()) {
    item->tool = *name;
    services_.parts.tool_open(item->key, item->call_id, *name);
  }
  give_whole(*item, arguments, record);
  // The end of the item may have them.
  const bool may_follow = arguments.empty() && !item->arguments;
  if (!may_follow || services_.mode == event::Mode::as_received) end_call(*item);
}

// The items whose own end did not come.
void OpenAiResponses::finish_open(const json::Value& response) {
  if (services_.mode != event::Mode::strict) return;
  std::int64_t index = 0;
  for (const json::Value value : response["output"].items()) {
    const std::int64_t place = index++;
    if (!value.is_object() || openai::is_foreign(value)) continue;
    const ItemType& type = openai::item_type(value);
    Item* known = find_same(type, value, place);
    if (known == nullptr && is_unknown(type, response["output"])) known = &announce(value, place);
    if (known == nullptr) continue;
    known->done ? compare(*known, value) : end_item(*known, value);
  }
  for (Item& item : items_) {
    if (!item.done && !item.ended && !item.has_arguments) give_announced(item, false);
    if (!item.done) give_further(item, entity_of(item, {}));
  }
}

// Whether the output has more items of a type than came; servers may name and number them anew.
bool OpenAiResponses::is_unknown(const ItemType& type, const json::Value& output) const {
  if (has_forgotten_) return false;
  const auto known = std::count_if(items_.begin(), items_.end(),
                                   [&](const Item& item) { return item.type == &type; });
  std::ptrdiff_t count = 0;
  for (const json::Value value : output.items()) count += &openai::item_type(value) == &type;
  return count > known;
}

void OpenAiResponses::finish_call(Item& item, const json::Value& value) {
  const bool is_cut = !item.type->hosted && value["status"].string() == "incomplete";
  const bool is_strict = services_.mode == event::Mode::strict;
  has_incomplete_call_ = has_incomplete_call_ || (is_cut && is_strict);
  const bool is_ended = item.ended;
  if (!is_ended) open_call(item, value);  // its id or its name may be known only now
  give_whole(item, openai::arguments_of(*item.type, value), value);
  if (!is_ended) {
    // In strict mode the result ends the call, so that nothing comes between them.
    if (!item.type->hosted || services_.mode == event::Mode::as_received) end_call(item);
  }
  give_state("item", item.call_id, call_state(item, value));
  if (!item.type->hosted) return;
  if (services_.gives_all()) {
    give_state("image", item.call_id, openai::image_of(*item.type, value));
  }
  const std::string content = openai::result_of(*item.type, value);
  const auto failure = openai::failure_of(item.tool, value);
  give_result({}, item.call_id, content, failure);
}

// `id` is the item's; a message must not have the id of the call in strict mode, where the call
// itself may be the message that has it.
std::string OpenAiResponses::give_result(std::string_view id, std::string_view call_id,
                                         std::string_view content,
                                         const std::optional<std::string>& failure) {
  std::string message_id(id);
  if (id.empty()) message_id = call_id;
  if (services_.mode == event::Mode::strict && message_id == call_id) message_id += "-output";
  event::ToolResult result;
  result.message_id = message_id;
  result.id = call_id;
  result.content = content;
  result.failed = failure.has_value();
  if (failure) result.error = *failure;
  services_.parts.tool_result(result);
  return message_id;
}

// The tool that a result of its own item is of.
std::string_view OpenAiResponses::tool_of(const Item& result) const {
  return openai::item_type(result.type->answers).tool;
}

// A result that is an item of its own.
void OpenAiResponses::give_output(Item& item, const json::Value& value) {
  const bool strict = services_.mode == event::Mode::strict;
  const json::Value output = value[item.type->result];
  // It is announced before all of it is there.
  if (strict && !item.done && value["status"].string() == "in_progress") return;
  item.ended = true;
  // Programs that came with other adapters parse a list themselves.
  const std::string content =
      strict ? openai::result_of(*item.type, value) : openai::text_or_json(output);
  std::string call_id(value["call_id"].string());
  if (call_id.empty()) {
    const auto call = std::find_if(items_.rbegin(), items_.rend(), [&](const Item& other) {
      return other.type->type == item.type->answers;
    });
    if (call != items_.rend()) call_id = call->call_id;
  }
  const std::string id =
      give_result(value["id"].string(), call_id, content,
                  strict ? openai::failure_of(tool_of(item), value) : std::nullopt);
  if (strict) give_state("item", id, openai::output_state_of(*item.type, value));
  give_further(item, id);
}

}  // namespace millrace::adapter
