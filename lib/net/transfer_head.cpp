// The head of a response, line by line as libcurl gives it, and what it says of the body.

#include <charconv>
#include <utility>

#include "net/request_rules.hpp"
#include "net/transfer.hpp"
#include "net/transport_errors.hpp"

namespace millrace::net {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

}  // namespace

std::size_t Transfer::header_limit() const {
  const std::size_t limit = request_.limits.header_bytes;
  return limit == 0 ? most_header_bytes : limit;
}

void Transfer::header_line(std::string_view line) {
  // A head that comes drop by drop, or behind interim answers without end, is no answer yet.
  if (is_head_complete_) received();
  header_bytes_ += line.size();
  ++header_lines_;
  if (header_bytes_ > header_limit() || header_lines_ > most_header_lines) {
    fail(oversized_head(url_, header_limit()));
    return;
  }
  if (is_head_complete_) return;  // a trailer
  if (!is_head_begun_) {
    status_line(line);
  } else if (trimmed(line).empty()) {
    head_complete();
  } else {
    field_line(line);
  }
}

// "HTTP/1.1 200 reason". Versions of libcurl differ in what else they take for a status line.
void Transfer::status_line(std::string_view line) {
  constexpr std::ptrdiff_t digits = 3;
  is_head_begun_ = true;
  head_ = ResponseHead{};
  const std::string_view rest = trimmed(line.substr(std::min(line.find(' '), line.size())));
  const auto [end, failed] = std::from_chars(rest.data(), rest.data() + rest.size(), head_.status);
  const bool may_be_http2 = request_.route && request_.route->http2 && url_.scheme == "https";
  const bool is_http2 = line.starts_with("HTTP/2");
  if (failed != std::errc{} || end - rest.data() != digits || (is_http2 && !may_be_http2)) {
    fail(protocol_fault(url_, "unreadable status line"));
    return;
  }
  status_ = head_.status;
  head_.reason = trimmed(rest.substr(static_cast<std::size_t>(end - rest.data())));
}

void Transfer::field_line(std::string_view line) {
  if (trimmed(line).find('\r') != std::string_view::npos) {
    fail(protocol_fault(url_, "carriage return in a header"));
    return;
  }
  const bool continues_last = line.front() == ' ' || line.front() == '\t';
  const std::size_t colon = line.find(':');
  if (continues_last && !head_.headers.empty()) {
    head_.headers.back().value.append(" ").append(trimmed(line));
  } else if (colon != std::string_view::npos) {
    head_.headers.push_back({std::string(trimmed(line.substr(0, colon))),
                             std::string(trimmed(line.substr(colon + 1)))});
  }
}

void Transfer::head_complete() {
  constexpr int switching_protocols = 101;
  constexpr int first_final_status = 200;
  // The sender of the second one has another end of the answer than we have.
  if (!has_one_length(head_.headers)) {
    fail(protocol_fault(url_, "Content-Length is no number, or two different ones"));
    return;
  }
  if (status_ == switching_protocols) {
    fail(make_error(Errc::protocol_error,
                    url_.origin() + " switched to another protocol, which was not requested."));
    return;
  }
  if (status_ < first_final_status) {
    is_head_begun_ = false;
    return;
  }
  if (is_rejected_by_proxy()) {
    fail(proxy_refusal(status_, url_));
    return;
  }
  is_head_complete_ = true;
  note_connection();
  received();
  if (request_.redirects != Redirects::report && is_redirect(status_)) {
    location_ = header_value(head_.headers, "location");
    if (request_.redirects == Redirects::same_origin && !stays_at_origin()) location_.clear();
  }
  if (location_.empty()) {
    begin_body();
  } else {
    hooks_.on_redirect();
  }
}

// A proxy answers requests for http: addresses itself, where it refuses to pass them on. Behind a
// tunnel, and where no proxy is, that is the host's word.
bool Transfer::is_rejected_by_proxy() const {
  constexpr int proxy_authentication_required = 407;
  if (status_ != proxy_authentication_required || url_.scheme != "http") return false;
  return uses_proxy() && !proxy().starts_with("socks");
}

bool Transfer::uses_proxy() const {
  return has_proxy() && !is_named(request_.route->no_proxy, url_.host);
}

// What leads nowhere is told when it is followed.
bool Transfer::stays_at_origin() const {
  const auto next = follow_location(url_, location_);
  return location_.empty() || !next || next.value().origin() == url_.origin();
}

// What only sending it needed: a long history and all that is said with it are not kept in memory
// while the answer streams.
void Transfer::forget_request() {
  curl_off_t sent_bytes = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_SIZE_UPLOAD_T, &sent_bytes);
  if (static_cast<std::size_t>(sent_bytes) < request_.body.size()) return;
  std::string().swap(request_.body);
  std::vector<Header>().swap(request_.headers);
  curl_easy_setopt(easy_.get(), CURLOPT_HTTPHEADER, nullptr);
  curl_easy_setopt(easy_.get(), CURLOPT_RESOLVE, nullptr);
  header_list_ = CurlList();
  address_list_ = CurlList();
}

// Whether several answers may share the connection is known with the first of them.
void Transfer::note_connection() {
  if (!ends_) return;
  long version = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_HTTP_VERSION, &version);
  if (version < CURL_HTTP_VERSION_2_0) sockets_->not_shared(*ends_);
  ends_.reset();
}

void Transfer::begin_body() {
  const std::string transfer_coding = header_value(head_.headers, "transfer-encoding");
  const std::string content_coding = header_value(head_.headers, "content-encoding");
  const std::string length = header_value(head_.headers, "content-length");
  forget_request();
  head_.url = url_.text;
  head_.redirected = hop_ > 0;
  handler_->on_head(std::move(head_));
  if (!transfer_coding.empty() && !same_name(transfer_coding, "chunked") &&
      !same_name(transfer_coding, "identity")) {
    // libcurl would inflate these itself, without a bound.
    fail(rejected_transfer_coding(url_, transfer_coding));
    return;
  }
  constexpr int no_content = 204;
  constexpr int not_modified = 304;
  const bool has_body =
      request_.method != "HEAD" && status_ != no_content && status_ != not_modified;
  if (!has_body) return;
  if (request_.decompress) {
    auto decoder = BodyDecoder::for_encoding(content_coding);
    if (!decoder) return fail(std::move(decoder).error());
    decoder_ = std::move(decoder).value();
  }
  if (!decoder_ && transfer_coding.empty()) check_length(length);
}

// What is announced to be over the limit is not waited for.
void Transfer::check_length(std::string_view length) {
  const std::size_t limit = request_.limits.decoded_bytes;
  if (limit == 0 || length.empty()) return;
  std::size_t announced = 0;
  const auto [end, failed] =
      std::from_chars(length.data(), length.data() + length.size(), announced);
  if (failed == std::errc::result_out_of_range || (failed == std::errc{} && announced > limit)) {
    fail(too_large());
  }
}

}  // namespace millrace::net
