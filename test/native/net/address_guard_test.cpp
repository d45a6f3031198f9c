#include "net/address_guard.hpp"

#include <gtest/gtest.h>

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
