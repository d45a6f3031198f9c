#include "api/openapi.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <set>
#include <string>
#include <utility>

#include "api/agent_routes.hpp"
#include "api/api_zone.hpp"
#include "api/openapi_texts.hpp"
#include "api/trpc_answer.hpp"
#include "base/ascii.hpp"

namespace millrace::api {
namespace {

using json::Tree;

// An answer beside that of the row of its route.
struct AnswerRow {
  std::string_view method;
  std::string_view path;
  int status;
  std::string_view type;  // of its body; "" has none
  std::string_view schema;
  bool is_only = false;  // the body of the route's row is never sent
  std::string_view description = {};
};

constexpr std::string_view events = "text/event-stream";
constexpr std::string_view any_type = "*/*";
constexpr std::string_view attachment = "/api/v1/chat/attachments/{attachment_id}";
constexpr std::string_view preview = "/api/v1/chat/attachments/{attachment_id}/preview";
constexpr std::string_view exported = "/api/v1/chat/conversations/{conversation_id}/export";

constexpr auto more_answers = std::to_array<AnswerRow>({
    {"POST", "/api/v1/chat", 200, events, "Text"},
    {"GET", "/api/v1/chat/jobs/{job_id}/events", 200, events, "Text"},
    {"GET", "/api/v1/tools/invocations/{request_id}", 200, events, "Text"},
    {"POST", "/agent", 200, events, "Text", true},
    {"POST", "/agent/connect", 200, events, "Text", true},
    {"GET", "/agent/runs/{run_id}", 200, events, "Text"},
    {"GET", "/api/agent/stream", 200, events, "Text", true},
    {"GET", exported, 200, "application/x-ndjson", "Text", true},
    {"GET", exported, 200, "text/markdown", "Text", true},
    {"GET", attachment, 200, any_type, "Binary", true},
    {"GET", attachment, 206, any_type, "Binary"},
    {"GET", attachment, 304, "", ""},
    {"GET", attachment, 416, "", ""},
    {"GET", preview, 200, any_type, "Binary", true},
    {"GET", preview, 206, any_type, "Binary"},
    {"GET", preview, 304, "", ""},
    {"GET", preview, 416, "", ""},
    {"GET", "/readyz", 503, "application/json", "Ok", false, "The server is not ready."},
});

Tree reference(std::string_view schema) {
  Tree tree = Tree::object();
  tree.set("$ref", "#/components/schemas/" + std::string(schema));
  return tree;
}

Tree content_of(std::string_view schema) {
  Tree content = Tree::object();
  std::string_view type = "application/json";
  if (schema == "Text") type = "text/plain";
  if (schema == "AttachmentUpload") type = "multipart/form-data";
  content.at(type).set("schema", reference(schema));
  return content;
}

Tree parameter_of(std::string_view name, std::string_view place, std::string_view type) {
  Tree parameter = Tree::object();
  parameter.set("name", name);
  parameter.set("in", place);
  parameter.set("description", parameter_text(name));
  if (place == "path") parameter.set("required", Tree::flag(true));
  parameter.at("schema").set("type", type);
  return parameter;
}

// "limit:integer before:integer"
void add_query(Tree& parameters, std::string_view query) {
  while (!query.empty()) {
    const std::size_t end = std::min(query.find(' '), query.size());
    const std::string_view row = query.substr(0, end);
    const std::size_t colon = row.find(':');
    parameters.push(parameter_of(row.substr(0, colon), "query", row.substr(colon + 1)));
    query.remove_prefix(std::min(end + 1, query.size()));
  }
}

// The parameters that the path names.
Tree parameters_of(std::string_view path) {
  Tree parameters = Tree::array();
  for (std::size_t begin = path.find('{'); begin != std::string_view::npos;
       begin = path.find('{', begin + 1)) {
    const std::size_t end = path.find('}', begin);
    parameters.push(parameter_of(path.substr(begin + 1, end - begin - 1), "path", "string"));
  }
  return parameters;
}

// "get" and the words of the path: operations are named after what they are about.
std::string operation_id(const ApiRoute& route) {
  std::string id = lowered(route.method);
  bool begins_word = true;
  for (const char c : route.path) {
    if (!is_ascii_alphanumeric(c)) {
      begins_word = true;
      continue;
    }
    const bool is_small = c >= 'a' && c <= 'z';
    id.push_back(begins_word && is_small ? static_cast<char>(c - 'a' + 'A') : c);
    begins_word = false;
  }
  return id;
}

Tree response_of(std::string_view description, std::string_view schema) {
  Tree response = Tree::object();
  response.set("description", description);
  if (!schema.empty()) response.set("content", content_of(schema));
  return response;
}

// The tags that routes have.
Tree tags_of(std::span<const ApiRoute> routes) {
  std::set<std::string_view> used;
  for (const ApiRoute& route : routes) used.insert(tag_of(route.path));
  Tree tags = Tree::array();
  for (const auto& [name, description] : tag_texts()) {
    if (!used.contains(name)) continue;
    Tree tag = Tree::object();
    tag.set("name", name);
    tag.set("description", description);
    tags.push(std::move(tag));
  }
  return tags;
}

// What a client knows of an operation before it calls it.
std::string description_of(const ApiRoute& route) {
  const std::string summary(route.summary);
  if (route.scope.empty()) return summary + " It needs no key.";
  return summary + " It needs a key with the scope `" + std::string(route.scope) + "`.";
}

// What a request has one of.
Tree accepted_schemes(std::initializer_list<std::string_view> names) {
  Tree schemes = Tree::array();
  for (const std::string_view name : names) {
    Tree scheme = Tree::object();
    scheme.set(name, Tree::array());
    schemes.push(std::move(scheme));
  }
  return schemes;
}

std::string_view refusal_schema(std::string_view path) {
  if (path.starts_with(trpc_prefix)) return "Any";
  return is_agent_path(path) ? "AgentRefusal" : "Refusal";
}

void add_more_answers(Tree& responses, const ApiRoute& route) {
  const auto is_own = [&](const AnswerRow& row) {
    return row.method == route.method && row.path == route.path;
  };
  for (const AnswerRow& row : more_answers) {
    if (!is_own(row)) continue;
    const std::string status = std::to_string(row.status);
    if (row.is_only) responses.at(status).erase("content");
  }
  for (const AnswerRow& row : more_answers) {
    if (!is_own(row)) continue;
    Tree& response = responses.at(std::to_string(row.status));
    const auto text = row.description.empty() ? answer_text(row.status) : row.description;
    if (response.find("description") == nullptr) response.set("description", text);
    if (row.type.empty()) continue;
    response.at("content").at(row.type).set("schema", reference(row.schema));
  }
}

Tree responses_of(const ApiRoute& route) {
  Tree responses = Tree::object();
  const auto add = [&](int status, std::string_view schema) {
    responses.set(std::to_string(status), response_of(answer_text(status), schema));
  };
  // Of a service that is absent: what a server answers that has it.
  if (route.status >= 400) add(200, "Any");
  add(route.status, route.response);
  if (route.goes_on) add(202, route.response);
  add_more_answers(responses, route);
  if (route.scope.empty() && !route.path.starts_with("/api/")) return responses;
  const std::string_view refusal = refusal_schema(route.path);
  responses.set("401", response_of("The key is missing or unknown.", refusal));
  responses.set("default", response_of("The request was rejected.", refusal));
  return responses;
}

Tree operation_of(const ApiRoute& route) {
  Tree operation = Tree::object();
  operation.set("summary", route.summary);
  operation.set("description", description_of(route));
  operation.set("operationId", operation_id(route));
  operation.set("tags", Tree::array()).push(Tree::text(tag_of(route.path)));
  Tree parameters = parameters_of(route.path);
  add_query(parameters, route.query);
  if (!parameters.items().empty()) {
    operation.set("parameters", std::move(parameters));
  }
  if (!route.request.empty()) {
    Tree& body = operation.at("requestBody");
    body.set("required", Tree::flag(true));
    body.set("content", content_of(route.request));
  }
  if (!route.scope.empty()) operation.set("x-scope", route.scope);
  if (route.scope.empty()) {
    operation.set("security", Tree::array());
  } else if (takes_bearer(route.path)) {
    operation.set("security", accepted_schemes({"ApiKeyAuth", "BearerAuth"}));
  }
  operation.set("responses", responses_of(route));
  return operation;
}

}  // namespace

Tree openapi_document(std::span<const ApiRoute> routes, std::string_view version,
                      std::string_view server) {
  Tree document = Tree::object();
  document.set("openapi", "3.0.3");
  Tree& info = document.at("info");
  info.set("title", "Undefined Runtime API");
  info.set("version", version.empty() ? "0" : version);
  info.set("description", "Conversations, jobs and tools of a Millrace runtime.");
  info.at("contact").set("name", "Millrace");
  info.at("license").set("name", "MIT");
  info.at("license").set("url", "https://spdx.org/licenses/MIT.html");
  Tree address = Tree::object();
  address.set("url", server);
  address.set("description", "This server");
  document.set("servers", Tree::array()).push(std::move(address));
  Tree& schemes = document.at("components").at("securitySchemes");
  Tree& key = schemes.at("ApiKeyAuth");
  key.set("type", "apiKey");
  key.set("in", "header");
  key.set("name", "X-Undefined-API-Key");
  Tree& bearer = schemes.at("BearerAuth");
  bearer.set("type", "http");
  bearer.set("scheme", "bearer");
  document.set("security", accepted_schemes({"ApiKeyAuth"}));
  document.set("tags", tags_of(routes));
  Tree& schemas = document.at("components").at("schemas");
  for (const std::string_view name : openapi_schema_names())
    schemas.set(name, openapi_schema(name));
  Tree& paths = document.at("paths");
  for (const ApiRoute& route : routes) {
    paths.at(route.path).set(lowered(route.method), operation_of(route));
  }
  return document;
}

}  // namespace millrace::api
