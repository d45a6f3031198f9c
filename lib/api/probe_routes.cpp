#include "api/probe_routes.hpp"

#include <charconv>
#include <chrono>
#include <memory>
#include <utility>

#include "api/api_answers.hpp"
#include "api/memory_routes.hpp"
#include "api/probe_models.hpp"
#include "net/url.hpp"
#include "os/system_name.hpp"
#include "tool/fetch.hpp"

namespace millrace::api {
namespace {

using json::Tree;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds probe_timeout{5'000};
const Clock::time_point process_begin = Clock::now();

std::int64_t ms_since(Clock::time_point begin) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin).count();
}

Tree counted(const Tree& items) {
  Tree part = Tree::object();
  const auto count = static_cast<std::int64_t>(items.items().size());
  part.set("count", Tree::integer(count));
  part.set("loaded", Tree::integer(count));
  Tree& list = part.set("items", Tree::array());
  for (const Tree& item : items.items()) {
    Tree named = Tree::object();
    const Tree& function = item["function"];
    named.set("name", function.is_object() ? function["name"] : item["name"]);
    named.set("loaded", Tree::flag(true));
    list.push(std::move(named));
  }
  return part;
}

// Tools whose names have a dot, with the part before it.
Tree toolsets_of(const Tree& tools) {
  Tree part = Tree::object();
  Tree items = Tree::array();
  Tree categories = Tree::object();
  for (const Tree& tool : tools.items()) {
    const std::string_view name = tool["function"]["name"].string();
    const std::size_t dot = name.find('.');
    if (dot == std::string_view::npos) continue;
    Tree item = Tree::object();
    item.set("name", name);
    item.set("loaded", Tree::flag(true));
    item.set("category", name.substr(0, dot));
    items.push(std::move(item));
    Tree& count = categories.at(name.substr(0, dot));
    count = Tree::integer(count.integer_or(0) + 1);
  }
  part.set("count", Tree::integer(static_cast<std::int64_t>(items.items().size())));
  part.set("loaded", part["count"]);
  part.set("items", std::move(items));
  Tree& list = part.set("categories", Tree::array());
  for (const auto& [name, count] : categories.members()) {
    Tree category = Tree::object();
    category.set("name", name);
    category.set("count", count);
    category.set("loaded", count);
    list.push(std::move(category));
  }
  return part;
}

// What the host describes in full, with a mark that it is loaded.
Tree described(const Tree& items) {
  Tree part = counted(items);
  Tree& list = part.set("items", Tree::array());
  for (const Tree& item : items.items()) {
    Tree shown = item;
    shown.set("loaded", Tree::flag(true));
    list.push(std::move(shown));
  }
  return part;
}

Tree plain_tools(const Tree& tools) {
  Tree plain = Tree::array();
  for (const Tree& tool : tools.items()) {
    if (tool["function"]["name"].string().find('.') == std::string_view::npos) plain.push(tool);
  }
  return plain;
}

// A model as it is reported: its address is masked, and its key stays here.
Tree model_json(const Tree& model) {
  Tree json = Tree::object();
  for (const auto& [name, value] : model.members()) {
    if (name == "api_key") continue;
    json.set(name, name == "api_url" ? Tree::text(masked_url(value.string())) : value);
  }
  return json;
}

Tree commands_json(const chat::CommandRegistry& registry) {
  Tree items = Tree::array();
  std::size_t aliases = 0;
  std::size_t subcommands = 0;
  for (const auto& command : registry.all()) {
    Tree item = Tree::object();
    item.set("name", command->name);
    item.set("loaded", Tree::flag(true));
    item.set("handler_loaded", Tree::flag(true));
    Tree& names = item.set("aliases", Tree::array());
    for (const std::string& alias : command->aliases) names.push(Tree::text(alias));
    item.set("subcommands", Tree::integer(static_cast<std::int64_t>(command->subcommands.size())));
    item.set("permission", chat::name_of(command->access.permission));
    item.set("allow_in_private", Tree::flag(command->access.allow_in_private));
    item.set("show_in_help", Tree::flag(command->show_in_help));
    items.push(std::move(item));
    aliases += command->aliases.size();
    subcommands += command->subcommands.size();
  }
  Tree part = Tree::object();
  part.set("count", Tree::integer(static_cast<std::int64_t>(items.items().size())));
  part.set("loaded", part["count"]);
  part.set("aliases", Tree::integer(static_cast<std::int64_t>(aliases)));
  part.set("subcommands", Tree::integer(static_cast<std::int64_t>(subcommands)));
  part.set("items", std::move(items));
  return part;
}

Tree api_json(const Listeners& listeners, const ApiOptions& options) {
  Tree json = Tree::object();
  json.set("enabled", Tree::flag(true));
  // Clients read both, also of a host that listens itself.
  const bool listens = !listeners.empty();
  json.set("host", listens ? listeners.begin()->second : std::string());
  json.set("port", Tree::integer(listens ? listeners.begin()->first : 0));
  json.set("openapi_enabled", Tree::flag(options.has_openapi));
  return json;
}

// What the state of the server is made of.
struct Inside {
  ApiContextPtr context;
  CommandsPtr commands;
  std::shared_ptr<const Listeners> listeners;
};

// Services that are not there have empty or zero parts.
Tree internal_json(const Inside& inside, const Tree& skills, std::int64_t facts) {
  const ApiOptions& options = inside.context->options;
  Tree body = Tree::object();
  body.set("timestamp", local_time(store::system_clock()()));
  body.set("version", options.version);
  // Clients show it as a text; there is no interpreter.
  body.set("python", "");
  body.set("platform", os::system_name());
  constexpr double second = 1000;
  body.set("uptime_seconds", Tree::number(static_cast<double>(ms_since(process_begin)) / second));
  body.set("onebot", Tree::object());
  // Runs wait in the store, in none of the queues that the contract has for each model.
  body.set("queues", Tree::object());
  body.set("message_batcher", Tree::object());
  body.at("memory").set("count", Tree::integer(facts));
  body.at("memory").set("virtual_user_id", Tree::integer(options.user_id));
  body.at("cognitive").set("enabled", Tree::flag(false));
  body.at("cognitive").set("queue", Tree::object());
  Tree& scheduler = body.at("scheduler");
  scheduler.set("available", Tree::flag(false));
  scheduler.set("count", Tree::integer(0));
  scheduler.set("running", Tree::flag(false));
  body.set("api", api_json(*inside.listeners, options));
  Tree& parts = body.at("skills");
  parts.set("tools", counted(plain_tools(skills["tools"])));
  parts.set("toolsets", toolsets_of(skills["tools"]));
  parts.set("agents", counted(skills["agents"]));
  parts.set("pipelines", described(skills["pipelines"])).set("hot_reload", Tree::flag(false));
  parts.set("commands", commands_json(inside.commands->dispatcher().registry));
  parts.set("anthropic_skills", counted(skills["skills"]));
  Tree& models = body.at("models");
  const Tree known = models_of(*inside.context);
  for (const auto& [name, model] : known.members()) {
    models.set(name, model_json(model));
  }
  return body;
}

// One dependency that is being reached for.
struct Check {
  Tree item;  // what is reported, but for the outcome
  std::string url;
  std::string key;
  bool is_socket = false;
};

Check check_of(std::string_view name, const Tree& given, bool is_socket) {
  Check check;
  check.item = Tree::object();
  check.item.set("name", name);
  if (given["model_name"].is_string()) check.item.set("model_name", given["model_name"]);
  check.is_socket = is_socket;
  check.url = given["api_url"].string();
  check.key = given["api_key"].string();
  if (check.url.empty()) {
    check.item.set("status", "skipped");
    check.item.set("reason", given["reason"].is_string() ? given["reason"].string() : "empty_url");
  }
  return check;
}

// Reaches for everything at once, and answers when all have ended.
class Checks final : public std::enable_shared_from_this<Checks> {
 public:
  Checks(ApiContextPtr context, ResponsePtr response)
      : context_(std::move(context)), response_(std::move(response)) {}

