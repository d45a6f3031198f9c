// One transfer of an HttpLink. Private to it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "framing/sse.hpp"
#include "tool/mcp/http_link.hpp"

namespace millrace::mcp {

struct HttpLink::Exchange {
  Purpose purpose = Purpose::post;
  std::string url;
  Outgoing message;  // of a post; else only its version counts
  std::string used_session;
  bool is_running = false;
  std::optional<TimePoint> starts_at;
  std::optional<TimePoint> ends_at;  // of a message without an answer
  int status = 0;
  Reading reading = Reading::nothing;
  std::string body;
  std::optional<framing::SseFraming> framing;
  std::string last_event_id;
  std::optional<std::chrono::milliseconds> retry;
  int attempts = 0;  // since something was heard
  int redirects = 0;
  int authorizations = 0;
  std::uint64_t sent_as = 0;  // the authorization that it was sent with
  std::string step_up;        // the challenge that asked for more rights before
};

// Header names, without regard to case.
bool same_name(std::string_view a, std::string_view b);
std::string_view find_header(const std::vector<HttpField>& headers, std::string_view name);
// Headers that follow from the message; a host cannot set them.
bool is_own_header(std::string_view name);

}  // namespace millrace::mcp
