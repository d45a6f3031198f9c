#include "net/address_guard.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

namespace millrace::net {
namespace {

struct Block {
  std::string_view text;
  unsigned prefix;
  std::string_view name;
};

constexpr unsigned mapped_bits = 96;

// Longest prefixes need not come first: every row refuses.
constexpr std::array ipv4_blocks{Block{"0.0.0.0", 8, "this network"},
                                 Block{"10.0.0.0", 8, "a private network"},
                                 Block{"100.64.0.0", 10, "a shared address space"},
                                 Block{"127.0.0.0", 8, "this machine"},
                                 Block{"168.63.129.16", 32, "a cloud's metadata service"},
                                 Block{"169.254.0.0", 16, "a link-local network"},
                                 Block{"172.16.0.0", 12, "a private network"},
                                 Block{"192.0.0.0", 24, "protocol assignments"},
                                 Block{"192.0.2.0", 24, "documentation"},
                                 Block{"192.31.196.0", 24, "AS112 name servers"},
                                 Block{"192.52.193.0", 24, "multicast tunnelling"},
                                 Block{"192.88.99.0", 24, "6to4 relays"},
                                 Block{"192.168.0.0", 16, "a private network"},
                                 Block{"192.175.48.0", 24, "AS112 name servers"},
                                 Block{"198.18.0.0", 15, "benchmarking"},
                                 Block{"198.51.100.0", 24, "documentation"},
                                 Block{"203.0.113.0", 24, "documentation"},
                                 Block{"224.0.0.0", 4, "multicast"},
                                 Block{"240.0.0.0", 4, "a reserved block"}};

// Of 2000::/3, the only global unicast addresses there are.
constexpr std::array ipv6_blocks{
    Block{"2001::", 23, "protocol assignments"}, Block{"2001:db8::", 32, "documentation"},
    Block{"2002::", 16, "6to4"}, Block{"2620:4f:8000::", 48, "AS112 name servers"},
    Block{"3fff::", 20, "documentation"}};

// Others of ::/0 that are worth a name.
constexpr std::array named_blocks{Block{"::", 128, "no address"}, Block{"::1", 128, "this machine"},
                                  Block{"fc00::", 7, "a private network"},
                                  Block{"fe80::", 10, "a link-local network"},
                                  Block{"ff00::", 8, "multicast"}};

// Names that never mean a host of the public internet.
constexpr std::array<std::string_view, 13> private_suffixes{
    "localhost", "localdomain", "localdomain6", "local", "internal", "intranet", "private",
    "corp",      "home",        "home.arpa",    "lan",   "svc",      "default"};

bool is_within(const AddressBytes& address, const AddressBytes& block, unsigned prefix) {
  for (std::size_t i = 0; i < address.size() && prefix > 0; ++i) {
    const unsigned bits = std::min(prefix, 8U);
    const unsigned mask = 0xFFU << (8U - bits) & 0xFFU;
    if ((address[i] & mask) != (block[i] & mask)) return false;
    prefix -= bits;
  }
  return true;
}

template <std::size_t N>
std::string_view name_in(const std::array<Block, N>& blocks, const AddressBytes& address,
                         unsigned offset) {
  for (const Block& block : blocks) {
    const auto bytes = parse_address(block.text);
    if (bytes && is_within(address, bytes.value(), block.prefix + offset)) return block.name;
  }
  return {};
}

AddressBytes mapped(const std::uint8_t* ipv4) {
  AddressBytes out{};
  out[10] = out[11] = 0xFF;
  std::copy_n(ipv4, 4, out.begin() + 12);
  return out;
}

bool is_mapped(const AddressBytes& address) {
  return is_within(address, mapped(address.data()), mapped_bits);
}

// 64:ff9b::/96, whose addresses a translator sends on to the IPv4 in their last 32 bits.
bool is_translated(const AddressBytes& address) {
  const AddressBytes prefix{0x00, 0x64, 0xFF, 0x9B};
  return is_within(address, prefix, mapped_bits);
}

Error blocked(const Url& url, std::string_view why) {
  return make_error(Errc::address_blocked, url.origin() + " is not allowed: " + std::string(why) +
                                               ". Add it to `allow` if the request is intended.");
}

struct Place {
  AddressBytes address{};
  std::uint16_t port = 0;
  bool has_zone = false;
};

// Nothing for what is no address of the internet.
std::optional<Place> place_of(const sockaddr* address, socklen_t size) {
  sockaddr_in ipv4{};
  sockaddr_in6 ipv6{};
  if (address->sa_family == AF_INET && size >= sizeof(ipv4)) {
    std::memcpy(&ipv4, address, sizeof(ipv4));
    std::array<std::uint8_t, sizeof(ipv4.sin_addr)> bytes{};
    std::memcpy(bytes.data(), &ipv4.sin_addr, bytes.size());
    return Place{mapped(bytes.data()), ntohs(ipv4.sin_port), false};
  }
  if (address->sa_family != AF_INET6 || size < sizeof(ipv6)) return std::nullopt;
  std::memcpy(&ipv6, address, sizeof(ipv6));
  Place place{{}, ntohs(ipv6.sin6_port), ipv6.sin6_scope_id != 0};
  std::memcpy(place.address.data(), &ipv6.sin6_addr, place.address.size());
  return place;
}

bool is_below(std::string_view host, std::string_view domain) {
  return host == domain || (host.size() > domain.size() && host.ends_with(domain) &&
                            host[host.size() - domain.size() - 1] == '.');
}

bool is_numeric(std::string_view host) {
  return host.find(':') != std::string_view::npos || parse_address(host).ok();
}

std::string without_dot(std::string_view host) {
  return std::string(host.ends_with('.') ? host.substr(0, host.size() - 1) : host);
}

}  // namespace

Result<AddressBytes> parse_address(std::string_view text) {
  const std::string terminated(text);
  AddressBytes bytes{};
  if (inet_pton(AF_INET6, terminated.c_str(), bytes.data()) == 1) return bytes;
  std::array<std::uint8_t, 4> ipv4{};
  if (inet_pton(AF_INET, terminated.c_str(), ipv4.data()) == 1) return mapped(ipv4.data());
  return make_error(Errc::invalid_argument, "'" + terminated + "' is not a numeric address.");
}

std::string_view special_purpose(const AddressBytes& address) {
  if (is_mapped(address)) return name_in(ipv4_blocks, address, mapped_bits);
  if (is_translated(address)) return name_in(ipv4_blocks, mapped(address.data() + 12), mapped_bits);
  constexpr unsigned global_prefix = 3;
  if (is_within(address, {0x20}, global_prefix)) return name_in(ipv6_blocks, address, 0);
  const std::string_view name = name_in(named_blocks, address, 0);
  return name.empty() ? "a reserved block" : name;
}

Result<AddressGuard::Entry> AddressGuard::read_entry(std::string_view text) {
  const auto rejected = [&] {
    return make_error(Errc::invalid_option,
                      "'" + std::string(text) +
                          "' cannot be allowed: give a host, *.domain, an address or a block "
                          "(10.0.0.0/8), each with or without :port.");
  };
  Entry entry;
  std::string host(text);
  std::transform(host.begin(), host.end(), host.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  const std::size_t colon = host.rfind(':');
  const bool is_bracketed = host.starts_with('[');
  const bool has_port = colon != std::string::npos &&
                        (is_bracketed ? host[colon - 1] == ']' : host.find(':') == colon);
  if (has_port) {
    entry.port = host.substr(colon + 1);
    host.resize(colon);
    unsigned port = 0;
    const char* end = entry.port.data() + entry.port.size();
    const auto read = std::from_chars(entry.port.data(), end, port);
    if (read.ec != std::errc{} || read.ptr != end || port == 0 || port > 65535) return rejected();
  }
  if (is_bracketed) {
    if (!host.ends_with(']')) return rejected();
    host = host.substr(1, host.size() - 2);
  }
  std::string prefix;
  if (const std::size_t slash = host.find('/'); slash != std::string::npos) {
    prefix = host.substr(slash + 1);
    host.resize(slash);
    if (prefix.empty()) return rejected();
  }
  if (const auto address = parse_address(host)) {
    const unsigned offset = host.find(':') == std::string::npos ? mapped_bits : 0;
    entry.address = address.value();
    entry.prefix = 128;
    if (prefix.empty()) return entry;
    const char* end = prefix.data() + prefix.size();
    const auto read = std::from_chars(prefix.data(), end, entry.prefix);
    entry.prefix += offset;
    if (read.ec != std::errc{} || read.ptr != end || entry.prefix > 128) return rejected();
    return entry;
  }
  if (host.starts_with("*.")) host.erase(0, 1);
  entry.host = without_dot(host);
  const bool is_name = !entry.host.empty() && entry.host != "." &&
                       entry.host.find_first_of("*/:@[]% ") == std::string::npos;
  if (!prefix.empty() || !is_name) return rejected();
  return entry;
}

Result<AddressGuard> AddressGuard::make(const GuardOptions& options) {
  AddressGuard guard;
  for (const std::string& text : options.allow) {
    auto entry = read_entry(text);
    if (!entry) return std::move(entry).error();
    guard.entries_.push_back(std::move(entry).value());
  }
  for (const std::uint16_t port : options.ports) guard.ports_.push_back(std::to_string(port));
  guard.https_only_ = options.https_only;
  guard.allowed_only_ = options.allowed_only;
  guard.trusts_proxy_ = options.trusts_proxy;
  return guard;
}

bool AddressGuard::names(const Url& url) const {
  const std::string host = without_dot(url.host);
  return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    if (entry.host.empty() || (!entry.port.empty() && entry.port != url.port)) return false;
    return entry.host.starts_with('.')
               ? host.size() > entry.host.size() && host.ends_with(entry.host)
               : host == entry.host;
  });
}

