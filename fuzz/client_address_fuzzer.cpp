// Whoever writes X-Forwarded-For: a client is the peer or an entry of the field, and an untrusted
// peer is the client.
#include <string>

#include "api/client_address.hpp"
#include "fuzz_support.hpp"
#include "net/address_guard.hpp"

using namespace millrace;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(api::TrustedProxies::make({text}));
  const auto proxies = api::TrustedProxies::make({"10.0.0.0/8", "fd00::/8"});
  fuzz::require(proxies.ok(), "the blocks can be read");
  const http::Headers headers{{"X-Forwarded-For", text}};
  const std::string client = proxies.value().client_of("10.0.0.1", headers);
  fuzz::require(net::parse_address(client).ok(), "a client has an address");
  fuzz::require(client == "10.0.0.1" || text.find(client) != std::string::npos,
                "a client is the peer or an entry");
  fuzz::require(proxies.value().client_of("192.0.2.1", headers) == "192.0.2.1",
                "a peer that is not trusted is the client");
  return 0;
}
