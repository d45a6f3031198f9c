#include "host/mcp_stream.hpp"

#include <array>
#include <charconv>
#include <chrono>
#include <utility>

#include "base/error_json.hpp"
#include "base/json.hpp"
#include "base/shown.hpp"
#include "host/option_numbers.hpp"
#include "model/provider/route.hpp"
#include "os/event_loop.hpp"

namespace millrace::host {
namespace {

using std::chrono::milliseconds;

std::string item_of(std::string_view type) {
  std::string item = ",{";
  json::append_member(item, "type", type);
  return item;
}

void add_number(std::string& item, std::string_view key, std::uint64_t number) {
  json::append_member(item, key, static_cast<std::int64_t>(number));
}

Result<void> read_program(const json::Value& value, mcp::ClientOptions& options) {
  os::ProcessOptions& process = options.process.emplace();
  process.program = value["command"].string();
  process.directory = value["cwd"].string();
  if (const json::Value given = value["args"]; !given.is_nothing() && !given.is_array()) {
    return make_error(
        Errc::invalid_option,
        "`args` of an MCP server must be a list of strings, not " + kind_of(given) + ".");
  }
  for (const json::Value argument : value["args"].items()) {
    if (!argument.is_string()) {
      return make_error(Errc::invalid_option,
                        "`args` of an MCP server must be a list of strings, but one is " +
                            kind_of(argument) + ".");
    }
    process.arguments.emplace_back(argument.string());
  }
  for (const json::Member variable : value["env"].members()) {
    if (!variable.value.is_string()) {
      return make_error(Errc::invalid_option, "`env." + std::string(variable.key) +
                                                  "` of an MCP server must be a string, not " +
                                                  kind_of(variable.value) + ".");
    }
    process.environment.emplace_back(variable.key, variable.value.string());
  }
  read_time(value["graceMs"], process.grace);
  const auto holds_nul = [](std::string_view text) { return text.find('\0') != text.npos; };
  bool is_bad = holds_nul(process.program) || holds_nul(process.directory);
  for (const auto& argument : process.arguments) is_bad = is_bad || holds_nul(argument);
  for (const auto& [name, text] : process.environment) is_bad = is_bad || holds_nul(text);
  if (is_bad)
    return make_error(Errc::invalid_option, "The command, arguments and environment of " +
                                                shown_text(process.program) +
                                                " must not contain a NUL character.");
  return {};
}

Result<void> read_address(const json::Value& value, mcp::ClientOptions& options) {
  options.http.url = value["url"].string();
  for (const json::Member header : value["headers"].members()) {
    if (!header.value.is_string()) {
      return make_error(Errc::invalid_option, "The header " + shown_text(header.key) +
                                                  " of an MCP server must be a string, not " +
                                                  kind_of(header.value) + ".");
    }
    mcp::HttpField& field = options.http.headers.emplace_back();
    field.name = header.key;
    field.value = header.value.string();
  }
  const std::string_view transport = value["transport"].string();
  options.http.legacy = transport == "sse";
  options.http.allows_legacy = transport != "http";
  auto route = model::read_route(value);
  if (!route) return std::move(route).error();
  options.route = std::move(route).value();
  options.session.closes_requests = true;
  return {};
}

}  // namespace

Result<mcp::ClientOptions> read_mcp_client(std::string_view json) {
  json::Document document;
  auto parsed = document.parse(json);
  if (!parsed) return std::move(parsed).error();
  const json::Value& value = parsed.value();
  mcp::ClientOptions options;
  const bool has_command = value["command"].filled_string().has_value();
  const bool has_url = value["url"].filled_string().has_value();
  if (has_command == has_url) {
    return make_error(Errc::invalid_option,
                      has_url ? "An MCP server has both `command` and `url`; give one of them."
                              : "An MCP server needs `command` or `url`.");
  }
  MILLRACE_TRY(has_command ? read_program(value, options) : read_address(value, options));
  if (const json::Value client = value["client"]; client.is_object()) {
    options.session.client_json = client.to_json();
  }
  if (const json::Value capabilities = value["capabilities"]; capabilities.is_object()) {
    options.session.capabilities_json = capabilities.to_json();
  }
  options.reports_errors = value["tellsErrors"].is_true();
  options.session.protocol = value["protocol"].string();
  read_time(value["openMs"], options.session.open_timeout);
  read_time(value["callMs"], options.session.call_timeout);
  read_time(value["connectMs"], options.connect_timeout);
  read_time(value["closeMs"], options.close_time);
  if (const auto bytes = value["messageBytes"].integer(); bytes && *bytes > 0) {
    options.message_bytes = static_cast<std::size_t>(*bytes);
    options.http.message_bytes = options.message_bytes;
  }
  return options;
}

std::vector<mcp::HttpField> read_authorization(std::string_view json) {
  json::Document document;
  const auto parsed = document.parse(json);
  std::vector<mcp::HttpField> fields;
  for (const json::Member header : (parsed ? parsed.value() : json::Value()).members()) {
    mcp::HttpField& field = fields.emplace_back();
    field.name = header.key;
    field.value = header.value.string();
  }
  return fields;
}

McpStream::McpStream(DrainQueue::StreamId id, HostServices& services, mcp::ClientOptions options)
    : id_(id),
      services_(services),
      client_(std::make_shared<mcp::Client>(services.loop, services.client, std::move(options),
                                            static_cast<mcp::ClientHost&>(*this))),
      calls_(std::make_shared<mcp::RemoteCalls>(client_)) {}

McpStream::~McpStream() {
  client_->end();
}

void McpStream::resume() {
  client_->resume();
}

void McpStream::cancel() {
  is_over_ = true;
  client_->end();
  calls_->end(make_error(Errc::mcp_connection_failed, "The MCP client is closed."));
}

void McpStream::silence() {
  is_over_ = true;
}

void McpStream::command(const HostCommand& command) {
  struct Row {
    std::string_view name;
    void (*run)(McpStream& stream, const HostCommand& command);
  };
  static constexpr std::array<Row, 8> rows{
      Row{"call", [](McpStream& stream, const HostCommand& given) { stream.call(given); }},
      Row{"cancel", [](McpStream& stream,
                       const HostCommand& given) { stream.client_->cancel(given.id, given.text); }},
      Row{"notify",
          [](McpStream& stream, const HostCommand& given) {
            stream.client_->notify(given.options, given.text);
          }},
      Row{"answer", [](McpStream& stream,
                       const HostCommand& given) { stream.client_->answer(given.id, given.text); }},
      Row{"refuse",
          [](McpStream& stream, const HostCommand& given) {
            std::int64_t code = mcp::rpc_code::internal_error;
            const std::string& text = given.options;
            std::from_chars(text.data(), text.data() + text.size(), code);
            stream.client_->reject(given.id, code, given.text);
          }},
      Row{"authorize",
          [](McpStream& stream, const HostCommand& given) {
            stream.client_->authorize(read_authorization(given.text));
          }},
      Row{"unauthorized",
          [](McpStream& stream, const HostCommand& given) {
            stream.client_->reject_authorization(make_error(Errc::mcp_unauthorized, given.text));
          }},
      Row{"close", [](McpStream& stream, const HostCommand&) { stream.client_->close(); }}};
  const std::shared_ptr<mcp::Client> held = client_;
  for (const Row& row : rows) {
    if (row.name == command.name) return row.run(*this, command);
  }
}

void McpStream::call(const HostCommand& command) {
  json::Document document;
  const auto parsed = document.parse(command.options);
  const json::Value options = parsed ? parsed.value() : json::Value();
  mcp::CallSpec call_spec;
  call_spec.method = options["method"].string();
  call_spec.params_json = command.text.empty() ? "{}" : command.text;
  call_spec.list_key = options["list"].string();
  call_spec.wants_progress = options["progress"].is_true();
  if (const auto limit = options["timeoutMs"].integer()) call_spec.timeout = milliseconds(*limit);
  read_time(options["totalMs"], call_spec.total);
  client_->call(command.id, std::move(call_spec));
}

void McpStream::opened(std::string_view info_json) {
  std::string item = item_of("opened");
  json::append_raw_member(item, "info", info_json);
  hand_over(std::move(item));
}

void McpStream::settled(mcp::CallId call, mcp::Outcome outcome) {
  if (calls_->settled(call, outcome)) return;
  std::string item = item_of("settled");
  add_number(item, "call", call);
  if (outcome.error) {
    json::append_raw_member(item, "error", error_json(*outcome.error));
    if (!outcome.rpc_json.empty()) json::append_raw_member(item, "rpc", outcome.rpc_json);
  } else {
    json::append_raw_member(item, "result", outcome.result_json);
  }
  // Nothing else is on its way that could come with it.
  if (!client_->has_calls()) services_.queue.flush(id_);
  hand_over(std::move(item));
}

void McpStream::progressed(mcp::CallId call, std::string_view params_json) {
  if (calls_->progressed(call, params_json)) return;
  std::string item = item_of("progress");
  add_number(item, "call", call);
  json::append_raw_member(item, "params", params_json);
  hand_over(std::move(item));
}

void McpStream::server_requested(mcp::ServerRequestId server_request, mcp::CallId call,
                                 std::string_view method, std::string_view params_json) {
  std::string item = item_of("asked");
  add_number(item, "question", server_request);
  add_number(item, "call", call);
  json::append_member(item, "method", method);
  json::append_raw_member(item, "params", params_json);
  hand_over(std::move(item));
}

void McpStream::withdrawn(mcp::ServerRequestId server_request) {
  std::string item = item_of("withdrawn");
  add_number(item, "question", server_request);
  hand_over(std::move(item));
}

void McpStream::notified(std::string_view method, std::string_view params_json) {
  std::string item = item_of("notified");
  json::append_member(item, "method", method);
  json::append_raw_member(item, "params", params_json);
  hand_over(std::move(item));
}

void McpStream::wrote(std::string_view line) {
  std::string item = item_of("wrote");
  json::append_member(item, "line", line);
  hand_over(std::move(item));
}

void McpStream::unauthorized(int status, std::string_view challenge) {
  std::string item = item_of("unauthorized");
  json::append_member(item, "status", std::int64_t{status});
  json::append_member(item, "challenge", challenge);
  hand_over(std::move(item));
}

void McpStream::failed(Error error) {
  calls_->end(error);
  finish(error_json(error));
}

void McpStream::closed() {
  calls_->end(make_error(Errc::mcp_connection_failed, "The MCP client is closed."));
  finish({});
}

void McpStream::hand_over(std::string item) {
  if (is_over_) return;
  item.push_back('}');
  const bool has_room = services_.queue.push(id_, item);
  services_.on_output(item.size());
  if (!has_room) client_->pause();
}

void McpStream::finish(std::string end) {
  if (std::exchange(is_over_, true)) return;
  services_.queue.end(id_, std::move(end));
  // The client is in the middle of telling.
  services_.loop.post([services = &services_, id = id_] { services->forget(id); });
}

}  // namespace millrace::host