  void start() {
    const Tree models = models_of(*context_);
    for (const auto& [name, model] : models.members()) {
      checks_.push_back(check_of(name, model, false));
    }
    for (const auto& [name, socket] : context_->options.probes["sockets"].members()) {
      checks_.push_back(check_of(name, socket, true));
    }
    left_ = checks_.size() + 1;
    fetches_.resize(checks_.size());
    for (std::size_t at = 0; at < checks_.size(); ++at) begin(at);
    settle();
  }

 private:
  void begin(std::size_t at) {
    Check& check = checks_[at];
    if (check.url.empty()) return settle();
    // A socket is reached where HTTP is: only the connection counts.
    std::string address = check.url;
    if (address.starts_with("ws")) address.replace(0, 2, "http");
    const auto url = net::parse_url(address);
    if (!url) return fail(at, "invalid_url");
    if (check.is_socket) {
      check.item.set("host", url.value().host);
      std::int64_t port = 0;
      std::from_chars(url.value().port.data(), url.value().port.data() + url.value().port.size(),
                      port);
      check.item.set("port", Tree::integer(port));
    } else {
      check.item.set("url", masked_url(check.url));
    }
    net::Request request;
    request.url = url.value().text;
    request.timeouts.total = probe_timeout;
    request.redirects = net::Redirects::report;
    if (!check.key.empty()) request.headers.push_back({"Authorization", "Bearer " + check.key});
    tool::FetchOptions options;
    options.text_only = false;
    fetches_[at] =
        tool::fetch(context_->client, std::move(request), options,
                    [self = shared_from_this(), at, begun = Clock::now()](
                        const Result<tool::Fetched>& answer) { self->ended(at, answer, begun); });
  }