bool AddressGuard::holds(const AddressBytes& address, std::string_view port) const {
  return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.host.empty() && (entry.port.empty() || entry.port == port) &&
           is_within(address, entry.address, entry.prefix);
  });
}

Result<void> AddressGuard::check_url(const Url& url) const {
  const std::size_t authority = url.scheme.size() + 3;
  const std::string_view place =
      std::string_view(url.text).substr(authority, url.text.find('/', authority) - authority);
  if (place.find_first_of("%\\@") != std::string_view::npos) {
    return blocked(url, "its host has a zone or a name that resolvers read differently");
  }
  if (names(url)) return {};
  if (allows_written(url)) return {};
  if (https_only_ && url.scheme != "https") return blocked(url, "only https: is allowed");
  if (std::find(ports_.begin(), ports_.end(), url.port) == ports_.end()) {
    return blocked(url, "its port " + url.port + " is not on the allow list");
  }
  if (is_numeric(url.host)) return check_address(url, url.host);
  const std::string host = without_dot(url.host);
  if (host.starts_with('.') || host.ends_with('.') || host.find("..") != std::string::npos) {
    return blocked(url, "its host has an empty label");
  }
  if (ends_in_number(host)) return blocked(url, "its host is a number in an unusual notation");
  const bool is_private =
      host.find('.') == std::string::npos ||
      std::any_of(private_suffixes.begin(), private_suffixes.end(),
                  [&](std::string_view suffix) { return is_below(host, suffix); });
  if (is_private) return blocked(url, "its host is a name of a private network");
  // Whether the list holds its addresses is known when they are.
  return {};
}

