// Which addresses a request may reach whose URL was not written by the operator: a model's, a web
// page's, a plugin's. Refuses everything that is not the public internet, in every notation.
//
// A request carries the guard (Request::guard); the client asks it for the URL of each hop, for
// every address its name has, and again for each socket before it is opened.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "net/url.hpp"

namespace millrace::net {

// An address without its notation: IPv4 stands in its IPv4-mapped place (::ffff:0:0/96).
using AddressBytes = std::array<std::uint8_t, 16>;

// Errors: invalid_argument for what is no numeric address, or one with a zone.
Result<AddressBytes> parse_address(std::string_view text);

// The name of the special-purpose block that holds the address, or "" for an address of the public
// internet. IPv4 inside IPv6 (mapped, NAT64) counts as the IPv4 it stands for.
// Source: IANA IPv4 and IPv6 Special-Purpose Address Registries, 2024-10; 6to4 and Teredo are
// refused as a whole.
std::string_view special_purpose(const AddressBytes& address);

struct GuardOptions {
  // What may be reached besides the public internet: "host", "*.domain", an address, or a block
  // "10.1.0.0/16"; each may end in ":port" (IPv6 then in brackets).
  std::vector<std::string> allow;
  // Of hosts that `allow` does not name.
  std::vector<std::uint16_t> ports{80, 443};
  // Refuses http: except for hosts that `allow` names.
  bool https_only = false;
  // Only what `allow` names may be reached.
  bool allowed_only = false;
  // A proxy, which looks names up itself, is trusted to refuse what the guard would refuse; without
  // this a guarded request takes none. URLs are checked all the same.
  bool trusts_proxy = false;
};

// Thread: any; it never changes.
class AddressGuard {
 public:
  // Errors: invalid_option for an entry of `allow` that cannot be read.
  static Result<AddressGuard> make(const GuardOptions& options);

  // Whether a hop may go to the URL, as far as the URL tells: scheme, port, name, written address.
  // Errors: address_blocked.
  [[nodiscard]] Result<void> check_url(const Url& url) const;
  // Whether the URL's name may have these addresses: one that is refused spoils all.
  // Errors: address_blocked.
  [[nodiscard]] Result<void> check_addresses(const Url& url,
                                             const std::vector<std::string>& addresses) const;
  // Whether a socket may be opened for the URL that will be connected to this address. Whatever
  // became of the URL's host on the way, this is where it leads.
  // Errors: address_blocked.
  [[nodiscard]] Result<void> check_socket(const Url& url, const sockaddr* address,
                                          socklen_t size) const;
  [[nodiscard]] bool trusts_proxy() const { return trusts_proxy_; }

 private:
  struct Entry {
    std::string host;        // "" for a block of addresses; ".domain" for all names below it
    AddressBytes address{};  // of a block
    unsigned prefix = 0;
    std::string port;  // "" for any
  };
  static Result<Entry> read_entry(std::string_view text);

  [[nodiscard]] bool names(const Url& url) const;
  [[nodiscard]] bool holds(const AddressBytes& address, std::string_view port) const;
  [[nodiscard]] bool allows_written(const Url& url) const;
  [[nodiscard]] Result<void> check_address(const Url& url, std::string_view address) const;
  [[nodiscard]] Result<void> check_bytes(const Url& url, const AddressBytes& bytes) const;

  std::vector<Entry> entries_;
  std::vector<std::string> ports_;
  bool https_only_ = false;
  bool allowed_only_ = false;
  bool trusts_proxy_ = false;
};

}  // namespace millrace::net
