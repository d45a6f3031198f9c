#include "app/store_control.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <mutex>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "api/agent_routes.hpp"
#include "api/private_file.hpp"
#include "app/open_stores.hpp"
#include "base/json_tree.hpp"
#include "base/sha256.hpp"
#include "http/server.hpp"
#include "os/random_ids.hpp"
#include "run/durable/run_requests.hpp"

namespace millrace::app {
namespace {

using json::Tree;
using ControlResponse = std::shared_ptr<http::ResponseStream>;
using ControlHandler = void (*)(run::RunRequests&, const http::Request&, const ControlResponse&);

constexpr std::string_view control_bearer = "Bearer ";
constexpr std::size_t control_run_place = 1;       // /runs/<id>
constexpr std::size_t control_approval_place = 3;  // /runs/<id>/approvals/<approval>

// The user of the machine is every principal: the files are theirs.
void on_get(run::RunRequests& requests, const http::Request& request,
            const ControlResponse& response) {
  requests.describe(request.path_segment(control_run_place), {}, {}, api::send_run(response, 200));
}

void on_delete(run::RunRequests& requests, const http::Request& request,
               const ControlResponse& response) {
  requests.stop(request.path_segment(control_run_place), {}, {},
                request.query_value("reason").value_or("user_aborted"),
                api::send_run(response, 202));
}

void on_approval(run::RunRequests& requests, const http::Request& request,
                 const ControlResponse& response) {
  auto entry = api::read_decision(request.body);
  if (!entry) return (void)response->send_error(entry.error());
  requests.decide(request.path_segment(control_run_place),
                  request.path_segment(control_approval_place), {}, std::move(entry).value(),
                  api::send_run(response, 200));
}

void on_fork(run::RunRequests& requests, const http::Request& request,
             const ControlResponse& response) {
  const auto body = Tree::parse(request.body);
  if (!body) return (void)response->send_error(body.error());
  requests.fork(request.path_segment(control_run_place), {}, body.value(),
                api::send_run(response, 201));
}

Error not_written(const std::string& path) {
  return make_error(Errc::store_failed, "The control file '" + path + "' cannot be written.",
                    std::generic_category().message(errno));
}

}  // namespace

struct StoreControl::Endpoint {
  explicit Endpoint(os::EventLoop& loop) : server(loop) {}

  [[nodiscard]] http::Route route(std::string method, std::string path,
                                  ControlHandler handler) const;

  std::string path;
  std::string file;  // what is written there
  std::string token;
  Requests requests;
  http::Server server;  // last: its handlers use the others
};

namespace {

// Environments of one process share a store; the file names the endpoint that was opened last.
struct OpenEndpoints {
  std::mutex mutex;
  std::map<std::string, std::vector<std::string>> files;  // by their path, what each endpoint wrote
};

// Never destroyed: environments may close their stores while the process ends.
OpenEndpoints& open_endpoints() {
  static OpenEndpoints& endpoints = *new OpenEndpoints;
  return endpoints;
}

Result<void> announce(const std::string& path, const std::string& file) {
  OpenEndpoints& open = open_endpoints();
  const std::lock_guard lock(open.mutex);
  if (!api::write_private_file(path, file)) return not_written(path);
  open.files[path].push_back(file);
  return {};
}

void withdraw(const std::string& path, const std::string& file) {
  OpenEndpoints& open = open_endpoints();
  const std::lock_guard lock(open.mutex);
  std::vector<std::string>& files = open.files[path];
  const auto own = std::find(files.begin(), files.end(), file);
  if (own == files.end()) return;
  files.erase(own);
  if (files.empty()) {
    ::unlink(path.c_str());
    open.files.erase(path);
  } else {
    // Who looks for the process finds another one of its endpoints.
    static_cast<void>(api::write_private_file(path, files.back()));
  }
}

}  // namespace

http::Route StoreControl::Endpoint::route(std::string method, std::string path,
                                          ControlHandler handler) const {
  return {std::move(method), std::move(path),
          [token = token, requests = requests, handler](http::Request&& request,
                                                        const ControlResponse& response) {
            const auto given = request.headers.find("authorization").value_or("");
            const bool is_known =
                given.starts_with(control_bearer) &&
                equal_in_constant_time(given.substr(control_bearer.size()), token);
            if (!is_known) return (void)response->send_error(make_error(Errc::not_authorized));
            const auto runs = requests();
            if (!runs) return (void)response->send_error(make_error(Errc::engine_closed));
            handler(*runs, request, response);
          }};
}

StoreControl::StoreControl(std::unique_ptr<Endpoint> endpoint) : endpoint_(std::move(endpoint)) {}

StoreControl::~StoreControl() {
  withdraw(endpoint_->path, endpoint_->file);
}

Result<std::unique_ptr<StoreControl>> StoreControl::open(os::EventLoop& loop,
                                                         const std::string& storage,
                                                         Requests requests) {
  const std::string store = path_of(storage);
  if (store.empty()) return std::unique_ptr<StoreControl>();
  auto made = std::make_unique<Endpoint>(loop);
  std::error_code failed;
  // The working folder may be another one at the end.
  made->path = std::filesystem::absolute(store, failed).string() + ".control";
  os::RandomIds ids;
  made->token = ids.next_id() + ids.next_id();
  made->requests = std::move(requests);
  std::vector<http::Route> routes{made->route("GET", "/runs/*", on_get),
                                  made->route("DELETE", "/runs/*", on_delete),
                                  made->route("POST", "/runs/*/fork", on_fork),
                                  made->route("POST", "/runs/*/approvals/*", on_approval)};
  http::ServerOptions options;
  options.port = 0;
  constexpr std::size_t most_connections = 64;
  options.max_connections = most_connections;
  auto port = made->server.listen(std::move(options), http::Router(std::move(routes)));
  if (!port) return std::move(port).error();
  Tree file = Tree::object();
  file.set("pid", std::to_string(::getpid()));
  file.set("url", "http://127.0.0.1:" + std::to_string(port.value()));
  file.set("token", made->token);
  made->file = file.to_json() + "\n";
  MILLRACE_TRY(announce(made->path, made->file));
  return std::unique_ptr<StoreControl>(new StoreControl(std::move(made)));
}

}  // namespace millrace::app
