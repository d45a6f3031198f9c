// libcurl's results as the engine's errors.
#pragma once

#include <curl/curl.h>

#include <cstddef>
#include <optional>
#include <string_view>

#include "base/error.hpp"
#include "net/url.hpp"

namespace millrace::net {

struct TransportFailure {
  CURLcode code = CURLE_OK;
  std::string_view detail;     // libcurl's own words
  bool is_connecting = false;  // no request was sent yet
  bool is_in_head = false;     // the response head was not complete
  // It was on its way on a kept connection, and must not be sent again: that libcurl tried to, and
  // found nobody, says nothing of what became of it.
  bool was_sent = false;
  bool has_proxy = false;
  bool has_tunnel = false;       // through the proxy
  int connect_status = 0;        // of the proxy's answer to CONNECT
  std::size_t header_limit = 0;  // of the response's head, in bytes
  bool has_authorities = false;  // the route names the only ones that are trusted
  std::string_view ca_problem;   // see CaBundle
};

// What the table says of a code; nothing for one that is newer than the table, which counts as a
// protocol_error.
std::optional<Errc> known_transport_error(CURLcode code);

// A head that is no HTTP, and one with a transfer coding that was not asked for: newer versions of
// libcurl find these themselves, and what is said is the same.
Error protocol_fault(const Url& url, std::string_view detail);
Error rejected_transfer_coding(const Url& url, std::string_view coding);

// A head that is larger than the request allows, in bytes or in lines.
Error oversized_head(const Url& url, std::size_t limit);

// The proxy on the way answered with this status instead of passing the request on.
Error proxy_refusal(int status, const Url& url);

// Names the origin but never the path or query, which can hold secrets.
Error transport_error(const TransportFailure& failure, const Url& url);

}  // namespace millrace::net
