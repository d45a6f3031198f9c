// Sessions of pages: a page sends a key once, and then a cookie that no script can read.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "http/message.hpp"

namespace millrace::api {

// A session has the rights of its key as they are at each request, and ends with it; one that began
// with a password ends with that. Only hashes of tokens are kept, in a file as well where there is
// one, so that a session outlives a restart.
// Thread: engine thread.
class Sessions {
 public:
  // `file` is "" where sessions live as long as the process.
  explicit Sessions(std::string file);

  struct Begun {
    std::string token;
    std::int64_t ends_ms = 0;
  };
  // A session of the key with this hash. `password` is the key's, encoded, where the session begins
  // with one; else "". Beyond the largest number, the one that ends first ends.
  Begun begin(const std::string& key_sha256, std::string_view password = {});
  // The hash of the key; nothing for an unknown token, and one whose time is over.
  [[nodiscard]] std::optional<std::string> key_of(std::string_view token) const;
  // Whether the session began with another password than the one that its key has now.
  [[nodiscard]] bool has_old_password(std::string_view token, std::string_view password) const;
  void end(std::string_view token);

 private:
  struct Session {
    std::string key;
    std::int64_t ends_ms = 0;
    std::string password = {};  // hash of the encoded one; "": it began with the key
  };
  void load();
  void store() const;

  std::string file_;
  std::map<std::string, Session, std::less<>> sessions_;  // by the hash of the token
};

// The token in the cookies of a request; "" is none.
std::string_view session_token(const http::Headers& headers);
// A Set-Cookie field; an empty token removes the cookie.
std::string session_cookie(std::string_view token, bool is_secure);

// Whether a request with a session comes from a page of this server. Browsers send Sec-Fetch-Site,
// or Origin with whatever changes something; other sites can leave out neither.
bool is_own_page(const http::Headers& headers, bool changes);

// Whether the password is that of `encoded`, which is "scrypt$cost$block size$parallel$salt$hash"
// with base64. Takes its time. An `encoded` that cannot be read is no one's.
// Thread: any.
bool is_password(std::string_view encoded, std::string_view password);

}  // namespace millrace::api
