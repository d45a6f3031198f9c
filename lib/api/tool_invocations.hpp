// Calls of tools that go on without their request: each is a run, read by its id.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/api_answers.hpp"
#include "api/api_context.hpp"
#include "api/jobs.hpp"
#include "api/webhooks.hpp"

namespace millrace::api {

// What a run of tool_agent came to, as its journal has it. Nothing for another run, or that of
// another principal.
// Shape: {"request_id", "tool_name", "status": "queued" | "running" | "done" | "error" |
// "cancelled", "ok": boolean or null, "result": string or null, "error": string or null,
// "duration_ms", "created_at"}.
// Thread: the store's.
Result<json::Tree> load_invocation(store::StorageBackend& backend, const store::RunId& run,
                                   const std::optional<std::string>& principal);

// What a callback gets of it.
// Source: contract B.7.
json::Tree invocation_report(const json::Tree& invocation);

// A call that was checked.
struct InvocationRequest {
  std::string principal;
  std::string name;
  json::Tree args;
  json::Tree context;
  json::Tree callback;    // null: none
  std::string trace;      // `traceparent`; "" is none
  std::string idem_key;   // "" is none
  std::string idem_hash;  // of the body
};

// Thread: engine thread.
class ToolInvocations final : public std::enable_shared_from_this<ToolInvocations> {
 public:
  ToolInvocations(ApiContextPtr context, JobsPtr jobs);

  // Answers with `status` once the run is recorded.
  void begin(const InvocationRequest& request, int status, const ResponsePtr& response);
  // Answers with the outcome once the run has ended. A request that comes again waits for the same.
  void call(const InvocationRequest& request, const ResponsePtr& response);
  void read(const http::Request& request, const ResponsePtr& response);
  void cancel(const http::Request& request, const ResponsePtr& response);
  [[nodiscard]] const std::shared_ptr<Webhooks>& webhooks() const { return webhooks_; }
  void close() { webhooks_->close(); }

 private:
  using Found = std::function<void(const store::RunId& run, const json::Tree& invocation)>;
  void find(const http::Request& request, const ResponsePtr& response, const Found& found);
  void watch(const store::RunId& run, const std::string& principal);
  void answer_end(const store::RunId& run, const std::string& principal,
                  const ResponsePtr& response);

  ApiContextPtr context_;
  JobsPtr jobs_;
  std::shared_ptr<CallbackSecrets> secrets_;
  std::shared_ptr<Webhooks> webhooks_;
};

}  // namespace millrace::api
