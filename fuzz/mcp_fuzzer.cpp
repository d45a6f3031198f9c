// Whatever an MCP server sends, each call ends once and what is sent to it is JSON.
#include <map>
#include <string>

#include "base/json.hpp"
#include "fuzz_support.hpp"
#include "tool/mcp/session.hpp"

using namespace millrace;

namespace {

class Host final : public mcp::SessionHost {
 public:
  void send(mcp::Outgoing message) override {
    json::Document document;
    fuzz::require(document.parse(message.json).ok(), "a message is JSON");
  }
  void drop(mcp::RequestId) override {}
  void opened(std::string_view info) override { check(info); }
  void settled(mcp::CallId call, mcp::Outcome outcome) override {
    if (!outcome.error) check(outcome.result_json);
    fuzz::require(++ends[call] == 1, "a call ends once");
  }
  void progressed(mcp::CallId, std::string_view params) override { check(params); }
  void server_requested(mcp::ServerRequestId, mcp::CallId, std::string_view,
                        std::string_view params) override {
    check(params);
  }
  void withdrawn(mcp::ServerRequestId) override {}
  void notified(std::string_view, std::string_view params) override { check(params); }
  void failed(Error) override {}
  void reopen_failed(Error) override {}

  std::map<mcp::CallId, int> ends;

 private:
  static void check(std::string_view text) {
    json::Document document;
    fuzz::require(document.parse(text).ok(), "what the host is told is JSON");
  }
};

}  // namespace

// The first byte chooses the era; each line is one message.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  Host host;
  mcp::SessionOptions options;
  if (data[0] % 2 == 1) options.protocol = mcp::per_request_version;
  mcp::Session session(options, host);
  mcp::TimePoint now{};
  session.open(now);
  constexpr mcp::CallId calls = 4;
  for (mcp::CallId call = 1; call <= calls; ++call) {
    mcp::CallSpec request;
    request.method = call == 1 ? "tools/list" : "tools/call";
    if (call == 1) request.list_key = "tools";
    request.wants_progress = call == 2;
    session.call(call, request, now);
  }
  std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    const std::string_view line = bytes.substr(0, end);
    session.received(line, now);
    json::Document document;
    // A host answers with what it has written as JSON; parse() takes more than that.
    if (const auto value = document.parse(line)) {
      session.answer(1, value.value().to_json(), now);
    }
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
    now += std::chrono::seconds(1);
    session.on_timer(now);
  }
  session.close(make_error(Errc::engine_closed));
  fuzz::require(host.ends.size() == calls, "every call ends");
  return 0;
}
