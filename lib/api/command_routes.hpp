// Slash commands: what a host declares, /api/v1/commands, and what becomes of a message that is
// one.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/api_context.hpp"
#include "chat/command_catalogue.hpp"
#include "chat/command_dispatch.hpp"

namespace millrace::api {

// The commands of the host, read anew when they have changed.
// Thread: engine thread.
class Commands final : public std::enable_shared_from_this<Commands> {
 public:
  explicit Commands(ApiContextPtr context);

  // Calls `ready` once the commands are those of the host. Errors: those of reading them.
  void refresh(std::function<void(const Result<void>& refreshed)> ready);
  [[nodiscard]] chat::CommandDispatcher& dispatcher() { return dispatcher_; }
  // A message of the principal who writes from outside.
  chat::CommandDecision decide(std::string_view text, const std::string& principal);

 private:
  Result<void> take(const json::Tree& declared);

  ApiContextPtr context_;
  chat::CommandDispatcher dispatcher_;
  std::int64_t revision_ = -1;
};

using CommandsPtr = std::shared_ptr<Commands>;

std::vector<ApiRoute> command_routes(const ApiContextPtr& context, const CommandsPtr& commands);

}  // namespace millrace::api
