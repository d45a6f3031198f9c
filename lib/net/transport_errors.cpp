#include "net/transport_errors.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace millrace::net {
namespace {

struct Row {
  CURLcode code;
  Errc error;
};
constexpr std::array rows{
    Row{CURLE_URL_MALFORMAT, Errc::invalid_url},
    Row{CURLE_COULDNT_RESOLVE_HOST, Errc::name_resolution_failed},
    Row{CURLE_COULDNT_CONNECT, Errc::connect_failed},
    Row{CURLE_COULDNT_RESOLVE_PROXY, Errc::proxy_failed},
    Row{CURLE_PROXY, Errc::proxy_failed},
    Row{CURLE_OPERATION_TIMEDOUT, Errc::connect_timeout},  // the only limit that libcurl is given
    Row{CURLE_UNSUPPORTED_PROTOCOL, Errc::protocol_error},
    Row{CURLE_WEIRD_SERVER_REPLY, Errc::protocol_error},
    Row{CURLE_BAD_CONTENT_ENCODING, Errc::unsupported_encoding},
    Row{CURLE_PARTIAL_FILE, Errc::connection_lost},
    Row{CURLE_RECV_ERROR, Errc::connection_lost},
    Row{CURLE_SEND_ERROR, Errc::connection_lost},
    Row{CURLE_GOT_NOTHING, Errc::connection_lost},
    Row{CURLE_SSL_CONNECT_ERROR, Errc::tls_failed},
    Row{CURLE_PEER_FAILED_VERIFICATION, Errc::tls_failed},
    Row{CURLE_SSL_CERTPROBLEM, Errc::tls_failed},
    Row{CURLE_SSL_CIPHER, Errc::tls_failed},
    Row{CURLE_SSL_CACERT_BADFILE, Errc::tls_failed},
    Row{CURLE_SSL_ISSUER_ERROR, Errc::tls_failed},
    Row{CURLE_HTTP2, Errc::protocol_error},
    Row{CURLE_HTTP2_STREAM, Errc::connection_lost},
};

constexpr std::array before_sending{Errc::name_resolution_failed, Errc::connect_failed,
                                    Errc::proxy_failed, Errc::connect_timeout, Errc::tls_failed};

// libcurl has one code for several failures; its words tell them apart.
Errc refined(Errc error, const TransportFailure& failure) {
  if (failure.was_sent &&
      std::find(before_sending.begin(), before_sending.end(), error) != before_sending.end()) {
    return Errc::connection_lost;
  }
  // Until it has answered, whatever goes wrong on the way goes wrong at the proxy.
  const bool is_answered =
      failure.connect_status != 0 && !failure.detail.starts_with("Proxy CONNECT aborted");
  const bool is_broken = error == Errc::connection_lost || error == Errc::protocol_error;
  if (failure.has_tunnel && failure.is_connecting && !is_answered && is_broken) {
    return Errc::proxy_failed;
  }
  const bool was_refused = failure.connect_status != 0 && failure.connect_status / 100 != 2;
  if (was_refused || (failure.has_proxy && error == Errc::connect_failed)) {
    return Errc::proxy_failed;
  }
  if (failure.code == CURLE_RECV_ERROR && failure.detail.ends_with("in chunked-encoding")) {
    return Errc::protocol_error;
  }
  const bool broke_in_handshake =
      failure.code == CURLE_SSL_CONNECT_ERROR &&
      (failure.detail.find("SSL_ERROR_SYSCALL") != std::string_view::npos ||
       failure.detail.find("Connection reset") != std::string_view::npos);
  if (broke_in_handshake) return Errc::connection_lost;
  // The longest header line that libcurl accepts is 100 KiB.
  if (failure.code == CURLE_OUT_OF_MEMORY && failure.is_in_head && !failure.is_connecting) {
    return Errc::headers_too_large;
  }
  return error;
}

std::string proxy_sentence(int status, const std::string& origin, bool is_reached = false) {
  constexpr int authentication_required = 407;
  std::string text = "The proxy on the way to " + origin;
  if (status == 0 && is_reached) {
    return text.append(
        " ended the connection without passing it on: check its address and that "
        "it is a proxy.");
  }
  if (status == 0) return text.append(" cannot be reached: check its address.");
  text.append(" answered with status ").append(std::to_string(status));
  return text.append(status == authentication_required
                         ? ": put the right user and password into its address in the option "
                           "`proxy` (or HTTPS_PROXY, http_proxy): http://user:password@host:port."
                         : ": it does not allow this connection.");
}

// What is trusted is said by the caller, or by the process' environment.
std::string tls_sentence(const TransportFailure& failure, const std::string& origin) {
  std::string text = "The TLS connection to " + origin + " was refused. ";
  const bool is_other_name = failure.detail.find("subject name") != std::string_view::npos &&
                             failure.detail.find("match") != std::string_view::npos;
  if (is_other_name) return text.append("Its certificate is for another name: check the address.");
  if (failure.detail.find("certificate has expired") != std::string_view::npos) {
    return text.append("Its certificate has expired: the server needs a new one.");
  }
  if (failure.has_authorities) {
    return text.append(
        "Only the authorities in the option `ca` are trusted: check that the one of its "
        "certificate is among them.");
  }
  return text
      .append(
          "If its certificate comes from a private authority, name the authority's PEM file in "
          "NODE_EXTRA_CA_CERTS.")
      .append(failure.ca_problem);
}

std::string sentence(Errc error, const TransportFailure& failure, const std::string& origin) {
  switch (error) {
    case Errc::connect_failed:
      return "No connection to " + origin + ": check that the server runs and can be reached.";
    case Errc::proxy_failed: {
      const bool is_reached = failure.has_tunnel && failure.code != CURLE_COULDNT_CONNECT &&
                              failure.code != CURLE_COULDNT_RESOLVE_PROXY;
      const bool is_refusal = failure.connect_status / 100 != 2;
      return proxy_sentence(is_refusal ? failure.connect_status : 0, origin, is_reached);
    }
    case Errc::connect_timeout:
      return "The connection to " + origin + (failure.has_proxy ? " by way of the proxy" : "") +
             " was not made in time.";
    case Errc::connection_lost:
      return failure.is_in_head
                 ? "The connection to " + origin + " broke before an answer came."
                 : "The connection to " + origin + " broke before the answer was complete.";
    case Errc::protocol_error: return origin + " does not speak HTTP correctly.";
    case Errc::headers_too_large: return "The response headers of " + origin + " are too large.";
    case Errc::tls_failed: return tls_sentence(failure, origin);
    default: return {};
  }
}

}  // namespace

Error proxy_refusal(int status, const Url& url) {
  return make_error(Errc::proxy_failed, proxy_sentence(status, url.origin()));
}

Error transport_error(const TransportFailure& failure, const Url& url) {
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const Row& candidate) {
    return candidate.code == failure.code;
  });
  const Errc error = refined(row == rows.end() ? Errc::internal : row->error, failure);
  const std::string_view detail =
      failure.detail.empty() ? curl_easy_strerror(failure.code) : failure.detail;
  return make_error(error, sentence(error, failure, url.origin()), detail);
}

}  // namespace millrace::net
