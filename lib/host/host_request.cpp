#include "host/host_request.hpp"

namespace millrace::host {

void append_request(std::string& object, const net::Request& request) {
  json::append_member(object, "method", request.method);
  json::append_member(object, "url", request.url);
  std::string headers = "[";
  for (const net::Header& header : request.headers) {
    if (headers.size() > 1) headers.push_back(',');
    headers.push_back('[');
    json::append_string(headers, header.name);
    headers.push_back(',');
    json::append_string(headers, header.value);
    headers.push_back(']');
  }
  headers.push_back(']');
  json::append_raw_member(object, "headers", headers);
  if (request.has_body) json::append_member(object, "body", request.body);
  std::string timeouts = "{";
  json::append_member(timeouts, "firstByte", std::int64_t{request.timeouts.first_byte.count()});
  json::append_member(timeouts, "idle", std::int64_t{request.timeouts.idle.count()});
  json::append_member(timeouts, "total", std::int64_t{request.timeouts.total.count()});
  timeouts.push_back('}');
  json::append_raw_member(object, "timeouts", timeouts);
  json::append_member(object, "limit", static_cast<std::int64_t>(request.limits.decoded_bytes));
}

net::ResponseHead read_response_head(const json::Value& head) {
  net::ResponseHead read;
  read.status = static_cast<int>(head["status"].integer().value_or(0));
  read.url = head["url"].string();
  for (const json::Value pair : head["headers"].items()) {
    net::Header& header = read.headers.emplace_back();
    for (const json::Value text : pair.items()) {
      (header.name.empty() ? header.name : header.value) = text.string();
    }
  }
  return read;
}

}  // namespace millrace::host
