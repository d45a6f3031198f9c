#include "model/payload/item_ids.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_set>

#include "base/json_tree.hpp"
#include "format/openai_names.hpp"
#include "message/shown_hash.hpp"
#include "model/body/fields.hpp"
#include "model/payload/notes.hpp"

namespace millrace::model {
namespace {

using format::PlainReasoning;
using message::Message;
using message::Metadata;
using message::ProviderState;
using message::Role;
using message::ToolCall;

// Takes the id out of the state of an item; gives whether there was one.
bool drop_id(Metadata& metadata) {
  bool is_dropped = false;
  for (ProviderState& state : metadata.provider_state) {
    if (state.provider != format::openai::items_provider || state.kind != "item") continue;
    auto item = json::Tree::parse(state.json);
    if (!item || item.value()["id"].is_null()) continue;
    item.value().erase("id");
    state.json = item.value().to_json();
    is_dropped = true;
  }
  return is_dropped;
}

// Finds the parts of which the reasoning that they came with is gone, or is not sent.
class Unbound {
 public:
  explicit Unbound(PlainReasoning plain) : plain_(plain) {}

  // Takes the next message; gives whether one of its parts is such a part.
  bool add(const Message& message) {
    if (message.role == Role::user) {
      sent_.clear();
      is_behind_left_out_ = false;
    }
    if (message.role == Role::reasoning && message::binds_what_follows(message.id)) {
      add_reasoning(message);
    }
    is_behind_left_out_ = is_behind_left_out_ || format::leaves_silent_reasoning(message, plain_);
    return lacks_reasoning(message.metadata) ||
           std::any_of(message.tool_calls.begin(), message.tool_calls.end(),
                       [&](const ToolCall& call) { return lacks_reasoning(call.metadata); });
  }
  [[nodiscard]] bool lacks_reasoning(const Metadata& metadata) const {
    if (is_behind_left_out_) return true;
    const std::string id = message::reasoning_of(metadata);
    return !id.empty() && !sent_.contains(id);
  }

 private:
  void add_reasoning(const Message& message) {
    // A further part of an item whose first one says what becomes of it.
    if (message.id.find(':') != std::string::npos) return;
    if (format::is_reasoning_written(message, plain_)) {
      sent_.insert(message.id);
    } else {
      is_behind_left_out_ = true;
    }
  }

  PlainReasoning plain_;
  std::unordered_set<std::string> sent_;  // of this turn
  bool is_behind_left_out_ = false;       // reasoning of this turn is left out
};

}  // namespace

PlainReasoning plain_reasoning(const ProviderConfig& config, const ChatPayload& payload) {
  const bool is_stored =
      extra_of(payload, "store") == "true" || extra_of(payload, "background") == "true";
  return is_openai_server(config) && !is_stored ? PlainReasoning::left_out : PlainReasoning::sent;
}

void drop_item_ids(message::SharedMessages& messages, PlainReasoning plain,
                   std::vector<Note>& notes) {
  Unbound unbound(plain);
  std::size_t count = 0;
  for (std::size_t at = 0; at < messages.size(); ++at) {
    if (!unbound.add(messages[at])) continue;
    const bool has_id = messages[at].id.starts_with("msg_");
    if (!has_id && messages[at].tool_calls.empty()) continue;
    Message& message = messages.edit()[at];
    if (has_id && unbound.lacks_reasoning(message.metadata)) {
      message.id.clear();
      drop_id(message.metadata);
      ++count;
    }
    for (ToolCall& call : message.tool_calls) {
      if (unbound.lacks_reasoning(call.metadata) && drop_id(call.metadata)) ++count;
    }
  }
  note_count(notes, "Ids of earlier items are", count,
             "The reasoning that they came with is gone, was changed or is left out.");
}

}  // namespace millrace::model
