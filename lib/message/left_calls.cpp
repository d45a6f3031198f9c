#include "message/left_calls.hpp"

#include <utility>

#include "base/json_tree.hpp"
#include "message/part_order.hpp"

namespace millrace::message {
namespace {

bool is_outside_answers(Role role) {
  return role == Role::user || role == Role::system || role == Role::developer;
}

void erase_from_order(Metadata& metadata, const std::unordered_set<std::string>& ids) {
  auto order = json::Tree::parse(*metadata.order);
  if (!order) return;
  const std::size_t erased = std::erase_if(order.value().items(), [&](const json::Tree& entry) {
    return entry["type"].string() == name_of(PartKind::call) &&
           ids.contains(std::string(entry["id"].string()));
  });
  if (erased == 0) return;
  metadata.order.edit() = order.value().items().empty() ? std::string() : order.value().to_json();
}

}  // namespace

void erase_from_orders(Messages& messages, const LeftCalls& calls) {
  if (calls.empty()) return;
  for (std::size_t begin = 0; begin < messages.size(); ++begin) {
    std::unordered_set<std::string> ids;
    std::size_t end = begin;
    for (; end < messages.size() && !is_outside_answers(messages[end].role); ++end) {
      const auto left = calls.find(end);
      if (left != calls.end()) ids.insert(left->second.begin(), left->second.end());
    }
    for (std::size_t at = begin; at < end && !ids.empty(); ++at) {
      Metadata& metadata = messages[at].metadata;
      if (!metadata.order->empty()) erase_from_order(metadata, ids);
    }
    begin = end;
  }
}

void erase_calls(Message& message, std::size_t place, const LeftCalls& calls) {
  const auto left = calls.find(place);
  if (left == calls.end()) return;
  std::erase_if(message.tool_calls,
                [&](const ToolCall& call) { return left->second.contains(call.id); });
}

}  // namespace millrace::message
