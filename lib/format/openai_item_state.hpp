// The state `item` of a message, a call or a result: what its item in the Responses API has beside
// what is shown.
#pragma once

#include <string>
#include <string_view>

#include "base/json.hpp"
#include "format/openai_names.hpp"
#include "message/json_builder.hpp"
#include "message/message.hpp"

namespace millrace::format::openai {

class ItemState {
 public:
  explicit ItemState(const message::Metadata& metadata) {
    const message::ProviderState* state = metadata.find(items_provider, "item");
    if (state == nullptr) return;
    if (const auto value = document_.parse(state->json)) value_ = value.value();
  }
  ItemState(const ItemState&) = delete;
  ItemState& operator=(const ItemState&) = delete;

  [[nodiscard]] bool exists() const { return value_.exists(); }
  [[nodiscard]] bool is(std::string_view type) const { return value_["type"].string() == type; }
  json::Value operator[](std::string_view key) const { return value_[key]; }
  [[nodiscard]] const json::Value& value() const { return value_; }
  [[nodiscard]] json::Members members() const { return value_.members(); }

 private:
  json::Document document_{message::depth_limit};
  json::Value value_;
};

// Whether the call of a custom tool is one that xAI ran when it searched X: no result is sent for
// it.
// Source: xAI Responses API, recorded answers.
bool is_x_search(std::string_view call_id);

// Whether the item is a call that the provider ran.
bool is_hosted(const ItemState& item);

// The base64 bytes of the image that the call made, or "": what is not stored at the provider
// cannot be found by its id.
std::string image_of(const message::ToolCall& call);

// The arguments of a call: those of its end, where cut ones were shown and are the call's still.
std::string sent_arguments(const message::ToolCall& call, const ItemState& item);

// What the provider ran is written as the item it was, whose result it has.
void write_hosted_call(message::JsonBuilder& out, const message::ToolCall& call,
                       const ItemState& item);

}  // namespace millrace::format::openai
