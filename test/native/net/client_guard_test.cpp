// The guard where it counts: in the client, with names that change their addresses and redirects.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <sstream>

#include "net/address_guard.hpp"
#include "net/curl_handles.hpp"
#include "net/guard_cases.hpp"
#include "net/idle_sockets.hpp"
#include "net/transfer.hpp"
#include "os/event_loop.hpp"
#include "support/client_rig.hpp"
#include "support/raw_server.hpp"

namespace {
std::atomic<int> sockets_opened{0};
}

#ifdef MILLRACE_COUNT_SOCKETS
// The linker sends the engine's calls of socket() here.
extern "C" {
int __real_socket(int domain, int type, int protocol);
int __wrap_socket(int domain, int type, int protocol) {
  ++sockets_opened;
  return __real_socket(domain, type, protocol);
}
}
#endif

namespace millrace::net {
namespace {

using test::ClientRig;
using test::Peer;
using test::RawServer;
using test::Recorder;

// Names and the answers that come one after the other; the last stays.
class Names {
 public:
  void set(const std::string& name, std::vector<os::Addresses> answers) {
    const std::lock_guard lock(mutex_);
    answers_[name] = std::move(answers);
  }
  ClientOptions options() {
    ClientOptions options;
    options.resolver.keep = std::chrono::seconds(0);
    options.resolver.lookup = [this](const std::string& host) -> Result<os::Addresses> {
      const std::lock_guard lock(mutex_);
      const auto found = answers_.find(host);
      if (found == answers_.end()) return make_error(Errc::name_resolution_failed);
      os::Addresses first = found->second.front();
      if (found->second.size() > 1) found->second.erase(found->second.begin());
      return first;
    };
    return options;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::vector<os::Addresses>> answers_;
};

std::shared_ptr<const AddressGuard> shared_guard(const GuardOptions& options = {}) {
  auto guard = AddressGuard::make(options);
  EXPECT_TRUE(guard);
  return std::make_shared<const AddressGuard>(std::move(guard).value());
}

std::shared_ptr<Recorder> get(ClientRig& rig, std::string_view url,
                              std::shared_ptr<const AddressGuard> guard) {
  Request request;
  request.url = url;
  request.guard = std::move(guard);
  return rig.start(std::move(request));
}

std::string with_port(std::string_view host, const RawServer& server, std::string_view path = "/") {
  return "http://" + std::string(host) + ":" + std::to_string(server.port()) + std::string(path);
}

// Public names on any port of the test, which no default list of ports would have.
GuardOptions port_of(const RawServer& server) {
  GuardOptions options;
  options.ports = {server.port()};
  return options;
}

TEST(ClientGuard, OpensNoSocketForARefusedUrl) {
  Names names;
  for (const auto& [name, list] : test::resolved_blocked) {
    os::Addresses addresses;
    std::istringstream words{std::string(list)};
    for (std::string word; words >> word;) addresses.push_back(word);
    names.set(std::string(name), {addresses});
  }
  ClientRig rig(names.options());
  const auto guard = shared_guard();
  const int before = sockets_opened;
  for (const std::string_view url : test::blocked_urls) {
    const std::string outcome = get(rig, url, guard)->outcome();
    EXPECT_TRUE(outcome == "address_blocked" || outcome == "invalid_url") << url << " " << outcome;
  }
  for (const auto& row : test::resolved_blocked) {
    const std::string url = "http://" + std::string(row.name) + "/";
    EXPECT_EQ(get(rig, url, guard)->outcome(), "address_blocked") << url;
  }
  EXPECT_EQ(sockets_opened, before);
}

TEST(ClientGuard, LooksAtEveryAnswerOfAName) {
  RawServer server([](Peer& peer) {
    while (!peer.read_request().empty()) peer.write(test::response(200, "", "inside"));
  });
  Names names;
  // It was public when the caller looked; what counts is the answer that is connected to.
  names.set("rebinding.example.com", {{"127.0.0.1"}, {"93.184.216.34"}});
  ClientRig rig(names.options());
  const auto guard = shared_guard(port_of(server));
  EXPECT_EQ(get(rig, with_port("rebinding.example.com", server), guard)->outcome(),
            "address_blocked");
  EXPECT_EQ(server.accepted(), 0);
}

TEST(ClientGuard, PinsTheAddressesThatWereChecked) {
  RawServer server([](Peer& peer) {
    while (!peer.read_request().empty()) peer.write(test::response(200, "", "inside"));
  });
  Names names;
  names.set("allowed.example.com", {{"127.0.0.1"}, {"203.0.113.1"}});
  ClientRig rig(names.options());
  GuardOptions options;
  options.allow = {"127.0.0.0/8"};
  options.ports = {server.port()};
  const auto recorder = get(rig, with_port("allowed.example.com", server), shared_guard(options));
  EXPECT_EQ(recorder->outcome(), "ok");
  EXPECT_EQ(recorder->body(), "inside");
}

TEST(ClientGuard, DoesNotUseAConnectionThatAnotherRequestOpened) {
  RawServer server([](Peer& peer) {
    while (!peer.read_request().empty()) peer.write(test::response(200, "", "inside"));
  });
  Names names;
  names.set("shared.example.com", {{"127.0.0.1"}, {"93.184.216.34"}});
  ClientRig rig(names.options());
  const std::string url = with_port("shared.example.com", server);
  ASSERT_EQ(rig.get(url)->outcome(), "ok");
  const auto guarded = get(rig, url, shared_guard(port_of(server)));
  EXPECT_EQ(guarded->outcome(), "address_blocked");
  EXPECT_EQ(guarded->body(), "");
}

// Whatever libcurl makes of a URL behind the guard's back: here it is told to go elsewhere.
TEST(ClientGuard, OpensNoSocketToAnAddressThatItDidNotJudge) {
  RawServer server([](Peer& peer) {
    while (!peer.read_request().empty()) peer.write(test::response(200, "", "inside"));
  });
  os::EventLoop loop;
  Request request;
  request.url = with_port("93.184.216.34", server);
  request.guard = shared_guard(port_of(server));
  Transfer transfer(loop, 1, std::move(request), std::make_shared<Recorder>(), {[] {}, [] {}});
  ASSERT_TRUE(transfer.prepare());
  ASSERT_TRUE(transfer.permit_url());
  ASSERT_TRUE(transfer.permit({}));
  IdleSockets sockets;
  const ClientOptions options;
  const Transfer::Settings settings(options);
  ASSERT_TRUE(transfer.attach(CurlEasy(curl_easy_init()), {}, settings, sockets, false));
  CurlList elsewhere;
  ASSERT_TRUE(elsewhere.add("::127.0.0.1:"));
  curl_easy_setopt(transfer.easy(), CURLOPT_CONNECT_TO, elsewhere.get());
  const int before = sockets_opened;
  EXPECT_EQ(curl_easy_perform(transfer.easy()), CURLE_COULDNT_CONNECT);
  EXPECT_EQ(sockets_opened, before);
  EXPECT_EQ(server.accepted(), 0);
  ASSERT_TRUE(transfer.error());
  EXPECT_EQ(transfer.error()->code, Errc::address_blocked);
}

TEST(ClientGuard, ChecksEachRedirect) {
  RawServer inner([](Peer& peer) {
    while (!peer.read_request().empty()) peer.write(test::response(200, "", "secret"));
  });
  const std::string inner_port = std::to_string(inner.port());
  const std::array targets{"http://127.0.0.1:" + inner_port + "/",
                           "//127.0.0.1:" + inner_port + "/",
                           "http://2130706433:" + inner_port + "/",
                           "http://[::ffff:127.0.0.1]:" + inner_port + "/",
                           "http://inner.example.com:" + inner_port + "/",
                           "http://localhost:" + inner_port + "/",
                           "http://127.0.0.1.:" + inner_port + "/",
                           "//127.1.:" + inner_port + "/",
                           std::string("http://169.254.169.254/latest/"),
                           std::string("file:///etc/passwd"),
                           std::string("gopher://127.0.0.1/")};
  std::string target;
  RawServer outer([&](Peer& peer) {
    while (!peer.read_request().empty()) {
      peer.write("HTTP/1.1 302 Found\r\nLocation: " + target + "\r\nContent-Length: 0\r\n\r\n");
    }
  });
  Names names;
  names.set("outer.example.com", {{"127.0.0.1"}});
  names.set("inner.example.com", {{"127.0.0.1"}});
  ClientRig rig(names.options());
  GuardOptions options;
  options.allow = {"outer.example.com"};
  options.ports = {80, inner.port()};
  for (const std::string& one : targets) {
    target = one;
    const auto recorder = get(rig, with_port("outer.example.com", outer), shared_guard(options));
    const std::string outcome = recorder->outcome();
    EXPECT_TRUE(outcome == "address_blocked" || outcome == "protocol_error") << one << outcome;
    EXPECT_FALSE(recorder->has_head());
  }
  EXPECT_EQ(inner.accepted(), 0);
}

std::shared_ptr<Recorder> get_over(ClientRig& rig, const RawServer& proxy, std::string_view url,
                                   const GuardOptions& options, std::string_view no_proxy = "") {
  Route route;
  route.http_proxy = with_port("127.0.0.1", proxy, "");
  route.no_proxy = no_proxy;
  Request request;
  request.url = url;
  request.guard = shared_guard(options);
  request.route = std::make_shared<const Route>(route);
  return rig.start(std::move(request));
}

TEST(ClientGuard, TakesNoProxyUnlessItIsTrusted) {
  RawServer proxy([](Peer& peer) {
    while (!peer.read_request().empty()) peer.write(test::response(200, "", "over the proxy"));
  });
  Names names;
  names.set("inner.example.com", {{"127.0.0.1"}});
  ClientRig rig(names.options());
  EXPECT_EQ(get_over(rig, proxy, "http://example.com/", {})->outcome(), "address_blocked");
  EXPECT_EQ(proxy.accepted(), 0);
  GuardOptions options;
  options.trusts_proxy = true;
  const auto through = get_over(rig, proxy, "http://example.com/", options);
  EXPECT_EQ(through->outcome(), "ok");
  EXPECT_EQ(through->body(), "over the proxy");
  // The address says enough, and a host that is reached without the proxy is looked up here.
  EXPECT_EQ(get_over(rig, proxy, "http://10.0.0.1/", options)->outcome(), "address_blocked");
  EXPECT_EQ(get_over(rig, proxy, "http://localhost/", options)->outcome(), "address_blocked");
  EXPECT_EQ(
      get_over(rig, proxy, "http://inner.example.com/", options, "a.org, .example.com")->outcome(),
      "address_blocked");
  EXPECT_EQ(proxy.accepted(), 1);
}

}  // namespace
}  // namespace millrace::net
