// Tables of requests: what is sent to a provider's model for a question, and what is not.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "model/build.hpp"

namespace millrace::test {

struct ExpectedRequest {
  std::string_view provider;
  std::string_view model;
  std::string_view more;  // members of the payload, `"key":value,...`
  std::string_view sent;  // what URL and body hold, or "" ...
  std::string_view gone;  // ... and what they do not, or ""
};

// The settings of a provider with credentials of its kind; `more` are further members.
inline std::string credentials_of(std::string_view provider, std::string_view more = {}) {
  std::string members;
  if (provider == "bedrock") {
    members = R"("apiKey":"","accessKeyId":"AKIDEXAMPLE","secretAccessKey":"test-secret")";
  } else if (provider == "vertexai") {
    members = R"("apiKey":"{}")";
  }
  if (!more.empty()) members.append(members.empty() ? "" : ",").append(more);
  return settings_of(provider, members);
}

// URL and body of a request, or the sentence of what is wrong.
inline std::string url_and_body(const std::string& settings, const std::string& payload) {
  const auto built = build(settings, payload);
  EXPECT_TRUE(built.ok());
  return built ? built.value().request.url + "\n" + built.value().request.body
               : built.error().message;
}

inline void expect_requests(std::initializer_list<ExpectedRequest> rows,
                            std::string_view settings = {}) {
  for (const ExpectedRequest& row : rows) {
    SCOPED_TRACE(
        std::string(row.provider).append(" ").append(row.model).append(" ").append(row.more));
    const std::string text =
        url_and_body(credentials_of(row.provider, settings), question(row.model, row.more));
    if (!row.sent.empty()) {
      EXPECT_TRUE(has(text, row.sent)) << text;
    }
    if (!row.gone.empty()) {
      EXPECT_FALSE(has(text, row.gone)) << text;
    }
  }
}

}  // namespace millrace::test
