#include "api/turn_hooks.hpp"

#include <utility>

#include "base/error.hpp"

namespace millrace::api {

using json::Tree;

Tree hook_request(const TurnRequest& request, const std::string& run, const Tree& attachments) {
  Tree turn = Tree::object();
  turn.set("text", request.message.text);
  turn.set("conversationId", request.conversation);
  turn.set("principal", request.principal);
  turn.set("runId", run);
  turn.set("attachments", attachments);
  turn.set("references", request.message.references);
  turn.set("isRegenerated", Tree::flag(request.reuses_previous));
  return turn;
}

std::optional<TurnRefusal> read_hooks(const Result<Tree>& answer, TurnRequest& request,
                                      HookOutcome& outcome) {
  constexpr int bad_gateway = 502;
  // The reason is the host's own: it is in its log.
  if (!answer) return TurnRefusal{bad_gateway, "Chat failed"};
  const Tree& given = answer.value();
  if (const Tree& reject = given["reject"]; reject.is_object()) {
    std::string code(reject["code"].string());
    const int status = row_of(code_of(code)).http_status;
    return TurnRefusal{status, std::string(reject["message"].string()), std::move(code)};
  }
  if (given["reply"].is_string()) outcome.reply = given["reply"].string();
  if (given["ran"].is_array()) outcome.ran = given["ran"];
  if (given["notes"].is_array()) outcome.notes = given["notes"];
  // Only one that was edited since its hooks ran takes what they give now: see Turn::take_hooked().
  if (request.reuses_previous) {
    if (given["text"].is_string()) outcome.text = json::trim(given["text"].string());
    return std::nullopt;
  }
  if (given["text"].is_string()) request.message.text = json::trim(given["text"].string());
  const bool is_empty = request.message.text.empty() && request.message.is_text_only();
  if (is_empty) return TurnRefusal{400, "message is required"};
  return std::nullopt;
}

}  // namespace millrace::api
