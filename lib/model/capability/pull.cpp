// Pulling a model: Ollama alone. The answer is NDJSON that tells the progress; it goes to the
// caller as it comes, so nothing is read here.
#include <array>

#include "model/capability/rows.hpp"

namespace millrace::model {
namespace {

Result<CapabilityBody> pull_body(const json::Value& options) {
  message::JsonBuilder out(json::Surrogates::replace);
  out.open_object();
  out.value("model", options["model"]);
  if (options["insecure"].is_true()) out.flag("insecure", true);
  out.flag("stream", true);
  out.close_object();
  return CapabilityBody{out.take()};
}

Result<CapabilityResult> read_nothing(const json::Value&, const CapabilityAnswer&) {
  return CapabilityResult{};
}

constexpr std::array<CapabilityRow, 1> rows = {{
    {.capability = Capability::pull,
     .providers = "ollama",
     .tails = "/v1,/api",
     .path = "/api/pull",
     .body = pull_body,
     .read = read_nothing},
}};

}  // namespace

std::span<const CapabilityRow> pull_rows() {
  return rows;
}

}  // namespace millrace::model
