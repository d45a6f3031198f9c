// The interface of everything that an agent can call: builtin tools, tools of MCP servers,
// functions of the host.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "tool/details.hpp"
#include "tool/spec.hpp"

namespace millrace::tool {

// One call. Its arguments have been checked against the parameters of the tool.
struct ToolCall {
  std::string id;  // ours, distinct within the run
  std::string name;
  std::string arguments;        // a JSON object
  std::string idempotency_key;  // the same whenever the same call is executed again
};

// How a call ended; the model is told of a failure as well.
struct ToolOutcome {
  std::string content;  // text, or JSON text
  bool is_error = false;
  std::string code = {};  // of an error: a name of errors.def, or the tool's own word
  Details details = {};   // beside the text
  // It failed in passing: another attempt may succeed.
  bool retry = false;
};

// Who called.
// Thread: engine thread.
class ToolHost {
 public:
  virtual ~ToolHost() = default;
  // Ends the call; whatever comes after that, or after a cancel, is ignored. May be called from
  // within Tool::start.
  virtual void finished(ToolOutcome outcome) = 0;
  // Tells how far the call is.
  // Shape: any JSON value.
  virtual void progress(std::string_view json) = 0;
};

// A call on its way. Its end cancels it.
// Thread: engine thread.
class RunningTool {
 public:
  virtual ~RunningTool() = default;
  // Gives the call up: sockets are closed, signals are aborted, nothing is waited for.
  virtual void cancel() = 0;
};

// Thread: engine thread.
// Lifetime: outlives its calls; a registry shares it.
class Tool {
 public:
  virtual ~Tool() = default;
  [[nodiscard]] virtual const Spec& spec() const = 0;
  // Starts one of any number of calls. Null is allowed when the call has finished already.
  virtual std::unique_ptr<RunningTool> start(ToolCall call, std::shared_ptr<ToolHost> host) = 0;
};

}  // namespace millrace::tool
