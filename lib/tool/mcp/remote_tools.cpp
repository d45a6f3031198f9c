#include "tool/mcp/remote_tools.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include "base/json_canonical.hpp"
#include "base/sha256.hpp"
#include "base/shown.hpp"
#include "base/shown_hosts.hpp"
#include "schema/schema.hpp"
#include "tool/fetch.hpp"
#include "tool/mcp/safe_schema.hpp"

namespace millrace::mcp {
namespace {

using json::Tree;

constexpr std::size_t longest_name = 64;
constexpr std::size_t hash_digits = 8;
// Of one tool, in every request to a model.
constexpr std::size_t most_schema_bytes = std::size_t{64} << 10U;
constexpr std::size_t most_description_bytes = std::size_t{16} << 10U;
constexpr std::size_t most_tools = 1000;
constexpr std::string_view any_object = R"({"type":"object"})";

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
}

// Everything but letters, digits and - becomes one _ between them.
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (is_plain(c)) {
      out.push_back(c);
    } else if (!out.empty() && out.back() != '_') {
      out.push_back('_');
    }
  }
  if (out.ends_with('_')) out.pop_back();
  return out;
}

tool::Effect effect_of(const Tree& annotations, bool trusted) {
  if (!trusted) return tool::Effect::once;
  if (annotations["readOnlyHint"].is_true()) return tool::Effect::read;
  return annotations["idempotentHint"].is_true() ? tool::Effect::idempotent : tool::Effect::once;
}

// A server may say what it likes: a provider would refuse the whole request for a schema that is
// none, so that a tool which cannot be described is described as taking any object. So is one whose
// schema would take more room in every request than any tool needs.
std::string parameters_of(const Tree& schema) {
  if (!schema.is_object() || schema["type"].string() != "object") return std::string(any_object);
  Tree safe = schema;
  if (!make_safe(safe)) return std::string(any_object);
  std::string text = safe.to_json(json::Surrogates::replace);
  const bool is_used = text.size() <= most_schema_bytes && schema::Schema::compile(text).ok();
  return is_used ? text : std::string(any_object);
}

bool needs_no_approval(const ToolRules& rules, const std::string& name,
                       const std::string& fingerprint) {
  const auto known = rules.known.find(name);
  const bool is_approved =
      known == rules.known.end() ? rules.trusted : known->second == fingerprint;
  return is_approved && (rules.trusted || rules.has_pins);
}

// Tasks are not supported, so that a tool that requires one could not be called.
bool wants_task(const Tree& listed) {
  return listed["execution"]["taskSupport"].string() == "required";
}

RemoteTool remote_tool(const Tree& listed, const ToolRules& rules) {
  RemoteTool remote;
  remote.name = listed["name"].string();
  remote.fingerprint = tool_fingerprint(listed);
  tool::Spec& spec = remote.spec;
  spec.name = tool_name(rules.server, remote.name);
  spec.is_remote = true;
  // A description is data, too.
  spec.description = tool::result_text(
      listed["description"].is_string() ? listed["description"].string() : listed["title"].string(),
      most_description_bytes);
  spec.parameters = parameters_of(listed["inputSchema"]);
  spec.effect = effect_of(listed["annotations"], rules.trusted);
  spec.approval =
      needs_no_approval(rules, spec.name, remote.fingerprint) ? R"("never")" : R"("required")";
  if (listed["outputSchema"].is_object()) {
    remote.output_schema = listed["outputSchema"].to_json(json::Surrogates::replace);
  }
  return remote;
}

std::string text_of(const Tree& block) {
  if (block.is_string()) return std::string(block.string());
  const std::string_view type = block["type"].string();
  if (type == "text") return std::string(block["text"].string());
  const auto named = [](std::string_view kind, std::string_view name) {
    return "[" + std::string(kind) + " " + std::string(name) + "]";
  };
  if (type == "image" || type == "audio") return named(type, block["mimeType"].string());
  if (type == "resource_link") return named("resource", block["uri"].string());
  const Tree& resource = block["resource"];
  // A type of a later version, or a block without one.
  if (type != "resource") return std::string(block["text"].string());
  return resource["text"].is_string() ? std::string(resource["text"].string())
                                      : named("resource", resource["uri"].string());
}

