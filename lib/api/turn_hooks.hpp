// Hooks of the host before a turn (runtime.pipeline): what they are asked, and what they answer.
#pragma once

#include <optional>
#include <string>

#include "api/turns.hpp"
#include "base/json_tree.hpp"

namespace millrace::api {

// What hooks made of a turn.
struct HookOutcome {
  std::optional<std::string> reply;  // the answer, so that no agent is called
  // Of a message that is answered again: what hooks made of its text, and what is stored of it.
  std::optional<std::string> text;
  std::optional<std::string> stored;
  json::Tree notes = json::Tree::array();  // texts that the model reads behind the message
  json::Tree ran =
      json::Tree::array();  // [{name, did: [what it changed]}], stored with the message
};

// Shape: {text, conversationId, principal, runId, attachments, references, isRegenerated}.
json::Tree hook_request(const TurnRequest& request, const std::string& run,
                        const json::Tree& attachments);

// Puts what the hooks answered into the turn, or gives why none begins.
// Shape: {"text"?, "notes"?: [string], "reply"?, "ran": [{"name", "did": [string]}], "reject"?:
// {"code", "message"}}; an error where a hook failed that has to succeed.
std::optional<TurnRefusal> read_hooks(const Result<json::Tree>& answer, TurnRequest& request,
                                      HookOutcome& outcome);

}  // namespace millrace::api