  static bool has_connected(const Error& error) {
    return error.code == Errc::protocol_error || error.code == Errc::connection_lost ||
           error.code == Errc::stream_truncated || error.code == Errc::response_too_large;
  }

  void ended(std::size_t at, const Result<tool::Fetched>& answer, Clock::time_point begun) {
    Check& check = checks_[at];
    const bool is_ok = answer || (check.is_socket && has_connected(answer.error()));
    if (!is_ok) return fail(at, answer.error().message);
    check.item.set("status", "ok");
    if (!check.is_socket) check.item.set("http_status", Tree::integer(answer.value().status));
    check.item.set("latency_ms", Tree::integer(ms_since(begun)));
    settle();
  }

  void fail(std::size_t at, std::string_view why) {
    checks_[at].item.set("status", "error");
    checks_[at].item.set("error", why);
    settle();
  }

  void settle() {
    if (--left_ > 0) return;
    bool is_ok = true;
    Tree results = Tree::array();
    for (Check& check : checks_) {
      if (check.item["status"].string() == "error") is_ok = false;
      results.push(std::move(check.item));
    }
    Tree body = Tree::object();
    body.set("ok", Tree::flag(is_ok));
    body.set("timestamp", local_time(store::system_clock()()));
    body.set("results", std::move(results));
    send_json(response_, 200, body);
  }

  ApiContextPtr context_;
  ResponsePtr response_;
  std::vector<Check> checks_;
  std::vector<std::unique_ptr<tool::RunningTool>> fetches_;
  std::size_t left_ = 0;
};

void send_internal(const Inside& inside, const std::string& principal, const Tree& skills,
                   const ResponsePtr& response) {
  inside.context->read_store<Result<std::size_t>>(
      [principal](store::StorageBackend& backend) { return count_facts(backend, principal); },
      [inside, response, skills](const Result<std::size_t>& facts) {
        const auto count = static_cast<std::int64_t>(facts ? facts.value() : 0);
        send_json(response, 200, internal_json(inside, skills, count));
      });
}

void on_internal(const Inside& inside, const http::Request& request, const ResponsePtr& response) {
  const std::string principal = principal_of(request, *inside.context);
  // Commands that cannot be read are those that were there before.
  inside.commands->refresh([inside, principal, response](const Result<void>&) {
    inside.context->ask(
        "tools", Tree::object(), [inside, principal, response](const Result<Tree>& skills) {
          send_internal(inside, principal, skills ? skills.value() : Tree::object(), response);
        });
  });
}

}  // namespace

std::string masked_url(std::string_view text) {
  if (text.empty()) return {};
  const std::size_t scheme = text.find("://");
  if (scheme == std::string_view::npos) return "...";
  const std::size_t begin = scheme + 3;
  std::string_view host = text.substr(begin, text.find_first_of("/?#", begin) - begin);
  host = host.substr(host.rfind('@') + 1);
  return std::string(text.substr(0, begin)) + std::string(host) + "/...";
}

std::vector<ApiRoute> probe_routes(const ApiContextPtr& context, const CommandsPtr& commands,
                                   const std::shared_ptr<const Listeners>& listeners) {
  return {
      {"GET", "/api/v1/probes/internal", "read", "The state of the server.",
       [inside = Inside{context, commands, listeners}](http::Request&& request,
                                                       const ResponsePtr& response) {
         on_internal(inside, request, response);
       },
       "", "InternalProbe"},
      {"GET", "/api/v1/probes/external", "read", "Whether what the server depends on answers.",
       [context](http::Request&&, const ResponsePtr& response) {
         std::make_shared<Checks>(context, response)->start();
       },
       "", "ExternalProbe"},
  };
}

}  // namespace millrace::api