// What names a block of which a model reads nothing; "" where there is no need.
std::string unread_block(const Tree& block) {
  constexpr std::array<std::string_view, 5> known{"text", "image", "audio", "resource",
                                                  "resource_link"};
  const std::string_view type = block["type"].string();
  const bool is_known = std::find(known.begin(), known.end(), type) != known.end();
  if (block.is_null() || is_known || !text_of(block).empty()) return {};
  return type.empty() ? "[content without a type]"
                      : "[content of the type " + shown_text(type) + "]";
}

// The caller cuts it and makes it safe.
std::string joined_text(const Tree& result) {
  std::string text;
  const auto add = [&text](std::string_view line) {
    if (!text.empty() && !line.empty()) text.push_back('\n');
    text.append(line);
  };
  // Some servers give a text, or a block, in the place of a list.
  const Tree& content = result["content"];
  if (content.is_string()) add(content.string());
  if (content.is_object()) add(text_of(content));
  for (const Tree& block : content.items()) add(text_of(block));
  const Tree* structured = result.find("structuredContent");
  if (text.empty() && structured != nullptr) text = structured->to_json(json::Surrogates::replace);
  if (content.is_object()) add(unread_block(content));
  for (const Tree& block : content.items()) add(unread_block(block));
  return text;
}

// A connection that broke or could not be made, and a server that is overloaded, may be there again
// in a moment. Whether the call goes again is the declared effect's word.
tool::ToolOutcome failed_call(const Error& error) {
  constexpr int too_many = 429;
  constexpr int first_server_error = 500;
  tool::ToolOutcome outcome = tool::failed(error);
  // Models and clients read it.
  outcome.content = without_hosts(outcome.content);
  const int status = error.upstream_status.value_or(first_server_error);
  outcome.retry = error.code == Errc::mcp_session_lost ||
                  (error.code == Errc::mcp_connection_failed &&
                   (status == too_many || status >= first_server_error));
  return outcome;
}

// What is wrong with a result that promised to follow a schema; nothing for a schema that is none.
std::optional<std::string> broken_promise(const std::optional<schema::Schema>& promised,
                                          const Tree& result) {
  if (!promised || result["isError"].is_true()) return std::nullopt;
  if (result.find("structuredContent") == nullptr) {
    return "The MCP server promised structured content and gave none.";
  }
  json::Document document;
  const std::string text = result["structuredContent"].to_json(json::Surrogates::replace);
  const auto value = document.parse(text);
  if (!value) return value.error().message;
  const auto violations = promised->validate(value.value());
  if (!violations) return violations.error().message;
  if (violations.value().empty()) return std::nullopt;
  return "The MCP server's result does not follow the schema that it announced: " +
         schema::describe(violations.value());
}

class CalledTool final : public tool::Tool {
 public:
  CalledTool(RemoteTool remote, FindCalls find)
      : remote_(std::move(remote)), find_(std::move(find)) {
    if (remote_.output_schema.empty()) return;
    if (auto compiled = schema::Schema::compile(remote_.output_schema)) {
      promised_ = std::move(compiled).value();
    }
  }
  [[nodiscard]] const tool::Spec& spec() const override { return remote_.spec; }

  std::unique_ptr<tool::RunningTool> start(tool::ToolCall call,
                                           std::shared_ptr<tool::ToolHost> host) override {
    const auto calls = find_();
    if (!calls) {
      host->finished(
          tool::failed(make_error(Errc::mcp_connection_failed, "The MCP client is closed.")));
      return nullptr;
    }
    if (call.arguments.empty()) call.arguments = "{}";
    return calls->start(
        remote_.name, call.arguments, remote_.timeout,
        [host, promised = promised_](const Outcome& outcome) {
          host->finished(outcome_of(outcome, promised));
        },
        [host](std::string_view params) { host->progress(params); });
  }

 private:
  static tool::ToolOutcome outcome_of(const Outcome& outcome,
                                      const std::optional<schema::Schema>& promised) {
    if (outcome.error) return failed_call(*outcome.error);
    const auto result = Tree::parse(outcome.result_json);
    if (!result) return tool::failed(result.error());
    if (const auto broken = broken_promise(promised, result.value())) {
      return tool::failed(make_error(Errc::mcp_protocol_error, *broken));
    }
    tool::ToolOutcome made;
    made.content = joined_text(result.value());
    if (result.value()["isError"].is_true()) {
      made.is_error = true;
      made.code = "tool_failed";
      if (made.content.empty()) made.content = "The tool failed.";
      return made;
    }
    if (const Tree* structured = result.value().find("structuredContent")) {
      made.details.state = *structured;
    }
    return made;
  }

