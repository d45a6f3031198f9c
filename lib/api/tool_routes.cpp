#include "api/tool_routes.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "api/api_answers.hpp"
#include "api/callback_address.hpp"
#include "base/sha256.hpp"
#include "chat/references.hpp"
#include "os/timer.hpp"

namespace millrace::api {
namespace {

using json::Tree;
using Clock = std::chrono::steady_clock;

// As few digits as it takes: 120, 0.5.
std::string seconds_text(std::chrono::milliseconds time) {
  constexpr std::int64_t second = 1000;
  std::string text = std::to_string(time.count() / second);
  const std::int64_t rest = time.count() % second;
  if (rest == 0) return text;
  const std::string digits = std::to_string(second + rest).substr(1);
  return text + "." + digits.substr(0, digits.find_last_not_of('0') + 1);
}

constexpr std::string_view tools_off = "Tool invoke API is disabled";

bool has(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string_view name_of(const Tree& tool) {
  return tool["function"]["name"].string();
}

enum class Kind : std::uint8_t { plain, of_set, remote, agent };

Kind kind_of_tool(std::string_view name, const Tree& remote) {
  const bool is_remote = std::any_of(remote.items().begin(), remote.items().end(),
                                     [&](const Tree& one) { return one.string() == name; });
  if (is_remote || name.starts_with("mcp.")) return Kind::remote;
  return name.find('.') == std::string_view::npos ? Kind::plain : Kind::of_set;
}

// A word and the kinds that it exposes; another word exposes nothing.
struct ExposeRow {
  std::string_view word;
  std::array<bool, 4> kinds;  // by Kind
};
constexpr std::array expose_rows{
    ExposeRow{"tools", {true, false, false, false}},
    ExposeRow{"toolsets", {false, true, false, false}},
    ExposeRow{"tools+toolsets", {true, true, false, false}},
    ExposeRow{"agents", {false, false, false, true}},
    ExposeRow{"all", {true, true, true, true}},
};

bool is_exposed(Kind kind, const std::string& word) {
  const auto* row = std::find_if(expose_rows.begin(), expose_rows.end(),
                                 [&](const ExposeRow& one) { return one.word == word; });
  return row != expose_rows.end() && row->kinds.at(static_cast<std::size_t>(kind));
}

bool has_callback(const Tree& body) {
  return body["callback"].is_object() && chat::is_loosely_true(body["callback"]["enabled"]);
}

// One call under way.
struct Invocation {
  ApiContextPtr context;
  ResponsePtr response;
  std::string id;
  std::string name;
  Clock::time_point begun = Clock::now();
  std::unique_ptr<os::Timer> deadline;
  bool is_answered = false;

  [[nodiscard]] Tree outcome(bool ok) const {
    const auto spent = std::chrono::duration<double, std::milli>(Clock::now() - begun).count();
    Tree body = Tree::object();
    body.set("ok", Tree::flag(ok));
    body.set("request_id", id);
    body.set("tool_name", name);
    constexpr double tenth = 10;
    body.set("duration_ms",
             Tree::number(static_cast<double>(static_cast<std::int64_t>(spent * tenth)) / tenth));
    return body;
  }
  void answer(const Tree& body) {
    if (std::exchange(is_answered, true)) return;
    deadline->cancel();
    send_json(response, 200, body);
  }
  void fail(std::string_view error) {
    Tree body = outcome(false);
    body.set("error", error);
    answer(body);
  }
};

struct ToolService {
  ApiContextPtr context;
  std::shared_ptr<ToolInvocations> invocations;

  // Calls `listed` with the tools that are exposed, and which of them are agents.
  void list(const ResponsePtr& response,
            std::function<void(const Tree& tools, const Tree& agents)> listed) const;
  void on_list(const ResponsePtr& response) const;
  void on_invoke(const http::Request& request, const ResponsePtr& response) const;
  // A call that goes on without its request, or that a request with a key may come for again.
  void begin(const InvocationRequest& base, const Tree& body, const ResponsePtr& response) const;
  void invoke(const Tree& body, bool is_agent, const ResponsePtr& response) const;
};

void ToolService::list(const ResponsePtr& response,
                       std::function<void(const Tree&, const Tree&)> listed) const {
  context->ask("tools", Tree::object(),
               [context = context, response, listed = std::move(listed)](const Result<Tree>& all) {
                 if (!all) return send_failure(response, all.error());
                 listed(exposed_tools(all.value(), context->options.tools), all.value()["agents"]);
               });
}

void ToolService::on_list(const ResponsePtr& response) const {
  if (!context->options.tools.is_on) return send_refusal(response, 403, tools_off);
  list(response, [response](const Tree& tools, const Tree&) {
    Tree body = Tree::object();
    body.set("count", Tree::integer(static_cast<std::int64_t>(tools.items().size())));
    body.set("tools", tools);
    send_json(response, 200, body);
  });
}

// What is wrong with the body; "" is nothing.
std::string_view fault_of(const Result<Tree>& body) {
  if (!body) return "Invalid JSON";
  if (!body.value().is_object()) return "Request body must be a JSON object";
  if (json::trim(body.value()["tool_name"].string()).empty()) return "tool_name is required";
  if (!body.value()["args"].is_object()) return "args must be a JSON object";
  return {};
}

void ToolService::on_invoke(const http::Request& request, const ResponsePtr& response) const {
  if (!context->options.tools.is_on) return send_refusal(response, 403, tools_off);
  auto body = Tree::parse(request.body);
  if (const std::string_view fault = fault_of(body); !fault.empty()) {
    return send_refusal(response, 400, fault);
  }
  InvocationRequest base;
  base.principal = principal_of(request, *context);
  base.trace = request.trace;
  base.idem_key = request.headers.find("Idempotency-Key").value_or("");
  if (!base.idem_key.empty()) base.idem_hash = sha256_hex(request.body);
  list(response, [service = *this, response, base = std::move(base),
                  body = std::move(body).value()](const Tree& tools, const Tree& agents) {
    const std::string name(json::trim(body["tool_name"].string()));
    const auto is_named = [&](const Tree& tool) { return name_of(tool) == name; };
    const auto& list = tools.items();
    if (std::find_if(list.begin(), list.end(), is_named) == list.end()) {
      return send_refusal(response, 404, "Tool '" + name + "' is not available");
    }
    if (has_callback(body)) {
      const Tree& callback = body["callback"];
      std::string refusal =
          callback_refusal(callback["url"], service.context->options.tools.callback_allow);
      if (refusal.empty()) refusal = callback_headers_refusal(callback["headers"]);
      if (!refusal.empty()) return send_refusal(response, 400, refusal);
    }
    const bool is_recorded = has_callback(body) || chat::is_loosely_true(body["async"]);
    if (is_recorded || !base.idem_key.empty()) return service.begin(base, body, response);
    const auto& known = agents.items();
    service.invoke(body, std::find_if(known.begin(), known.end(), is_named) != known.end(),
                   response);
  });
}

void ToolService::begin(const InvocationRequest& base, const Tree& body,
                        const ResponsePtr& response) const {
  InvocationRequest call = base;
  call.name = json::trim(body["tool_name"].string());
  call.args = body["args"];
  call.context = body["context"].is_object() ? body["context"] : Tree::object();
  if (has_callback(body)) call.callback = body["callback"];
  const bool is_async = chat::is_loosely_true(body["async"]);
  if (!is_async && !has_callback(body)) return invocations->call(call, response);
  // Clients of callbacks know 200.
  invocations->begin(call, is_async ? 202 : 200, response);
}

void ToolService::invoke(const Tree& body, bool is_agent, const ResponsePtr& response) const {
  const auto call = std::make_shared<Invocation>();
  call->context = context;
  call->response = response;
  call->id = hex_id();
  call->name = json::trim(body["tool_name"].string());
  const auto limit = context->options.tools.timeout;
  call->deadline = std::make_unique<os::Timer>(context->loop, [weak = std::weak_ptr(call), limit] {
    const auto late = weak.lock();
    if (!late) return;
    late->context->ask("invoke_cancel", Tree::text(late->id), [](const Result<Tree>&) {});
    late->fail(late_text(limit));
  });
  // Agents work for as long as they need.
  if (!is_agent && limit.count() > 0) call->deadline->start_at(os::Timer::Clock::now() + limit);
  Tree value = Tree::object();
  value.set("id", call->id);
  value.set("name", call->name);
  value.set("args", body["args"]);
  value.set("context", body["context"].is_object() ? body["context"] : Tree::object());
  context->ask("invoke", std::move(value), [call](const Result<Tree>& result) {
    if (!result) return call->fail(result.error().message);
    Tree answer = call->outcome(true);
    answer.set("result", result.value());
    call->answer(answer);
  });
}

}  // namespace

Tree exposed_tools(const Tree& all, const ToolExposure& exposure) {
  Tree exposed = Tree::array();
  const auto take = [&](const Tree& tool, Kind kind) {
    const std::string_view name = name_of(tool);
    if (has(exposure.deny, name)) return;
    const bool is_in =
        exposure.allow.empty() ? is_exposed(kind, exposure.expose) : has(exposure.allow, name);
    if (is_in) exposed.push(tool);
  };
  for (const Tree& tool : all["tools"].items()) {
    take(tool, kind_of_tool(name_of(tool), all["remote"]));
  }
  for (const Tree& agent : all["agents"].items()) take(agent, Kind::agent);
  return exposed;
}

std::string late_text(std::chrono::milliseconds limit) {
  return "Execution timed out after " + seconds_text(limit) + "s";
}

std::vector<ApiRoute> tool_routes(const ApiContextPtr& context,
                                  const std::shared_ptr<ToolInvocations>& invocations) {
  const auto service = std::make_shared<ToolService>(ToolService{context, invocations});
  return {
      {"GET", "/api/v1/tools", "tools", "Tools that can be invoked.",
       [service](http::Request&&, const ResponsePtr& response) { service->on_list(response); }, "",
       "Tools"},
      {"POST", "/api/v1/tools/invoke", "tools", "Calls a tool.",
       [service](http::Request&& request, const ResponsePtr& response) {
         service->on_invoke(request, response);
       },
       "ToolCall", "ToolAnswer", 200, 0, "", true},
      {"GET", "/api/v1/tools/invocations/{request_id}", "tools",
       "What became of a call that goes on without its request; a stream of events where one is "
       "accepted.",
       [invocations](http::Request&& request, const ResponsePtr& response) {
         invocations->read(request, response);
       },
       "", "ToolInvocation", 200, 0, "after:string format:string"},
      {"POST", "/api/v1/tools/invocations/{request_id}/cancel", "tools", "Cancels the call.",
       [invocations](http::Request&& request, const ResponsePtr& response) {
         invocations->cancel(request, response);
       },
       "", "ToolInvocation"},
  };
}

}  // namespace millrace::api
