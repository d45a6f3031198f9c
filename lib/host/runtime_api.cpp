// What a runtime does for its routes.
#include "host/runtime_api.hpp"

#include <chrono>
#include <utility>

#include "base/error_json.hpp"
#include "base/json.hpp"
#include "host/runtime_stream.hpp"

namespace millrace::host {

using json::Tree;

const http::Router& RuntimeStream::routes() {
  return api().router();
}

RuntimeApi& RuntimeStream::api() {
  if (api_) return *api_;
  const auto ask = [weak = weak_from_this()](std::string_view kind, Tree value,
                                             run::RouteServices::Reply reply) {
    if (const auto self = weak.lock()) return self->ask(kind, value, std::move(reply));
    reply(make_error(Errc::engine_closed));
  };
  api_ = spec_.api({services_.loop, services_.pool, services_.client, writer_, runs_, requests_,
                    ask, has_pipelines_});
  return *api_;
}

void RuntimeStream::ask(std::string_view kind, const Tree& value, run::RouteServices::Reply reply) {
  if (closed_) return reply(make_error(Errc::engine_closed));
  asks_[++last_request_] = std::move(reply);
  std::string item = R"({"type":"@ask")";
  json::append_member(item, "id", static_cast<std::int64_t>(last_request_));
  json::append_member(item, "kind", kind);
  json::append_raw_member(item, "value", value.to_json(json::Surrogates::replace));
  push(item + "}");
}

bool RuntimeStream::answer_ask(std::uint64_t id, std::string_view json) {
  auto found = asks_.extract(id);
  if (found.empty()) return false;
  auto answer = Tree::parse(json);
  if (!answer) {
    found.mapped()(answer.error());
  } else if (answer.value()["error"].is_object()) {
    const Tree& error = answer.value()["error"];
    found.mapped()(
        make_error(code_of(error["code"].string()), std::string(error["message"].string())));
  } else {
    found.mapped()(answer.value()["value"]);
  }
  return true;
}

void RuntimeStream::do_listen(const Tree& options, const Reply& reply) {
  reply(api().listen(options));
}

void RuntimeStream::do_pipelines(const Tree& options, const Reply& reply) {
  *has_pipelines_ = options["count"].integer_or(0) > 0;
  reply(Tree());
}

void RuntimeStream::do_unlisten(const Tree& options, const Reply& reply) {
  api().stop_listening(static_cast<std::uint16_t>(options["port"].integer_or(0)),
                       std::chrono::milliseconds(options["drainMs"].integer_or(0)),
                       [reply] { reply(Tree()); });
}

}  // namespace millrace::host
