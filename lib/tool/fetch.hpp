// One request of a tool: bounded, answered as text.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "net/client.hpp"
#include "tool/tool.hpp"

namespace millrace::tool {

struct Fetched {
  int status = 0;
  std::string url;           // of the last hop
  std::string content_type;  // lower case, without parameters
  std::string body;          // UTF-8
  bool is_cut = false;       // the answer was longer than the limit
};

struct FetchOptions {
  std::size_t max_bytes = std::size_t{1} << 20U;  // of the body
  bool text_only = true;                          // refuses images, archives and their like
  // Gets the body piece by piece instead of Fetched::body; the head is known by then.
  std::function<void(const Fetched& head, std::string_view utf8)> sink;
};

// Sends the request; `done` comes once, from the engine's loop, unless the result is cancelled or
// destroyed before.
// Errors: those of net::TransferHandler::on_done, unsupported_media_type for what is no text.
// Thread: engine thread.
// Lifetime: the client outlives the result or ends its transfers first.
std::unique_ptr<RunningTool> fetch(net::Client& client, net::Request request, FetchOptions options,
                                   std::function<void(Result<Fetched>)> done);

// True for a media type whose content is text.
bool is_text_type(std::string_view content_type);

// The error of a tool as its outcome.
ToolOutcome failed(const Error& error);

}  // namespace millrace::tool
