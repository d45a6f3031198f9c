// The dialects of chat APIs as data: where a chat goes, which wire answers, how its body is built.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "message/message.hpp"
#include "model/payload/payload.hpp"
#include "model/payload/request.hpp"
#include "model/provider/config.hpp"
#include "model/provider/families.hpp"

namespace millrace::model {

// What a body is built from.
// Lifetime: everything outlives the call that builds.
struct Draft {
  const ProviderConfig& config;
  const ChatPayload& payload;
  std::span<message::Message> messages;  // repaired, without foreign state
  std::string_view model;                // as it is sent
  Traits traits;
  bool streamed;
  std::vector<Note>& notes;
  bool is_fallback = false;  // not the first provider of its chain

  [[nodiscard]] bool has(Quirk quirk) const { return config.quirks.has(quirk); }
  [[nodiscard]] bool is(Trait trait) const { return traits.has(trait); }
  void note(std::string_view what, std::string_view sentence) const {
    notes.push_back({std::string(what), std::string(sentence), false});
  }
};

struct DialectRow {
  Dialect dialect;
  std::string_view name;
  std::string_view wire;         // row of adapter/wires that reads the streamed answer
  std::string_view stream_path;  // behind the base URL (address.hpp)
  std::string_view whole_path;   // of an answer in one piece
  std::string_view headers;      // "Name: value", one a line
  std::string_view accept;       // of a streamed answer
  std::string_view tails;        // what users write at the end of a base URL and is cut, by commas
  Result<std::string> (*body)(const Draft& draft);
};

std::span<const DialectRow> dialects();
const DialectRow& row_of(Dialect dialect);

}  // namespace millrace::model
