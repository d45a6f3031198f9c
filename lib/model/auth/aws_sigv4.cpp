#include "model/auth/aws_sigv4.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <map>
#include <utility>
#include <vector>

#include "model/auth/crypto.hpp"
#include "model/provider/address.hpp"

namespace millrace::model {
namespace {

using crypto::hex_text;
using crypto::hmac_sha256;
using crypto::sha256;

constexpr std::string_view algorithm = "AWS4-HMAC-SHA256";
constexpr std::size_t day_size = 8;  // "20150830"

struct UrlParts {
  std::string_view host;  // with port
  std::string_view path;
  std::string_view query;
};

UrlParts parts_of(std::string_view url) {
  UrlParts parts;
  const std::size_t scheme = url.find("://");
  if (scheme != std::string_view::npos) url.remove_prefix(scheme + 3);
  const std::size_t end = std::min(url.find_first_of("/?"), url.size());
  parts.host = url.substr(0, end);
  url.remove_prefix(end);
  const std::size_t question = std::min(url.find('?'), url.size());
  parts.path = url.substr(0, question);
  parts.query = url.substr(std::min(question + 1, url.size()));
  return parts;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

// Removes "." and "..", and empty segments.
std::vector<std::string_view> segments_of(std::string_view path) {
  std::vector<std::string_view> segments;
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    const std::string_view segment = path.substr(0, slash);
    if (segment == "..") {
      if (!segments.empty()) segments.pop_back();
    } else if (!segment.empty() && segment != ".") {
      segments.push_back(segment);
    }
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return segments;
}

// The path as it is sent (encoded once), encoded again.
std::string canonical_path(std::string_view path) {
  std::string out;
  for (const std::string_view segment : segments_of(path)) {
    out.append("/").append(percent_encoded(segment));
  }
  if (out.empty() || path.ends_with('/')) out.push_back('/');
  return out;
}

std::string canonical_query(std::string_view query) {
  std::vector<std::pair<std::string, std::string>> pairs;
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    const std::size_t equals = std::min(pair.find('='), pair.size());
    // Names and values stand encoded in the URL.
    pairs.emplace_back(pair.substr(0, equals), pair.substr(std::min(equals + 1, pair.size())));
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  std::sort(pairs.begin(), pairs.end());
  std::string out;
  for (const auto& [name, value] : pairs) {
    if (!out.empty()) out.push_back('&');
    out.append(name).append("=").append(value);
  }
  return out;
}

// Without white space at the ends, and with one space instead of several.
std::string trimmed(std::string_view value) {
  std::string out;
  for (const char c : value) {
    const bool is_space = c == ' ' || c == '\t';
    if (is_space && (out.empty() || out.back() == ' ')) continue;
    out.push_back(is_space ? ' ' : c);
  }
  while (out.ends_with(' ')) out.pop_back();
  return out;
}

std::string signing_key(const AwsKeys& keys, const AwsScope& scope, std::string_view day) {
  const std::string date = hmac_sha256("AWS4" + keys.secret_access_key, day);
  const std::string region = hmac_sha256(date, scope.region);
  const std::string service = hmac_sha256(region, scope.service);
  return hmac_sha256(service, "aws4_request");
}

}  // namespace

std::string amz_date(Time now) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, sizeof("20150830T123600Z")> text{};
  std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%SZ", &parts);
  return text.data();
}

std::string canonical_request(const net::Request& request, std::string& signed_headers) {
  const UrlParts url = parts_of(request.url);
  std::map<std::string, std::string> headers{{"host", std::string(url.host)}};
  for (const net::Header& header : request.headers) {
    std::string& value = headers[lower(header.name)];
    if (!value.empty() && value != url.host) value.push_back(',');
    if (lower(header.name) == "host") value.clear();
    value.append(trimmed(header.value));
  }
  std::string text =
      request.method + "\n" + canonical_path(url.path) + "\n" + canonical_query(url.query) + "\n";
  signed_headers.clear();
  for (const auto& [name, value] : headers) {
    text.append(name).append(":").append(value).append("\n");
    if (!signed_headers.empty()) signed_headers.push_back(';');
    signed_headers.append(name);
  }
  return text.append("\n")
      .append(signed_headers)
      .append("\n")
      .append(hex_text(sha256(request.body)));
}

void sign_aws(net::Request& request, const AwsKeys& keys, const AwsScope& scope, Time now) {
  const std::string date = amz_date(now);
  const std::string_view day = std::string_view(date).substr(0, day_size);
  request.headers.push_back({"X-Amz-Date", date});
  if (!keys.session_token.empty()) {
    request.headers.push_back({"X-Amz-Security-Token", keys.session_token});
  }
  std::string signed_headers;
  const std::string canonical = canonical_request(request, signed_headers);
  const std::string credential = std::string(day)
                                     .append("/")
                                     .append(scope.region)
                                     .append("/")
                                     .append(scope.service)
                                     .append("/aws4_request");
  const std::string to_sign = std::string(algorithm)
                                  .append("\n")
                                  .append(date)
                                  .append("\n")
                                  .append(credential)
                                  .append("\n")
                                  .append(hex_text(sha256(canonical)));
  const std::string signature = hex_text(hmac_sha256(signing_key(keys, scope, day), to_sign));
  request.headers.push_back({"Authorization", std::string(algorithm) +
                                                  " Credential=" + keys.access_key_id + "/" +
                                                  credential + ", SignedHeaders=" + signed_headers +
                                                  ", Signature=" + signature});
}

void sign_aws_again(net::Request& request, const AwsKeys& keys, const AwsScope& scope, Time now) {
  const auto is_signature = [](const net::Header& header) {
    return header.name == "Authorization" || header.name == "X-Amz-Date" ||
           header.name == "X-Amz-Security-Token";
  };
  const bool is_signed = std::any_of(request.headers.begin(), request.headers.end(),
                                     [](const net::Header& h) { return h.name == "X-Amz-Date"; });
  if (!is_signed) return;
  std::erase_if(request.headers, is_signature);
  sign_aws(request, keys, scope, now);
}

}  // namespace millrace::model
