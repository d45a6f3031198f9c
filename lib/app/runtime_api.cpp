#include "app/runtime_api.hpp"

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "api/api_routes.hpp"
#include "base/shown.hpp"
#include "http/server.hpp"

namespace millrace::app {
namespace {

using json::Tree;

constexpr std::int64_t default_port = 8788;
constexpr std::int64_t last_port = 65535;

class EngineApi final : public host::RuntimeApi {
 public:
  EngineApi(run::RouteServices services, const api::ApiOptions& options,
            std::shared_ptr<api::AccessLog> log)
      : loop_(services.loop),
        log_(std::move(log)),
        reader_stall_(options.reader_stall),
        routes_({std::move(services), options}),
        router_(make_router()) {}
  ~EngineApi() override { routes_.close(); }
  EngineApi(const EngineApi&) = delete;
  EngineApi& operator=(const EngineApi&) = delete;

  [[nodiscard]] const http::Router& router() const override { return router_; }

  Result<Tree> listen(const Tree& options) override {
    http::ServerOptions server;
    server.times.write_stall = reader_stall_;
    const std::int64_t port =
        options["port"].is_null() ? default_port : options["port"].integer_or(-1);
    if (port < 0 || port > last_port) {
      return make_error(Errc::invalid_option, "`port` must be a port number from 0 to 65535.");
    }
    server.port = static_cast<std::uint16_t>(port);
    if (options["host"].is_string()) server.host = options["host"].string();
    if (!routes_.needs_keys() && !http::is_loopback_name(server.host)) {
      return make_error(Errc::invalid_option,
                        "A server without keys listens on a loopback address alone, and " +
                            shown_text(server.host) + " is none: give `api.keys`.");
    }
    for (const Tree& host : options["allowedHosts"].items()) {
      server.allowed_hosts.emplace_back(host.string());
    }
    for (const Tree& origin : options["allowedOrigins"].items()) {
      server.allowed_origins.emplace_back(origin.string());
    }
    auto made = std::make_unique<http::Server>(loop_);
    std::string name = server.host;
    auto listening = made->listen(std::move(server), make_router());
    if (!listening) return std::move(listening).error();
    servers_.insert_or_assign(listening.value(), std::move(made));
    routes_.add_listener(listening.value(), std::move(name));
    Tree answer = Tree::object();
    answer.set("port", Tree::integer(listening.value()));
    return answer;
  }

  void stop_listening(std::uint16_t port, std::chrono::milliseconds drain,
                      std::function<void()> done) override {
    const auto found = servers_.find(port);
    if (found == servers_.end()) return done();
    const std::shared_ptr<http::Server> server(std::move(found->second));
    servers_.erase(found);
    routes_.remove_listener(port);
    server->stop(drain, [&loop = loop_, server, done = std::move(done)] {
      // The server reports from within.
      loop.post([server] {});
      done();
    });
  }

  void stop_all(std::function<void()> done) override {
    if (servers_.empty()) return done();
    std::vector<std::uint16_t> ports;
    for (const auto& [port, server] : servers_) ports.push_back(port);
    const auto left = std::make_shared<std::size_t>(ports.size());
    for (const std::uint16_t port : ports) {
      stop_listening(port, std::chrono::milliseconds(0), [left, done] {
        if (--*left == 0) done();
      });
    }
  }

 private:
  [[nodiscard]] http::Router make_router() const {
    return http::Router(routes_.routes(), {routes_.zone()}, routes_.observer(log_));
  }

  os::EventLoop& loop_;
  std::shared_ptr<api::AccessLog> log_;
  std::chrono::milliseconds reader_stall_;
  api::ApiRoutes routes_;
  http::Router router_;
  std::map<std::uint16_t, std::unique_ptr<http::Server>> servers_;
};

}  // namespace

std::shared_ptr<host::RuntimeApi> make_runtime_api(run::RouteServices services,
                                                   const api::ApiOptions& options,
                                                   std::shared_ptr<api::AccessLog> log) {
  return std::make_shared<EngineApi>(std::move(services), options, std::move(log));
}

}  // namespace millrace::app
