// Hosts as clients may read them.
#include "base/shown_hosts.hpp"

#include <gtest/gtest.h>

#include "base/error_json.hpp"

namespace millrace {
namespace {

TEST(ShownHosts, MasksTheHostsOfAText) {
  EXPECT_EQ(without_hosts("No connection to http://10.0.0.7:8080: check it."),
            "No connection to http://***:8080: check it.");
  EXPECT_EQ(without_hosts("https://llm.corp.example redirected to 'http://[::1]/a'."),
            "https://***.corp.example redirected to 'http://***/a'.");
  EXPECT_EQ(without_hosts("See https://me:secret@gateway."), "See https://***.");
  EXPECT_EQ(without_hosts("The host name llm.corp.example cannot be resolved."),
            "The host name ***.corp.example cannot be resolved.");
  EXPECT_EQ(without_hosts("no address, ://"), "no address, ://");
  EXPECT_EQ(without_hosts("https://***.corp.example"), "https://***.corp.example");
}

TEST(ShownHosts, MasksOneHostAlone) {
  EXPECT_EQ(without_hosts("http://gateway: see https://docs.vendor.example/errors", "gateway"),
            "http://***: see https://docs.vendor.example/errors");
}

TEST(ShownHosts, FindsTheHostOfAnUrl) {
  EXPECT_EQ(host_in("https://me@a.example:81/b"), "a.example");
  EXPECT_EQ(host_in("http://[::1]:8080/v1"), "[::1]");
  EXPECT_EQ(host_in("nothing"), "");
}

// What clients read has no words about this machine; a provider's own code stays.
TEST(ErrorForClients, KeepsTheDetailsOfThisMachine) {
  const Error store = make_error(Errc::store_failed, {}, "/srv/data/store.db: disk I/O error");
  EXPECT_EQ(for_clients(store).detail, "");
  EXPECT_EQ(for_clients(store).message, store.message);
  EXPECT_EQ(for_clients(make_error(Errc::connect_failed, {}, "10.0.0.7 port 9")).detail, "");
  EXPECT_EQ(for_clients(make_error(Errc::provider_error, {}, "overloaded")).detail, "overloaded");
}

}  // namespace
}  // namespace millrace
