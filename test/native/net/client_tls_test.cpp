#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "net/client.hpp"
#include "support/client_rig.hpp"
#include "support/raw_server.hpp"

namespace millrace::net {
namespace {

using test::ClientRig;
using test::Peer;
using test::RawServer;
using test::TlsIdentity;

class ClientTls : public testing::Test {
 protected:
  void SetUp() override {
    if (!TlsIdentity::is_available()) GTEST_SKIP() << "built without OpenSSL's headers";
    identity_ = std::make_unique<TlsIdentity>();
    server_ = std::make_unique<RawServer>(
        [](Peer& peer) {
          while (!peer.read_request().empty()) {
            peer.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
            for (int i = 0; i < 50; ++i) peer.write_chunk(std::string(3000, 's'));
            peer.write_chunk("");
          }
        },
        identity_.get());
  }
  std::string write_file(const std::string& text) {
    std::string path = testing::TempDir() + "millrace-ca-" + std::to_string(getpid()) + ".pem";
    std::ofstream(path) << text;
    files_.push_back(path);
    return path;
  }
  void TearDown() override {
    for (const std::string& path : files_) unlink(path.c_str());
  }
  void expect_trusted(const ClientOptions& options) {
    ClientRig rig(options);
    for (int i = 0; i < 2; ++i) {
      const auto recorder = rig.get(server_->url("/", "localhost"));
      EXPECT_EQ(recorder->outcome(), "ok") << recorder->error().detail;
      EXPECT_EQ(recorder->body().size(), 150'000U);
    }
  }

  std::unique_ptr<TlsIdentity> identity_;
  std::unique_ptr<RawServer> server_;
  std::vector<std::string> files_;
};

TEST_F(ClientTls, RefusesAnUnknownAuthorityAndNamesTheFix) {
  ClientRig rig;
  const auto recorder = rig.get(server_->url("/", "localhost"));
  EXPECT_EQ(recorder->outcome(), "tls_failed");
  EXPECT_FALSE(recorder->has_head());
  EXPECT_NE(recorder->error().message.find("NODE_EXTRA_CA_CERTS"), std::string::npos);
}

TEST_F(ClientTls, RefusesAnotherAuthority) {
  ClientOptions options;
  options.extra_ca_texts = {TlsIdentity().authority_pem()};
  ClientRig rig(options);
  EXPECT_EQ(rig.get(server_->url("/", "localhost"))->outcome(), "tls_failed");
}

TEST_F(ClientTls, RefusesACertificateForAnotherHost) {
  ClientOptions options;
  options.extra_ca_texts = {identity_->authority_pem()};
  options.resolver.lookup = [](const std::string&) {
    return Result<os::Addresses>(os::Addresses{"127.0.0.1"});
  };
  ClientRig rig(options);
  const auto recorder = rig.get(server_->url("/", "other.test"));
  EXPECT_EQ(recorder->outcome(), "tls_failed");
  EXPECT_NE(recorder->error().message.find("another name"), std::string::npos)
      << recorder->error().message << recorder->error().detail;
}

TEST_F(ClientTls, SaysThatACertificateHasExpired) {
  const TlsIdentity expired(-60);
  RawServer server([](Peer& peer) { peer.read_request(); }, &expired);
  ClientOptions options;
  options.extra_ca_texts = {expired.authority_pem()};
  ClientRig rig(options);
  const auto recorder = rig.get(server.url("/", "localhost"));
  EXPECT_EQ(recorder->outcome(), "tls_failed");
  EXPECT_NE(recorder->error().message.find("has expired"), std::string::npos)
      << recorder->error().message << recorder->error().detail;
}

TEST_F(ClientTls, TrustsAnExtraAuthorityByTextAndReusesTheConnection) {
  ClientOptions options;
  options.extra_ca_texts = {identity_->authority_pem()};
  expect_trusted(options);
  EXPECT_EQ(server_->accepted(), 1);
}

TEST_F(ClientTls, TrustsAnExtraAuthorityByFile) {
  ClientOptions options;
  options.extra_ca_files = {write_file(identity_->authority_pem())};
  expect_trusted(options);
}

TEST_F(ClientTls, TrustsAFileInPlaceOfTheSystemRoots) {
  ClientOptions options;
  options.ca_file = write_file(identity_->authority_pem());
  expect_trusted(options);
}

TEST_F(ClientTls, NamesAnExtraFileThatCannotBeRead) {
  ClientOptions options;
  options.extra_ca_files = {"/nonexistent/extra.pem"};
  ClientRig rig(options);
  const auto recorder = rig.get(server_->url("/", "localhost"));
  EXPECT_EQ(recorder->outcome(), "tls_failed");
  EXPECT_NE(recorder->error().message.find("/nonexistent/extra.pem"), std::string::npos);
}

TEST_F(ClientTls, PausesAndResumes) {
  ClientOptions options;
  options.extra_ca_texts = {identity_->authority_pem()};
  ClientRig rig(options);
  Request request;
  request.url = server_->url("/");
  auto recorder = std::make_shared<test::Recorder>();
  TransferId id = 0;
  recorder->after_data = [&] { rig.client().pause(id); };
  rig.on_loop([&] { id = rig.client().start(request, recorder); });
  while (!recorder->is_done()) rig.resume(id);
  EXPECT_EQ(recorder->outcome(), "ok");
  EXPECT_EQ(recorder->body().size(), 150'000U);
}

TEST_F(ClientTls, APlainServerIsATlsFailure) {
  RawServer plain([](Peer& peer) {
    peer.write("HTTP/1.1 400 Bad Request\r\n\r\n");
    peer.closes_within(test::grace_period);
  });
  ClientRig rig;
  const auto recorder = rig.get("https://127.0.0.1:" + std::to_string(plain.port()) + "/");
  EXPECT_EQ(recorder->outcome(), "tls_failed");
}

TEST_F(ClientTls, AConnectionThatBreaksInTheHandshakeIsLost) {
  RawServer breaking([](Peer& peer) {
    peer.receives_within(test::grace_period);
    peer.reset();
  });
  ClientRig rig;
  const auto recorder = rig.get("https://127.0.0.1:" + std::to_string(breaking.port()) + "/");
  EXPECT_EQ(recorder->outcome(), "connection_lost") << recorder->error().detail;
}

TEST_F(ClientTls, TrustsTheAuthoritiesOfARouteForItsRequestsAlone) {
  ClientRig rig;
  Request request;
  request.url = server_->url("/", "localhost");
  Route route;
  route.authorities = identity_->authority_pem();
  request.route = std::make_shared<const Route>(route);
  const auto trusted = rig.start(request);
  EXPECT_EQ(trusted->outcome(), "ok") << trusted->error().detail;
  EXPECT_EQ(rig.get(server_->url("/", "localhost"))->outcome(), "tls_failed");
  const TlsIdentity other;
  route.authorities = other.authority_pem();
  request.route = std::make_shared<const Route>(route);
  const auto rejected = rig.start(request);
  EXPECT_EQ(rejected->outcome(), "tls_failed");
  // What is set is named, and what would change nothing is not.
  EXPECT_NE(rejected->error().message.find("`ca`"), std::string::npos);
  EXPECT_EQ(rejected->error().message.find("NODE_EXTRA_CA_CERTS"), std::string::npos);
}

}  // namespace
}  // namespace millrace::net
