#include "model/payload/row_members.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/json.hpp"
#include "format/further_members.hpp"
#include "format/openai_names.hpp"
#include "model/call/scope.hpp"

namespace millrace::model {
namespace {

constexpr std::string_view left_out_kind = "left_out";

// Names, each once; of very many the first ones and "...".
class RowNames {
 public:
  void add(std::string_view name) {
    constexpr std::size_t most = 64;
    if (std::find(names_.begin(), names_.end(), name) != names_.end()) return;
    if (names_.size() < most) {
      names_.emplace_back(name);
    } else if (names_.back() != "...") {
      names_.emplace_back("...");
    }
  }
  // Those of an object's members, behind their place; within the function of a call both are named.
  void add_members(const std::string& place, const json::Value& members) {
    constexpr std::size_t most_bytes = 64;
    for (const auto& [key, value] : members.members()) {
      const std::string name = place + redacted(key, most_bytes);
      const bool is_body = !place.empty() && (key == "function" || key == "custom");
      if (is_body && value.is_object()) {
        add_members(name + ".", value);
      } else {
        add(name);
      }
    }
  }
  [[nodiscard]] bool empty() const { return names_.empty(); }
  [[nodiscard]] std::string json() const {
    std::string list = "[";
    for (const std::string& name : names_) {
      if (list.size() > 1) list.push_back(',');
      json::append_string(list, name);
    }
    return list + "]";
  }
  [[nodiscard]] std::string text() const {
    std::string list;
    for (const std::string& name : names_) list.append(list.empty() ? "" : ", ").append(name);
    return list;
  }

 private:
  std::vector<std::string> names_;
};

void take_members(message::Metadata& metadata, const std::string& place, RowNames& names) {
  std::erase_if(metadata.provider_state, [&](const message::ProviderState& state) {
    const bool is_further =
        state.provider == format::openai::provider && state.kind == format::further_kind;
    if (!is_further) return false;
    json::Document document(message::depth_limit);
    if (const auto members = document.parse(state.json)) names.add_members(place, members.value());
    return true;
  });
}

bool is_left_out(const message::ProviderState& state) {
  return state.provider == issuer_provider && state.kind == left_out_kind;
}

}  // namespace

void leave_out_row_members(message::Messages& messages) {
  for (message::Message& message : messages) {
    RowNames names;
    take_members(message.metadata, {}, names);
    for (message::ToolCall& call : message.tool_calls) {
      take_members(call.metadata, "tool_calls.", names);
    }
    if (!names.empty()) message.metadata.add(issuer_provider, left_out_kind, names.json());
  }
}

void note_row_members(message::SharedMessages& messages, std::vector<Note>& notes) {
  RowNames names;
  for (std::size_t at = 0; at < messages.size(); ++at) {
    const auto* state = messages[at].metadata.find(issuer_provider, left_out_kind);
    if (state == nullptr) continue;
    json::Document document;
    if (const auto list = document.parse(state->json)) {
      for (const json::Value name : list.value().items()) names.add(name.string());
    }
    std::erase_if(messages.edit()[at].metadata.provider_state, is_left_out);
  }
  if (names.empty()) return;
  notes.push_back({"messages", "Members of messages are left out: " + names.text() +
                                   ". Name the `format` of the messages to send its members."});
}

}  // namespace millrace::model
