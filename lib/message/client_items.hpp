// Items of OpenAI's Responses API whose calls the host runs, as a client may give them: the members
// that such an item needs, and no other.
// Source: OpenAI API reference, Responses, "input" (2026).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "message/message.hpp"

namespace millrace::message {

// What was taken out of the messages of a client.
struct Withheld {
  std::size_t count = 0;
  std::string names;  // of these, each once, as far as there is room

  void add(std::string_view name);
};

// The row of one type of item.
struct ClientItem;

// The row whose calls, or whose outputs, are of this type; or nullptr. Lifetime: of the program.
const ClientItem* find_client_item(std::string_view type);

// Trims the state of an item to the members that a client may give; false for any other state,
// which it leaves alone. What the call or the result shows itself is left out as well, without a
// name.
bool trim_client_state(ProviderState& state, Withheld& withheld);
// The same of the arguments of such a call, and of what such a call returned: what is no JSON of
// the vendor's stays the text that it is.
void trim_client_arguments(std::string& arguments, const ClientItem& item, Withheld& withheld);
void trim_client_result(Content& content, const ClientItem& item, Withheld& withheld);

}  // namespace millrace::message
