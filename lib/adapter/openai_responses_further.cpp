// What the items of a response have beside what their events show.
#include <array>
#include <span>
#include <utility>

#include "adapter/further_members.hpp"
#include "adapter/openai_responses.hpp"
#include "base/json_depth.hpp"
#include "base/json_members.hpp"

namespace millrace::adapter {
namespace {

using openai::ItemGroup;
using openai::ItemType;

constexpr std::array<std::string_view, 6> of_message{"type", "id",      "status",
                                                     "role", "content", "phase"};
constexpr std::array<std::string_view, 6> of_reasoning{"type",    "id",      "status",
                                                       "summary", "content", "encrypted_content"};
constexpr std::array<std::string_view, 10> of_call{"type",   "id",        "status", "call_id",
                                                   "name",   "arguments", "input",  "namespace",
                                                   "caller", "async"};
constexpr std::array<std::string_view, 8> of_result{"type",   "id",   "status",    "call_id",
                                                    "output", "name", "namespace", "caller"};
constexpr std::array<std::string_view, 2> of_piece{"type", "text"};

// The members of an item that are shown or are its state; none of an item that is its state as it
// is.
std::span<const std::string_view> known_members(const ItemType& type) {
  switch (type.group) {
    case ItemGroup::message: return of_message;
    case ItemGroup::reasoning: return of_reasoning;
    case ItemGroup::call:
      if (!type.hosted && type.tool.empty()) return of_call;
      break;
    case ItemGroup::result:
      if (openai::item_type(type.answers).tool.empty()) return of_result;
      break;
    case ItemGroup::other: break;
  }
  return {};
}

// Further members of the pieces of reasoning. One without words shows nothing: it is kept with its
// text.
void add_pieces(std::string& members, std::string_view name, const json::Value& list) {
  std::string pieces = "[";
  bool has_any = false;
  for (const json::Value piece : list.items()) {
    std::string further = piece.size() > 2 ? json::further_members(piece, of_piece) : std::string();
    if (piece["text"].string().empty()) json::append_member(further, "text", "");
    has_any = has_any || !further.empty();
    if (pieces.size() > 1) pieces.push_back(',');
    pieces.append("{").append(further).append("}");
  }
  if (has_any) json::append_raw_member(members, name, pieces + "]");
}

}  // namespace

// Of two members with one name that of the item's end counts.
void OpenAiResponses::take_further(Item& item, const json::Value& value) {
  const auto known = known_members(*item.type);
  if (known.empty() || !services_.gives_all()) return;
  std::string members = json::further_members(value, known);
  if (item.type->group == ItemGroup::reasoning) {
    add_pieces(members, "summary", value["summary"]);
    add_pieces(members, "content", value["content"]);
  }
  if (members.empty()) return;
  add_further(members, *item.further);
  item.further = std::move(members);
}

// The id under which a reader knows the item; "" for one that shows nothing.
std::string_view OpenAiResponses::entity_of(const Item& item, const json::Value& value) {
  if (item.type->group == ItemGroup::call) return item.call_id;
  const bool is_silent = item.type->group == ItemGroup::reasoning && item.reasoning_parts == 0 &&
                         !value["encrypted_content"].filled_string();
  return is_silent ? std::string_view() : std::string_view(item.id);
}

void OpenAiResponses::give_further(Item& item, std::string_view entity) {
  if (item.further->empty()) return;
  const std::string members = "{" + std::exchange(item.further.edit(), {}) + "}";
  if (!entity.empty()) return give_state(members_kind, entity, members);
  json::Document document(json::data_depth_limit);
  if (const auto value = document.parse(members)) {
    UnknownMembers::note(services_.facts, item.type->type, value.value(), {});
  }
}

}  // namespace millrace::adapter
