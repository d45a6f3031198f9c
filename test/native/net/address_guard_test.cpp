#include "net/address_guard.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <sstream>

#include "net/guard_cases.hpp"

namespace millrace::net {
namespace {

using test::allowed_urls;
using test::blocked_urls;
using test::resolved_blocked;

AddressGuard guard_of(const GuardOptions& options = {}) {
  auto guard = AddressGuard::make(options);
  EXPECT_TRUE(guard) << guard.error().message;
  return std::move(guard).value();
}

std::string verdict(const AddressGuard& guard, std::string_view text) {
  const auto url = parse_url(text);
  if (!url) return std::string(url.error().code_name());
  const auto checked = guard.check_url(url.value());
  return checked ? "ok" : std::string(checked.error().code_name());
}

TEST(AddressGuard, RefusesEveryNotationOfWhatIsNotPublic) {
  static_assert(blocked_urls.size() >= 150);
  const AddressGuard guard = guard_of();
  for (const std::string_view url : blocked_urls) EXPECT_NE(verdict(guard, url), "ok") << url;
}

TEST(AddressGuard, LetsThePublicInternetThrough) {
  const AddressGuard guard = guard_of();
  for (const std::string_view url : allowed_urls) EXPECT_EQ(verdict(guard, url), "ok") << url;
}

TEST(AddressGuard, OneRefusedAddressSpoilsAName) {
  const AddressGuard guard = guard_of();
  for (const auto& [name, list] : resolved_blocked) {
    const Url url = parse_url("http://" + std::string(name) + "/").value();
    EXPECT_TRUE(guard.check_url(url)) << name;
    std::vector<std::string> addresses;
    std::istringstream words{std::string(list)};
    for (std::string word; words >> word;) addresses.push_back(word);
    const auto checked = guard.check_addresses(url, addresses);
    ASSERT_FALSE(checked) << name;
    EXPECT_EQ(checked.error().code, Errc::address_blocked);
  }
  const Url url = parse_url("http://example.com/").value();
  EXPECT_TRUE(guard.check_addresses(url, {"93.184.216.34", "2606:2800:21f:cb07::1"}));
}

TEST(AddressGuard, AllowsWhatTheOperatorNames) {
  GuardOptions options;
  options.allow = {"localhost:3000", "searx.internal", "*.wiki.corp",
                   "10.1.0.0/16",    "[fd00::1]:8080", "192.168.7.7:9000"};
  const AddressGuard guard = guard_of(options);
  for (const char* url :
       {"http://localhost:3000/", "http://LOCALHOST.:3000/", "http://searx.internal:8888/",
        "http://a.b.wiki.corp/", "http://10.1.2.3:8080/", "http://[fd00::1]:8080/",
        "http://[::ffff:10.1.2.3]/", "http://192.168.7.7:9000/", "https://example.com/"}) {
    EXPECT_EQ(verdict(guard, url), "ok") << url;
  }
  for (const char* url :
       {"http://localhost:3001/", "http://evil-searx.internal/", "http://a.searx.internal/",
        "http://wiki.corp/", "http://10.2.0.1/", "http://[fd00::1]/", "http://[fd00::2]:8080/",
        "http://192.168.7.7/", "http://searx.internal@10.2.0.1/", "http://example.com:3000/"}) {
    EXPECT_NE(verdict(guard, url), "ok") << url;
  }
  const Url named = parse_url("http://searx.internal/").value();
  EXPECT_TRUE(guard.check_addresses(named, {"10.9.9.9"}));
  const Url other = parse_url("http://example.com/").value();
  EXPECT_TRUE(guard.check_addresses(other, {"10.1.9.9"}));
  EXPECT_FALSE(guard.check_addresses(other, {"10.9.9.9"}));
}

TEST(AddressGuard, CanBeNarrowed) {
  GuardOptions options;
  options.allow = {"docs.example.com"};
  options.ports = {443};
  options.https_only = true;
  const AddressGuard secure = guard_of(options);
  EXPECT_EQ(verdict(secure, "https://example.org/"), "ok");
  EXPECT_EQ(verdict(secure, "http://docs.example.com/"), "ok");
  EXPECT_EQ(verdict(secure, "http://example.org:443/"), "address_blocked");
  options.allowed_only = true;
  const AddressGuard closed = guard_of(options);
  EXPECT_EQ(verdict(closed, "https://docs.example.com/"), "ok");
  EXPECT_EQ(verdict(closed, "https://93.184.216.34/"), "address_blocked");
  const Url url = parse_url("https://example.org/").value();
  EXPECT_FALSE(closed.check_addresses(url, {"93.184.216.34"}));
}

// The system connects 0.0.0.0 and [::] to this machine.
TEST(AddressGuard, AllowsWhatAnAllowedAddressLeadsTo) {
  GuardOptions options;
  options.allow = {"0.0.0.0", "[::]:81"};
  const AddressGuard guard = guard_of(options);
  const auto leads = [&](std::string_view text, const std::string& address) {
    const Url url = parse_url(text).value();
    return guard.check_url(url).ok() && guard.check_addresses(url, {address}).ok();
  };
  EXPECT_TRUE(leads("http://0.0.0.0:80/", "127.0.0.1"));
  EXPECT_TRUE(leads("http://[::]:81/", "::1"));
  EXPECT_FALSE(leads("http://[::]:80/", "::1"));
  EXPECT_FALSE(leads("http://127.0.0.1:80/", "127.0.0.1"));
  const Url named = parse_url("http://example.com/").value();
  EXPECT_FALSE(guard.check_addresses(named, {"127.0.0.1"}));
  EXPECT_TRUE(guard.check_addresses(named, {"0.0.0.0"}));
}

struct Socket {
  sockaddr_storage storage{};
  socklen_t size = 0;
  [[nodiscard]] const sockaddr* address() const {
    return reinterpret_cast<const sockaddr*>(&storage);
  }
};

Socket socket_to(const char* text, std::uint16_t port, std::uint32_t zone = 0) {
  Socket out;
  auto* ipv4 = reinterpret_cast<sockaddr_in*>(&out.storage);
  auto* ipv6 = reinterpret_cast<sockaddr_in6*>(&out.storage);
  if (inet_pton(AF_INET, text, &ipv4->sin_addr) == 1) {
    ipv4->sin_family = AF_INET;
    ipv4->sin_port = htons(port);
    out.size = sizeof(*ipv4);
  } else if (inet_pton(AF_INET6, text, &ipv6->sin6_addr) == 1) {
    ipv6->sin6_family = AF_INET6;
    ipv6->sin6_port = htons(port);
    ipv6->sin6_scope_id = zone;
    out.size = sizeof(*ipv6);
  }
  return out;
}

// What the URL says does not count here.
TEST(AddressGuard, JudgesTheAddressThatASocketIsOpenedTo) {
  const AddressGuard guard = guard_of();
  const auto leads = [&](const char* url, const Socket& socket) {
    return guard.check_socket(parse_url(url).value(), socket.address(), socket.size).ok();
  };
  EXPECT_TRUE(leads("http://example.com/", socket_to("93.184.216.34", 80)));
  EXPECT_TRUE(leads("https://93.184.216.34/", socket_to("93.184.216.34", 443)));
  EXPECT_TRUE(leads("http://example.com/", socket_to("2606:4700:4700::1111", 80)));
  EXPECT_TRUE(leads("http://example.com/", socket_to("::ffff:8.8.8.8", 80)));
  for (const char* address : {"127.0.0.1", "10.0.0.1", "169.254.169.254", "0.0.0.0", "::1", "::",
                              "::ffff:127.0.0.1", "fd00::1", "fe80::1", "64:ff9b::a9fe:a9fe"}) {
    EXPECT_FALSE(leads("http://example.com/", socket_to(address, 80))) << address;
    EXPECT_FALSE(leads("http://93.184.216.34/", socket_to(address, 80))) << address;
  }
  // Another port, a zone, an address that is cut off, and one that is none.
  EXPECT_FALSE(leads("http://example.com/", socket_to("93.184.216.34", 22)));
  EXPECT_FALSE(leads("http://example.com/", socket_to("2606:4700:4700::1111", 80, 1)));
  for (const char* address : {"93.184.216.34", "2606:4700:4700::1111"}) {
    Socket cut = socket_to(address, 80);
    --cut.size;
    EXPECT_FALSE(leads("http://example.com/", cut));
  }
  Socket local;
  local.storage.ss_family = AF_UNIX;
  local.size = sizeof(sockaddr_un);
  EXPECT_FALSE(leads("http://example.com/", local));
}

TEST(AddressGuard, OpensSocketsToWhatTheOperatorNames) {
  GuardOptions options;
  options.allow = {"searx.internal", "10.1.0.0/16", "0.0.0.0"};
  const AddressGuard guard = guard_of(options);
  const auto leads = [&](const char* url, const Socket& socket) {
    return guard.check_socket(parse_url(url).value(), socket.address(), socket.size).ok();
  };
  EXPECT_TRUE(leads("http://searx.internal/", socket_to("192.168.1.1", 80)));
  EXPECT_TRUE(leads("http://searx.internal/", socket_to("fe80::1", 80, 2)));
  EXPECT_TRUE(leads("http://example.com/", socket_to("10.1.2.3", 80)));
  EXPECT_TRUE(leads("http://0.0.0.0/", socket_to("127.0.0.1", 80)));
  EXPECT_FALSE(leads("http://searx.internal/", socket_to("192.168.1.1", 81)));
  EXPECT_FALSE(leads("http://example.com/", socket_to("10.2.0.1", 80)));
}

TEST(AddressGuard, RefusesUnreadableEntries) {
  for (const char* entry : {"", "a b", "10.0.0.0/33", "10.0.0.0/", "fd00::/129", "a:0", "a:65536",
                            "a:x", "http://a/", "*", "*.", "a/8", "[::1", "a@b"}) {
    GuardOptions options;
    options.allow = {entry};
    EXPECT_FALSE(AddressGuard::make(options)) << entry;
  }
}

TEST(AddressGuard, SaysWhyAndHowToAllow) {
  const auto url = parse_url("http://10.0.0.1/secret?key=1").value();
  const auto checked = guard_of().check_url(url);
  ASSERT_FALSE(checked);
  EXPECT_NE(checked.error().message.find("private network"), std::string::npos);
  EXPECT_EQ(checked.error().message.find("secret"), std::string::npos);
}

}  // namespace
}  // namespace millrace::net
