#include "model/failure/provider_report.hpp"

#include <array>

#include "adapter/adapter.hpp"
#include "base/ascii.hpp"
#include "model/call/retry_after.hpp"

namespace millrace::model {
namespace {

std::string text_of(const json::Value& value) {
  if (const auto text = value.filled_string()) return std::string(*text);
  if (value.is_number()) return std::string(value.number_text());
  return {};
}

// The details of Google's errors: why, and when to come again.
void read_details(const json::Value& details, ProviderReport& report) {
  for (const json::Value detail : details.items()) {
    report.add_code(detail["reason"].string());
    if (const auto delay = detail["retryDelay"].filled_string()) {
      report.retry_after = read_duration(*delay);
    }
  }
}

// Chooses the object that describes the error: OpenAI's and Anthropic's `error`, MiniMax's
// `base_resp`, Cloudflare's `errors`, FastAPI's `detail`, or the body itself.
json::Value error_in(const json::Value& body) {
  for (const std::string_view key : {"error", "base_resp", "errors", "detail"}) {
    const json::Value value = body[key];
    if (value.is_array() && value.size() > 0) return *value.items().begin();
    if (value.is_object() || value.filled_string()) return value;
  }
  return body;
}

// Google's errors come in an array.
json::Value first_of(const json::Value& whole) {
  return whole.is_array() && whole.size() > 0 ? *whole.items().begin() : whole;
}

void read_codes(const json::Value& body, const json::Value& error, ProviderReport& report) {
  for (const std::string_view key :
       {"code", "type", "status", "status_code", "reason", "__type", "error_type"}) {
    report.add_code(text_of(error[key]));
  }
  for (const std::string_view key : {"code", "__type", "error_type"}) {
    report.add_code(text_of(body[key]));
  }
}

// The codes of the vendor behind a gateway. A gateway that fails is not asked why: the vendor may
// have refused the gateway's own account.
void read_relayed_codes(const json::Value& raw, ProviderReport& report) {
  if (report.status >= 500) return;
  json::Document document;
  const auto parsed = document.parse(raw.is_string() ? std::string(raw.string()) : raw.to_json());
  if (!parsed || !(parsed.value().is_object() || parsed.value().is_array())) return;
  const json::Value body = first_of(parsed.value());
  read_codes(body, error_in(body), report);
}

struct HeaderUse {
  std::string_view name;
  bool is_code;  // else it names the request
};
constexpr std::array<HeaderUse, 12> header_uses{{{"x-amzn-errortype", true},
                                                 {"x-request-id", false},
                                                 {"request-id", false},
                                                 {"x-amzn-requestid", false},
                                                 {"apim-request-id", false},
                                                 {"x-ms-request-id", false},
                                                 {"x-goog-request-id", false},
                                                 {"x-cloud-trace-context", false},
                                                 {"mistral-correlation-id", false},
                                                 {"x-debug-trace-id", false},
                                                 {"x-ds-trace-id", false},
                                                 {"cf-ray", false}}};

}  // namespace

void ProviderReport::add_code(std::string_view code) {
  if (!code.empty()) codes.append(lowered(code)).push_back(' ');
}

void read_report_body(const json::Value& whole, ProviderReport& report) {
  const json::Value body = first_of(whole);
  const json::Value error = error_in(body);
  if (const auto text = error.filled_string()) report.message = *text;
  for (const std::string_view key : {"message", "msg", "status_msg", "error", "detail"}) {
    if (!report.message.empty()) break;
    report.message = error[key].string();
  }
  if (report.message.empty()) report.message = body["message"].string();
  report.message = adapter::relayed_message(report.message, error);
  read_codes(body, error, report);
  read_relayed_codes(error["metadata"]["raw"], report);
  for (const json::Value inner : {error["innererror"], error["inner_error"], error["metadata"]}) {
    report.add_code(text_of(inner["code"]));
    report.add_code(text_of(inner["error_type"]));
  }
  read_details(error["details"], report);
  for (const std::string_view key : {"request_id", "requestId", "RequestId"}) {
    if (report.request_id.empty()) report.request_id = text_of(body[key]);
  }
}

void read_report_headers(const std::vector<net::Header>& headers, ProviderReport& report) {
  for (const HeaderUse& use : header_uses) {
    for (const net::Header& header : headers) {
      if (lowered(header.name) != use.name) continue;
      if (use.is_code) {
        // "ThrottlingException:http://internal..."
        report.add_code(std::string_view(header.value).substr(0, header.value.find(':')));
      } else if (report.request_id.empty()) {
        report.request_id = header.value;
      }
    }
  }
}

}  // namespace millrace::model
