// libcurl's results as the engine's errors.
#pragma once

#include <curl/curl.h>

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
  bool has_authorities = false;  // the route names the only ones that are trusted
  std::string_view ca_problem;   // see CaBundle
};

// The proxy on the way answered with this status instead of passing the request on.
Error proxy_refusal(int status, const Url& url);

// Names the origin but never the path or query, which can hold secrets.
Error transport_error(const TransportFailure& failure, const Url& url);

}  // namespace millrace::net