  RemoteTool remote_;
  FindCalls find_;
  std::optional<schema::Schema> promised_;
};

}  // namespace

ToolRules read_rules(const Tree& given) {
  ToolRules rules;
  rules.server = given["server"].string();
  rules.trusted = given["trusted"].is_true();
  const Tree& allow = given["allow"].is_array() ? given["allow"] : given["expose"];
  rules.policy.has_allow = allow.is_array();
  for (const Tree& name : allow.items()) rules.policy.allow.emplace_back(name.string());
  for (const Tree& name : given["deny"].items()) rules.policy.deny.emplace_back(name.string());
  rules.has_pins = given["pins"].is_true();
  for (const auto& [name, fingerprint] : given["known"].members()) {
    if (fingerprint.is_string()) rules.known.emplace(name, fingerprint.string());
  }
  return rules;
}

std::string tool_name(std::string_view server, std::string_view tool) {
  std::string prefix = plain(server);
  if (prefix.empty()) prefix = "mcp";
  std::string full = prefix + "__" + plain(tool);
  const bool is_unchanged = full == std::string(server) + "__" + std::string(tool);
  if (is_unchanged && full.size() <= longest_name) return full;
  const std::string received = std::string(server) + "\n" + std::string(tool);
  const std::string suffix = "_" + sha256_hex(received).substr(0, hash_digits);
  full.resize(std::min(full.size(), longest_name - suffix.size()));
  while (full.ends_with('_')) full.pop_back();
  return full + suffix;
}

std::string tool_fingerprint(const Tree& tool) {
  constexpr std::array<std::string_view, 6> reported{"name",        "title",        "description",
                                                     "inputSchema", "outputSchema", "annotations"};
  Tree list = Tree::array();
  for (const std::string_view member : reported) list.push(tool[member]);
  return sha256_hex(json::canonical_json(list));
}

Result<std::vector<RemoteTool>> remote_tools(const Tree& listed, const ToolRules& rules) {
  std::vector<const Tree*> shown;
  for (const Tree& item : listed["tools"].items()) {
    const std::string_view name = item["name"].string();
    const bool is_shown = !name.empty() && !wants_task(item) &&
                          tool::allows(rules.policy, {name, tool_name(rules.server, name)});
    if (is_shown) shown.push_back(&item);
  }
  if (shown.size() > most_tools) {
    return make_error(Errc::tool_limit_exceeded,
                      "The MCP server lists " + std::to_string(shown.size()) +
                          " tools, more than " + std::to_string(most_tools) +
                          "; choose some of them with `allow` or `deny`.");
  }
  std::vector<RemoteTool> tools;
  std::set<std::string> names;
  for (const Tree* item : shown) {
    RemoteTool remote = remote_tool(*item, rules);
    if (names.insert(remote.spec.name).second) tools.push_back(std::move(remote));
  }
  return tools;
}

std::vector<std::string> left_out_tools(const Tree& listed, const ToolRules& rules) {
  constexpr std::size_t most_named = 20;
  std::vector<std::string> notes;
  std::set<std::string> names;
  std::size_t count = 0;
  const auto add = [&](const std::string& note) {
    if (++count <= most_named) notes.push_back(note);
  };
  std::size_t at = 0;
  for (const Tree& item : listed["tools"].items()) {
    ++at;
    const std::string_view name = item["name"].string();
    if (name.empty()) {
      add("Tool " + std::to_string(at) + " of the list has no name.");
      continue;
    }
    const std::string full = tool_name(rules.server, name);
    if (!tool::allows(rules.policy, {name, full})) continue;
    if (wants_task(item)) {
      add("The tool " + shown_text(name) + " requires tasks, which are not supported.");
    } else if (!names.insert(full).second) {
      add("The tool " + shown_text(name) + " is listed more than once; the first one counts.");
    }
  }
  if (count > most_named) {
    notes.push_back(std::to_string(count - most_named) + " more tools are left out.");
  }
  return notes;
}

std::string remote_result_text(const Tree& result, std::size_t limit) {
  return tool::result_text(joined_text(result), limit);
}

std::shared_ptr<tool::Tool> make_tool(RemoteTool remote, FindCalls find) {
  return std::make_shared<CalledTool>(std::move(remote), std::move(find));
}

}  // namespace millrace::mcp
