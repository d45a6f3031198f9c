#include "host/model_call_pipe.hpp"
#include "model/call/chain.hpp"

#include <utility>

#include "base/json.hpp"
#include "host/host_request.hpp"
#include "model/call/clock.hpp"

namespace millrace::host {
namespace {

std::string request_json(std::string_view what, const net::Request& request) {
  std::string out = "{";
  json::append_member(out, "do", what);
  append_request(out, request);
  out.push_back('}');
  return out;
}

}  // namespace

ModelCallPipe::ModelCallPipe(ModelCallSpec spec)
    : output_(spec.output, model::secrets_of(spec.call)),
      call_(std::move(spec.call), std::move(spec.payload),
            {ids_, random_source_, tokens_, circuits_}, *this, output_) {}

ModelCallPipe::~ModelCallPipe() = default;

void ModelCallPipe::start() {
  output_.start(call_);
  call_.start(model::moment_now());
  settle();
}

Result<void> ModelCallPipe::head(std::string_view head_json) {
  json::Document document;
  auto parsed = document.parse(head_json);
  if (!parsed) return std::move(parsed).error();
  call_.on_head(read_response_head(parsed.value()), model::moment_now());
  settle();
  return {};
}

void ModelCallPipe::data(std::string_view decoded) {
  call_.on_data(decoded, model::moment_now());
  settle();
}

void ModelCallPipe::done(std::string_view code, std::string_view message) {
  if (code.empty()) {
    call_.on_done(std::nullopt, model::moment_now());
  } else {
    call_.on_done(make_error(code_of(code), std::string(message)), model::moment_now());
  }
  settle();
}

void ModelCallPipe::timer() {
  call_.on_timer(model::moment_now());
  settle();
}

void ModelCallPipe::complete(std::uint64_t id, std::string_view json) {
  call_.complete(id, json, model::moment_now());
  settle();
}

void ModelCallPipe::stop(bool was_sent) {
  was_sent_ = was_sent;
  call_.stop(model::moment_now());
  settle();
}

std::string& ModelCallPipe::output() {
  return output_.output();
}

void ModelCallPipe::send(net::Request request) {
  requests_.append(",").append(request_json("send", request));
}

void ModelCallPipe::dispatch(net::Request request) {
  requests_.append(",").append(request_json("dispatch", request));
}

bool ModelCallPipe::abandon() {
  requests_.append(R"(,{"do":"abandon"})");
  return was_sent_;
}

void ModelCallPipe::wait(std::chrono::milliseconds time) {
  std::string request = R"({"do":"wait")";
  json::append_member(request, "ms", std::int64_t{time.count()});
  requests_.append(",").append(request).push_back('}');
}

void ModelCallPipe::call_hook(std::uint64_t id, model::Hook hook, std::string json) {
  output_.call_hook(id, hook, json);
  if (hook == model::Hook::events) requests_.append(R"(,{"do":"pause"})");
}

void ModelCallPipe::opened() {
  opened_ = true;
  requests_.append(R"(,{"do":"open"})");
}

void ModelCallPipe::settle() {
  if (!call_.ended() || std::exchange(closed_, true)) return;
  output_.finish(call_);
  std::string request = R"({"do":"end")";
  const bool rejected = call_.error() && !opened_ && output_.shape() == OutputShape::bytes;
  json::append_member(request, "error", rejected ? call_.failure_json() : std::string());
  requests_.append(",").append(request).push_back('}');
}

}  // namespace millrace::host
