#include "api/client_address.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/json.hpp"
#include "base/shown.hpp"

namespace millrace::api {
namespace {

constexpr unsigned all_bits = 128;
constexpr unsigned mapped_bits = 96;  // before an IPv4 address in its mapped place
constexpr unsigned byte_bits = 8;

// The number of equal bits at the front.
unsigned common_bits(const net::AddressBytes& one, const net::AddressBytes& other) {
  unsigned bits = 0;
  for (std::size_t at = 0; at < one.size(); ++at) {
    const unsigned difference = static_cast<unsigned>(one[at]) ^ static_cast<unsigned>(other[at]);
    if (difference == 0) {
      bits += byte_bits;
      continue;
    }
    for (unsigned mask = 0x80; (difference & mask) == 0; mask >>= 1U) ++bits;
    break;
  }
  return bits;
}

// Without a port, and without the brackets round an IPv6 address.
std::string_view bare(std::string_view entry) {
  entry = json::trim(entry);
  if (entry.starts_with('[')) return entry.substr(1, entry.find(']') - 1);
  const bool has_port = std::count(entry.begin(), entry.end(), ':') == 1;
  return has_port ? entry.substr(0, entry.find(':')) : entry;
}

// Proxies add their entry to the last field, or add a field.
std::vector<std::string_view> forwarded_in(const http::Headers& headers) {
  std::vector<std::string_view> entries;
  for (const http::Header& field : headers) {
    if (!http::Headers({{field.name, ""}}).find("X-Forwarded-For")) continue;
    std::string_view rest = field.value;
    for (std::size_t comma = 0; comma != std::string_view::npos;) {
      comma = rest.find(',');
      entries.push_back(bare(rest.substr(0, comma)));
      if (comma != std::string_view::npos) rest.remove_prefix(comma + 1);
    }
  }
  return entries;
}

}  // namespace

Result<TrustedProxies> TrustedProxies::make(const std::vector<std::string>& addresses) {
  TrustedProxies made;
  for (const std::string& text : addresses) {
    const std::size_t slash = text.find('/');
    const auto address = net::parse_address(text.substr(0, slash));
    const bool is_four = text.find(':') == std::string::npos;
    const unsigned most = is_four ? all_bits - mapped_bits : all_bits;
    unsigned bits = most;
    bool is_good = address.ok();
    if (slash != std::string::npos) {
      const char* end = text.data() + text.size();
      const auto read = std::from_chars(text.data() + slash + 1, end, bits);
      is_good = is_good && read.ec == std::errc() && read.ptr == end && bits <= most;
    }
    if (!is_good) {
      return make_error(Errc::invalid_option,
                        "`trustedProxies` has addresses and blocks such as 10.0.0.0/8, not " +
                            shown_text(text) + ".");
    }
    made.blocks_.push_back({address.value(), bits + (is_four ? mapped_bits : 0)});
  }
  return made;
}

bool TrustedProxies::trusts(std::string_view address) const {
  const auto bytes = net::parse_address(address);
  return bytes && std::any_of(blocks_.begin(), blocks_.end(), [&](const Block& block) {
           return common_bits(bytes.value(), block.address) >= block.bits;
         });
}

std::string TrustedProxies::client_of(std::string_view peer, const http::Headers& headers) const {
  if (blocks_.empty() || !trusts(peer)) return std::string(peer);
  std::string client(peer);
  const auto entries = forwarded_in(headers);
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    if (!net::parse_address(*entry)) break;
    client = *entry;
    if (!trusts(client)) break;
  }
  return client;
}

}  // namespace millrace::api
