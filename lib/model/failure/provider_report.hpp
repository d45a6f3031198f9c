// What the answer to a failed call says, whichever vendor's shape it has.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "net/client.hpp"

namespace millrace::model {

struct ProviderReport {
  int status = 0;
  std::string codes;     // code, type, status and reason words, lower case, each between blanks
  std::string message;   // as the provider has it
  std::string sentence;  // lower case
  std::string page;      // html_page of the answer, or of the message
  std::string request_id;
  std::optional<std::chrono::milliseconds> retry_after;
  std::optional<bool> should_retry;
  bool finished = false;  // the code is a reason to finish an answer

  void add_code(std::string_view code);
};

// Adds what the body of an answer has: message, codes, request id, when to come again.
void read_report_body(const json::Value& whole, ProviderReport& report);

// Adds the code and the request id that headers have.
void read_report_headers(const std::vector<net::Header>& headers, ProviderReport& report);

}  // namespace millrace::model
