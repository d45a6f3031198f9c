#include "api/api_zone.hpp"

#include <gtest/gtest.h>

#include "base/sha256.hpp"

namespace {

namespace api = millrace::api;
namespace http = millrace::http;

http::RequestHead head_of(std::string path, http::Headers headers = {}) {
  http::RequestHead head;
  head.method = "GET";
  head.path = std::move(path);
  head.headers = std::move(headers);
  return head;
}

api::ApiOptions with_keys() {
  api::ApiOptions options;
  options.keys.push_back({"one", millrace::sha256_hex("key one"), "ada", {"read"}});
  options.keys.push_back({"two", millrace::sha256_hex("key two"), "bob", {}});
  return options;
}

// The status of the refusal; 0 where there is none.
int status_of(api::ApiZone& zone, const http::RequestHead& head,
              std::string_view from = "1.2.3.4") {
  const auto admission = zone.admit(head, from);
  return admission.refusal ? admission.refusal->status : 0;
}

TEST(ApiZone, KnowsWhoseKeyItIs) {
  api::ApiZone zone(with_keys());
  const auto admission = zone.admit(head_of("/api/v1/x", {{"X-Millrace-API-Key", "key one"}}), "");
  ASSERT_TRUE(admission.caller);
  EXPECT_FALSE(admission.refusal);
  EXPECT_EQ(admission.caller->principal, "ada");
  EXPECT_TRUE(admission.caller->may("read"));
  EXPECT_FALSE(admission.caller->may("chat"));
  const auto other = zone.admit(head_of("/api/v1/x", {{"x-undefined-api-key", "key two"}}), "");
  ASSERT_TRUE(other.caller);
  EXPECT_TRUE(other.caller->may("anything"));
}

TEST(ApiZone, TakesBearersBesideItsOwnPathsOnly) {
  api::ApiZone zone(with_keys());
  const http::Headers bearer{{"Authorization", "bearer  key two"}};
  EXPECT_EQ(status_of(zone, head_of("/agent", bearer)), 0);
  EXPECT_EQ(status_of(zone, head_of("/api/v1/x", bearer)), 401);
  EXPECT_EQ(status_of(zone, head_of("/api/storage/threads", bearer)), 0);
  EXPECT_EQ(status_of(zone, head_of("/api/storagex", bearer)), 401);
  for (const char* wrong : {"Bearer", "Bearer ", "Basic key two", "key two", "Bearerkey two"}) {
    EXPECT_EQ(status_of(zone, head_of("/agent", {{"Authorization", wrong}})), 401) << wrong;
  }
}

TEST(ApiZone, AnswersOtherPathsWithTheCodeOfTheError) {
  api::ApiZone zone(with_keys());
  const auto refusal = zone.admit(head_of("/agent"), "1.2.3.4").refusal;
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->status, millrace::row_of(millrace::Errc::unauthorized).http_status);
  EXPECT_NE(refusal->body.find(R"("code":"unauthorized")"), std::string::npos);
  EXPECT_EQ(refusal->headers.find("WWW-Authenticate"), "Bearer");
}

TEST(ApiZone, HasEveryPathWhereThereAreKeys) {
  api::ApiZone with(with_keys());
  api::ApiZone without(api::ApiOptions{});
  for (const char* path : {"/api/v1/x", "/health", "/livez", "/readyz", "/openapi.json"}) {
    EXPECT_TRUE(with.has(path)) << path;
    EXPECT_TRUE(without.has(path)) << path;
  }
  EXPECT_TRUE(with.has("/agent"));
  EXPECT_FALSE(without.has("/agent"));
  EXPECT_FALSE(without.has("/api"));
  EXPECT_EQ(status_of(with, head_of("/health")), 0);
  EXPECT_EQ(status_of(with, head_of("/health/")), 401);
}

