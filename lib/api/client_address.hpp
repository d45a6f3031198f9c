// Where a request comes from: the address of its connection, or what proxies that are trusted
// report.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "http/message.hpp"
#include "net/address_guard.hpp"

namespace millrace::api {

// Thread: immutable.
class TrustedProxies {
 public:
  TrustedProxies() = default;
  // Shape: addresses, and blocks such as "10.0.0.0/8".
  // Errors: invalid_option for one that cannot be read.
  static Result<TrustedProxies> make(const std::vector<std::string>& addresses);

  // The last address of X-Forwarded-For that is no trusted proxy, where the peer is one; else the
  // peer. Whatever a client writes before that counts for nothing.
  [[nodiscard]] std::string client_of(std::string_view peer, const http::Headers& headers) const;

 private:
  struct Block {
    net::AddressBytes address{};
    unsigned bits = 0;
  };
  [[nodiscard]] bool trusts(std::string_view address) const;

  std::vector<Block> blocks_;
};

}  // namespace millrace::api
