#include "net/transport_errors.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "net/request_rules.hpp"

namespace millrace::net {
namespace {

// What came with a later libcurl than the oldest one that this compiles with, by number.
constexpr auto too_large = static_cast<CURLcode>(100);
constexpr auto ech_required = static_cast<CURLcode>(101);

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
    Row{CURLE_SSL_CLIENTCERT, Errc::tls_failed},
    Row{CURLE_SSL_CRL_BADFILE, Errc::tls_failed},
    Row{CURLE_SSL_INVALIDCERTSTATUS, Errc::tls_failed},
    Row{CURLE_SSL_PINNEDPUBKEYNOTMATCH, Errc::tls_failed},
    Row{CURLE_SSL_SHUTDOWN_FAILED, Errc::tls_failed},
    Row{CURLE_USE_SSL_FAILED, Errc::tls_failed},
    Row{ech_required, Errc::tls_failed},
    Row{CURLE_HTTP2, Errc::protocol_error},
    Row{CURLE_HTTP2_STREAM, Errc::connection_lost},
    Row{CURLE_SEND_FAIL_REWIND, Errc::connection_lost},
    Row{too_large, Errc::headers_too_large},  // what is sent has limits of its own (check_request)
    Row{CURLE_FAILED_INIT, Errc::internal},
    Row{CURLE_NOT_BUILT_IN, Errc::internal},
    Row{CURLE_WRITE_ERROR, Errc::internal},  // a callback's own error stands already
    Row{CURLE_READ_ERROR, Errc::internal},
    Row{CURLE_OUT_OF_MEMORY, Errc::internal},
    Row{CURLE_ABORTED_BY_CALLBACK, Errc::internal},
    Row{CURLE_BAD_FUNCTION_ARGUMENT, Errc::internal},
    Row{CURLE_INTERFACE_FAILED, Errc::internal},
    Row{CURLE_UNKNOWN_OPTION, Errc::internal},
    Row{CURLE_SETOPT_OPTION_SYNTAX, Errc::internal},
    Row{CURLE_SSL_ENGINE_NOTFOUND, Errc::internal},
    Row{CURLE_SSL_ENGINE_SETFAILED, Errc::internal},
    Row{CURLE_SSL_ENGINE_INITFAILED, Errc::internal},
    Row{CURLE_AGAIN, Errc::internal},
    Row{CURLE_NO_CONNECTION_AVAILABLE, Errc::internal},
    Row{CURLE_RECURSIVE_API_CALL, Errc::internal},
    Row{CURLE_UNRECOVERABLE_POLL, Errc::internal},
};

// Of protocols that are not spoken here, of options that are not set, and retired numbers, whose
// names differ between versions.
constexpr std::array never_given{9,  10, 11, 12, 13, 14, 15, 17, 19, 20, 21, 22, 24, 25,
                                 29, 30, 31, 32, 33, 34, 36, 37, 38, 39, 40, 41, 44, 46,
                                 47, 50, 51, 57, 62, 63, 67, 68, 69, 70, 71, 72, 73, 74,
                                 75, 76, 78, 79, 84, 85, 86, 87, 88, 94, 95, 96};

constexpr bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// The words of a fault differ between versions of libcurl; what is looked for here is in all of
// them, and the tests of the client run with each.
bool is_about_chunks(const TransportFailure& failure) {
  const bool is_of_body = failure.code == CURLE_RECV_ERROR || failure.code == too_large;
  return is_of_body && has(failure.detail, "chunk");
}

bool is_about_tunnel(std::string_view words) {
  return has(words, "CONNECT ");
}

bool ended_in_handshake(const TransportFailure& failure) {
  return failure.code == CURLE_SSL_CONNECT_ERROR &&
         (has(failure.detail, "SSL_ERROR_SYSCALL") || has(failure.detail, "unexpected eof") ||
          has(failure.detail, "Recv failure") || has(failure.detail, "Send failure") ||
          has(failure.detail, "Connection reset"));
}

constexpr std::array before_sending{Errc::name_resolution_failed, Errc::connect_failed,
                                    Errc::proxy_failed, Errc::connect_timeout, Errc::tls_failed};

// libcurl has one code for several failures; its words tell them apart.
Errc refined(Errc error, const TransportFailure& failure) {
  if (failure.was_sent &&
      std::find(before_sending.begin(), before_sending.end(), error) != before_sending.end()) {
    return Errc::connection_lost;
  }
  // Until it has answered, whatever goes wrong on the way goes wrong at the proxy, and the only
  // head that is read by then is its own.
  const bool is_answered = failure.connect_status != 0 && !is_about_tunnel(failure.detail);
  const bool is_of_proxy = error == Errc::protocol_error || error == Errc::headers_too_large ||
                           (error == Errc::connection_lost && !is_answered);
  if (failure.has_tunnel && failure.is_connecting && is_of_proxy) return Errc::proxy_failed;
  const bool was_rejected = failure.connect_status != 0 && failure.connect_status / 100 != 2;
  if (was_rejected || (failure.has_proxy && error == Errc::connect_failed)) {
    return Errc::proxy_failed;
  }
  if (is_about_chunks(failure)) {
    // Of a trailer longer than 4 KiB older versions say that there is no memory.
    return has(failure.detail, "Out of memory") ? Errc::headers_too_large : Errc::protocol_error;
  }
  // A trailer that is no header.
  if (failure.code == CURLE_BAD_FUNCTION_ARGUMENT && !failure.is_in_head) {
    return Errc::protocol_error;
  }
  if (ended_in_handshake(failure)) return Errc::connection_lost;
  // The longest header line that libcurl accepts is 100 KiB.
  if (failure.code == CURLE_OUT_OF_MEMORY && failure.is_in_head && !failure.is_connecting) {
    return Errc::headers_too_large;
  }
  return error;
}

std::string proxy_sentence(int status, const std::string& origin, bool is_reached = false) {
  constexpr int authentication_required = 407;
  std::string text = "The proxy for " + origin;
  if (status == 0 && is_reached) {
    return text.append(
        " closed the connection without forwarding it: check its address and that "
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
  std::string text = "The TLS connection to " + origin + " was rejected. ";
  const bool is_other_name = has(failure.detail, "subject name") && has(failure.detail, "match");
  if (is_other_name) return text.append("Its certificate is for another name: check the address.");
  if (has(failure.detail, "certificate has expired")) {
    return text.append("Its certificate has expired: the server needs a new one.");
  }
  if (has(failure.detail, "wrong version number")) {
    return text.append("The server does not speak TLS there: use http: or another port.");
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

std::string protocol_sentence(const std::string& origin) {
  return origin + " sent an invalid HTTP response.";
}

std::string header_sentence(const std::string& origin, std::size_t limit) {
  return "The response headers of " + origin + " are larger than " + std::to_string(limit) +
         " bytes, or more than " + std::to_string(most_header_lines) + " lines.";
}

std::string transfer_coding_sentence(const std::string& origin) {
  return origin + " uses a transfer coding other than chunked.";
}

std::string sentence(Errc error, const TransportFailure& failure, const std::string& origin) {
  switch (error) {
    case Errc::connect_failed:
      return "No connection to " + origin + ": check that the server is running and reachable.";
    case Errc::proxy_failed: {
      const bool is_unreachable =
          failure.code == CURLE_COULDNT_CONNECT || failure.code == CURLE_COULDNT_RESOLVE_PROXY;
      const bool is_reached =
          failure.has_tunnel && (!is_unreachable || is_about_tunnel(failure.detail));
      const bool is_refusal = failure.connect_status / 100 != 2;
      return proxy_sentence(is_refusal ? failure.connect_status : 0, origin, is_reached);
    }
    case Errc::connect_timeout:
      return "The connection to " + origin + (failure.has_proxy ? " through the proxy" : "") +
             " was not made in time.";
    case Errc::connection_lost:
      return failure.is_in_head
                 ? "The connection to " + origin + " broke before an answer came."
                 : "The connection to " + origin + " broke before the answer was complete.";
    case Errc::protocol_error: return protocol_sentence(origin);
    case Errc::headers_too_large: return header_sentence(origin, failure.header_limit);
    case Errc::unsupported_encoding: return transfer_coding_sentence(origin);
    case Errc::tls_failed: return tls_sentence(failure, origin);
    default: return {};
  }
}

}  // namespace

std::optional<Errc> known_transport_error(CURLcode code) {
  const auto row = std::find_if(rows.begin(), rows.end(),
                                [&](const Row& candidate) { return candidate.code == code; });
  if (row != rows.end()) return row->error;
  const bool is_known = std::find(never_given.begin(), never_given.end(), static_cast<int>(code)) !=
                        never_given.end();
  return is_known ? std::optional(Errc::internal) : std::nullopt;
}

Error protocol_fault(const Url& url, std::string_view detail) {
  return make_error(Errc::protocol_error, protocol_sentence(url.origin()), detail);
}

Error rejected_transfer_coding(const Url& url, std::string_view coding) {
  return make_error(Errc::unsupported_encoding, transfer_coding_sentence(url.origin()), coding);
}

Error oversized_head(const Url& url, std::size_t limit) {
  return make_error(Errc::headers_too_large, header_sentence(url.origin(), limit));
}

Error proxy_refusal(int status, const Url& url) {
  return make_error(Errc::proxy_failed, proxy_sentence(status, url.origin()));
}

Error transport_error(const TransportFailure& failure, const Url& url) {
  const Errc known = known_transport_error(failure.code).value_or(Errc::protocol_error);
  const Errc error = refined(known, failure);
  const std::string_view detail =
      failure.detail.empty() ? curl_easy_strerror(failure.code) : failure.detail;
  return make_error(error, sentence(error, failure, url.origin()), detail);
}

}  // namespace millrace::net