Result<void> AddressGuard::check_address(const Url& url, std::string_view address) const {
  const auto bytes = parse_address(address);
  if (!bytes) return blocked(url, "its address cannot be read");
  return check_bytes(url, bytes.value());
}

Result<void> AddressGuard::check_bytes(const Url& url, const AddressBytes& bytes) const {
  if (holds(bytes, url.port)) return {};
  const std::string_view block = special_purpose(bytes);
  if (!block.empty()) return blocked(url, "its address is one of " + std::string(block));
  if (allowed_only_) return blocked(url, "only the hosts in `allow` are allowed");
  return {};
}

// Who allows an address that is written allows what it leads to: 0.0.0.0 is this machine.
bool AddressGuard::allows_written(const Url& url) const {
  const auto written = parse_address(url.host);
  return written && holds(written.value(), url.port);
}

Result<void> AddressGuard::check_addresses(const Url& url,
                                           const std::vector<std::string>& addresses) const {
  if (names(url) || allows_written(url)) return {};
  for (const std::string& address : addresses) MILLRACE_TRY(check_address(url, address));
  return {};
}

Result<void> AddressGuard::check_socket(const Url& url, const sockaddr* address,
                                        socklen_t size) const {
  const auto place = place_of(address, size);
  if (!place) return blocked(url, "its address cannot be read");
  if (std::to_string(place->port) != url.port) return blocked(url, "it leads to another port");
  if (names(url) || allows_written(url)) return {};
  if (place->has_zone) return blocked(url, "its address has a zone");
  return check_bytes(url, place->address);
}

}  // namespace millrace::net
