#include "run/input.hpp"

#include <array>
#include <set>
#include <utility>

#include "base/json.hpp"
#include "base/json_depth.hpp"
#include "base/shown.hpp"
#include "format/format.hpp"
#include "message/body_size.hpp"
#include "message/client_state.hpp"
#include "message/foreign.hpp"
#include "message/vendor_tool.hpp"
#include "run/client_messages.hpp"

namespace millrace::run {
namespace {

constexpr std::size_t most_answers = 1024;
constexpr std::string_view body_shape =
    "The body must be an AG-UI RunAgentInput, or { threadId, messages }: ";

Error wrong_body(const std::string& what) {
  return make_error(Errc::invalid_body, std::string(body_shape) + what + ".");
}

// A member that is a string when it is there.
Result<std::string> optional_text(const json::Value& body, std::string_view key) {
  const json::Value value = body[key];
  if (value.is_nothing()) return std::string();
  if (!value.is_string())
    return wrong_body("`" + std::string(key) + "` must be a string, not " + shown_value(value));
  return std::string(value.string());
}

// Without the state that a client may not give.
Result<std::string> trusted(Result<std::string> canonical, const InputOptions& options,
                            message::Withheld& withheld) {
  if (!options.from_client || !canonical) return canonical;
  if (!message::may_have_state(canonical.value())) return canonical;
  auto messages = message::parse_messages(canonical.value());
  if (!messages) return std::move(messages).error();
  withheld = message::drop_untrusted_state(messages.value());
  if (withheld.count == 0) return canonical;
  return message::to_json(messages.value());
}

// The canonical messages as the text of an array.
Result<std::string> read_messages(const json::Value& messages, const InputOptions& options,
                                  IdSource& ids, message::Withheld& withheld) {
  if (messages.is_nothing()) return wrong_body("`messages` is missing");
  if (!messages.is_array() && !messages.is_object()) {
    return wrong_body("`messages` must be an array, not " + shown_value(messages));
  }
  if (options.verbatim) return messages.to_json(json::Surrogates::keep);
  MILLRACE_TRY(message::check_size(messages));
  const std::string_view format_name = options.format;
  const bool is_canonical = format_name.empty() || format_name == "canonical";
  const format::Format* format =
      format::find_format(is_canonical ? std::string_view("identity") : format_name);
  if (format == nullptr) return format::unknown_format(format_name);
  if (format->name != "identity") {
    return trusted(format::from_api(*format, messages.to_json(json::Surrogates::keep), ids),
                   options, withheld);
  }
  const auto adopted =
      message::adopt_foreign(messages, options.from_client ? message::UnknownParts::retained
                                                           : message::UnknownParts::rejected);
  if (!adopted) return adopted.error();
  return trusted(format::from_api(*format, adopted.value(), ids), options, withheld);
}

// The tools of the client as the text of an array, "" without any. A model is offered each by its
// name, and the name of a call shows whose it is.
Result<std::string> read_tools(const json::Value& tools) {
  if (tools.is_nothing()) return std::string();
  if (!tools.is_array()) return wrong_body("`tools` must be an array, not " + shown_value(tools));
  MILLRACE_TRY(message::check_tool_count(tools));
  std::set<std::string_view> names;
  for (const json::Value tool : tools.items()) {
    const json::Value function = tool["function"].is_object() ? tool["function"] : tool;
    const message::VendorTool* vendor = message::find_vendor_tool(tool["type"].string());
    const bool is_named = vendor != nullptr && !vendor->name.empty();
    const std::string_view name = is_named ? vendor->name : function["name"].string();
    if (name.empty()) return wrong_body("`tools` must consist of objects with a `name`");
    const json::Value description = function["description"];
    if (!description.is_nothing() && !description.is_string()) {
      return wrong_body("`description` of the tool `" + std::string(name) +
                        "` must be a string, not " + shown_value(description));
    }
    const json::Value parameters = function["parameters"];
    if (!parameters.is_nothing() && !parameters.is_object()) {
      return wrong_body("`parameters` of the tool `" + std::string(name) +
                        "` must be a JSON Schema object, not " + shown_value(parameters));
    }
    if (!names.insert(name).second) {
      return wrong_body("`tools` has `" + std::string(name) + "` twice");
    }
  }
  return tools.size() > 0 ? tools.to_json() : std::string();
}

// AG-UI's resume entries as the text of an array, "" without any. Whether anybody waits for them is
// the thread's to know.
Result<std::string> read_resume(const json::Value& resume) {
  if (resume.is_nothing()) return std::string();
  if (!resume.is_array())
    return wrong_body("`resume` must be an array, not " + shown_value(resume));
  if (resume.size() > most_answers) {
    return make_error(Errc::body_too_large, "The request answers " + std::to_string(resume.size()) +
                                                " interrupts; at most " +
                                                std::to_string(most_answers) +
                                                " can be answered at once.");
  }
  for (const json::Value entry : resume.items()) {
    if (!entry.is_object())
      return wrong_body("`resume` must consist of objects, not " + shown_value(entry));
    if (!entry["interruptId"].filled_string()) {
      return wrong_body("`interruptId` of a `resume` entry must be a string that is not empty");
    }
    const json::Value status = entry["status"];
    if (!status.is_nothing() && status.string() != "resolved" && status.string() != "cancelled") {
      return wrong_body("`status` of a `resume` entry must be resolved or cancelled, not " +
                        shown_value(status));
    }
  }
  return resume.size() > 0 ? resume.to_json() : std::string();
}

// What the client's page knows, as a system message of its own.
Result<std::string> context_message(const json::Value& context, IdSource& ids) {
  if (context.is_nothing() || (context.is_array() && context.size() == 0)) return std::string();
  if (!context.is_array())
    return wrong_body("`context` must be an array, not " + shown_value(context));
  std::string text;
  for (const json::Value entry : context.items()) {
    if (!entry.is_object() || !entry["description"].is_string() || !entry["value"].is_string()) {
      return wrong_body("`context` must consist of objects with a `description` and a `value`");
    }
    if (!text.empty()) text.push_back('\n');
    text.append(entry["description"].string()).append(": ").append(entry["value"].string());
  }
  std::string message = "{";
  json::append_member(message, "id", std::string(context_id) + ids.next_id());
  json::append_member(message, "role", "system");
  json::append_member(message, "content", text, json::Surrogates::keep);
  message.push_back('}');
  return message;
}

// The thread, the run, what it follows, and the version of the client.
Result<AgentInput> read_names(const json::Value& body) {
  AgentInput input;
  const std::array<std::pair<std::string_view, std::string*>, 4> texts{{
      {"threadId", &input.thread_id},
      {"runId", &input.run_id},
      {"parentRunId", &input.parent_run_id},
      {"protocolVersion", &input.protocol_version},
  }};
  for (const auto& [key, target] : texts) {
    auto value = optional_text(body, key);
    if (!value) return std::move(value).error();
    *target = std::move(value).value();
  }
  return input;
}

// The routes would take such an id for that of a run, and never find the one that has it from a
// client.
Result<void> check_run_id(const AgentInput& input) {
  if (!store::RunId::parse(input.run_id)) return {};
  return wrong_body("`runId` has the form of the server's own ids of runs, `run_` and 32 digits");
}

}  // namespace

Result<AgentInput> read_connection(std::string_view text, IdSource& ids) {
  json::Document document(json::data_depth_limit);
  auto parsed = document.parse(text);
  if (!parsed) return std::move(parsed).error();
  if (!parsed.value().is_object()) return wrong_body("it is " + shown_value(parsed.value()));
  auto input = read_names(parsed.value());
  if (!input) return input;
  MILLRACE_TRY(check_run_id(input.value()));
  if (input.value().thread_id.empty()) return wrong_body("`threadId` is missing");
  if (input.value().run_id.empty()) input.value().run_id = ids.next_id();
  return input;
}

Result<AgentInput> read_agent_input(std::string_view text, const InputOptions& options,
                                    IdSource& ids) {
  json::Document document(json::data_depth_limit);
  auto parsed = document.parse(text);
  if (!parsed) return std::move(parsed).error();
  const json::Value& body = parsed.value();
  if (!body.is_object()) return wrong_body("it is " + shown_value(body));
  if (options.from_client && !body["body"].is_nothing()) {
    return wrong_body("`body` is a setting of the host, which no request gives");
  }

  auto named = read_names(body);
  if (!named) return named;
  AgentInput& input = named.value();
  if (!options.has_own_id) MILLRACE_TRY(check_run_id(input));
  if (input.thread_id.empty()) input.thread_id = ids.next_id();
  if (input.run_id.empty()) input.run_id = ids.next_id();

  auto tools = read_tools(body["tools"]);
  if (!tools) return std::move(tools).error();
  input.tools_json = std::move(tools).value();

  auto resume = read_resume(body["resume"]);
  if (!resume) return std::move(resume).error();
  input.resume_json = std::move(resume).value();

  if (options.reads_state && !body["state"].is_nothing()) {
    input.state_json = body["state"].to_json();
  }
  if (options.reads_state && !body["forwardedProps"].is_nothing()) {
    input.props_json = body["forwardedProps"].to_json();
  }

  auto messages = read_messages(body["messages"], options, ids, input.withheld);
  if (!messages) return std::move(messages).error();
  auto context = context_message(body["context"], ids);
  if (!context) return std::move(context).error();
  input.messages_json = std::move(messages).value();
  // Other formats have no ids.
  input.has_made_ids = !options.verbatim && !options.format.empty() &&
                       options.format != "canonical" && options.format != "identity";
  const bool is_empty = input.messages_json == "[]";
  const bool goes_on = options.has_state || !input.resume_json.empty();
  // Instructions are about how to answer, not what: a model would be paid for nothing.
  if (is_empty && !goes_on && context.value().empty())
    return wrong_body("`messages` is empty; add a message of the user");
  if (!context.value().empty() && !(is_empty && goes_on)) {
    input.messages_json.insert(1, is_empty ? context.value() : context.value() + ",");
    input.has_context = true;
  }
  return input;
}

std::string withheld_sentence(const message::Withheld& withheld) {
  return "The client may not give " + std::to_string(withheld.count) +
         " items of provider state in its messages (" + withheld.names + "); they were left out.";
}

std::string unfit_sentence(std::size_t records) {
  return "The thread has " + std::to_string(records) +
         " of the messages with other words; what it has recorded of them (provider state, the "
         "order of the parts) was left out.";
}

}  // namespace millrace::run