TEST(ApiZone, LocksOutWhoGuessesButNobodyElse) {
  api::ApiZone zone(with_keys());
  const auto wrong = head_of("/api/v1/x", {{"X-Millrace-API-Key", "a guess"}});
  const auto right = head_of("/api/v1/x", {{"X-Millrace-API-Key", "key one"}});
  for (int guess = 0; guess < 30; ++guess) EXPECT_EQ(status_of(zone, wrong), 401);
  EXPECT_EQ(status_of(zone, wrong), 429);
  EXPECT_EQ(status_of(zone, right), 429);
  EXPECT_EQ(status_of(zone, right, "4.3.2.1"), 0);
  // Without an address, all would be one.
  for (int guess = 0; guess < 100; ++guess) EXPECT_EQ(status_of(zone, wrong, ""), 401);
  EXPECT_EQ(status_of(zone, right, ""), 0);
  // A missing key is no guess.
  for (int request = 0; request < 100; ++request) {
    EXPECT_EQ(status_of(zone, head_of("/api/v1/x"), "5.5.5.5"), 401);
  }
  EXPECT_EQ(status_of(zone, right, "5.5.5.5"), 0);
}

TEST(ApiZone, LetsInAKeyThatWasRightFromTheAddressOfAGuesser) {
  api::ApiZone zone(with_keys());
  const auto with = [](const char* field, const char* key) {
    return head_of("/agent", {{field, key}});
  };
  const auto known = with("X-Millrace-API-Key", "key one");
  EXPECT_EQ(status_of(zone, known), 0);
  for (int guess = 0; guess < 40; ++guess) {
    status_of(zone, with("X-Millrace-API-Key", "a guess"));
  }
  EXPECT_EQ(status_of(zone, with("X-Millrace-API-Key", "a guess")), 429);
  EXPECT_EQ(status_of(zone, known), 0);
  EXPECT_EQ(status_of(zone, with("Authorization", "Bearer key one")), 0);
  // A right key that was never used from there looks like a wrong one.
  EXPECT_EQ(status_of(zone, with("X-Millrace-API-Key", "key two")), 429);
  EXPECT_EQ(status_of(zone, with("X-Millrace-API-Key", "key two"), "4.3.2.1"), 0);
  EXPECT_EQ(status_of(zone, with("X-Millrace-API-Key", "key two")), 429);
}

TEST(ApiZone, TakesPagesOfAllOriginsWhereThatIsWanted) {
  api::ApiOptions options = with_keys();
  options.origins = {"*"};
  const api::ApiZone zone(options);
  const auto fields = zone.fields(head_of("/agent", {{"Origin", "https://any.example"}}));
  EXPECT_EQ(fields.find("Access-Control-Allow-Origin"), "https://any.example");
}

TEST(ApiZone, KeepsForeignPagesFromWhatNeedsNoKey) {
  api::ApiOptions options;
  options.origins = {"https://app.example"};
  api::ApiZone zone(options);
  const auto from = [&](const std::string& origin) {
    return status_of(zone, head_of("/api/v1/x", {{"Origin", origin}}));
  };
  for (const char* own :
       {"https://app.example", "tauri://localhost", "http://localhost", "https://localhost:8443",
        "http://127.3.2.1:1", "http://[::1]:80", "http://LOCALHOST:3000", "https://App.Example"}) {
    EXPECT_EQ(from(own), 0) << own;
  }
  for (const char* foreign :
       {"https://app.example:1", "http://app.example", "null", "", "http://localhost.evil",
        "http://127.0.0.1.evil", "http://127.evil", "http://[::1].evil", "http://[::10]",
        "ftp://localhost", "http://127.0.0", "http://1270.0.0.1"}) {
    EXPECT_EQ(from(foreign), 403) << foreign;
  }
  EXPECT_EQ(status_of(zone, head_of("/api/v1/x", {{"Sec-Fetch-Site", "cross-site"}})), 403);
  EXPECT_EQ(status_of(zone, head_of("/api/v1/x", {{"Sec-Fetch-Site", "same-origin"}})), 0);
}

TEST(ApiZone, HasTwoPlacesForChecksOfPasswords) {
  api::ApiZone zone(with_keys());
  EXPECT_TRUE(zone.begin_check());
  EXPECT_TRUE(zone.begin_check());
  EXPECT_FALSE(zone.begin_check());
  zone.end_check();
  EXPECT_TRUE(zone.begin_check());
  EXPECT_FALSE(zone.begin_check());
}

TEST(ApiZone, AnswersUnknownRoutesInPlainText) {
  const api::ApiZone zone(api::ApiOptions{});
  const http::Answer missing = zone.unknown("");
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(missing.body, "404: Not Found");
  const http::Answer wrong = zone.unknown("GET, OPTIONS");
  EXPECT_EQ(wrong.status, 405);
  EXPECT_EQ(wrong.headers.find("Allow"), "GET, OPTIONS");
}

}  // namespace
