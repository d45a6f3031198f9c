// What the resources of the Runtime API share.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/api_options.hpp"
#include "api/metrics.hpp"
#include "base/json_tree.hpp"
#include "base/result.hpp"
#include "http/router.hpp"
#include "run/durable/route_services.hpp"
#include "store/store_work.hpp"

namespace millrace::api {

// One operation of the API: a row of the router, and of the OpenAPI document.
struct ApiRoute {
  std::string_view method;
  std::string_view path;   // with names of parameters: "/api/v1/chat/jobs/{job_id}"
  std::string_view scope;  // that a key must have; "" is none
  std::string_view summary;
  http::Handler handler;
  std::string_view request;         // name of a schema (openapi_schemas.cpp); "" has no body
  std::string_view response;        // the same, of the success
  int status = 200;                 // of the success
  std::uint64_t body_bytes = 0;     // the largest body; 0: that of JSON
  std::string_view query = {};      // its parameters as "name:type name:type"
  bool goes_on = false;             // may answer 202 before its work is done
  http::MakeSink sink = {};         // takes the body while it comes
  http::ErrorBody error_body = {};  // of its errors before it is called; none: that of the API
};

// Lifetime: shared by the resources and what they have under way.
// Thread: engine thread.
struct ApiContext : run::RouteServices {
  ApiOptions options;
  std::chrono::steady_clock::time_point begun = std::chrono::steady_clock::now();
  std::shared_ptr<Metrics> metrics = std::make_shared<Metrics>();
  // Calls back once agents can be started; null: they always can.
  std::function<void(std::function<void()>)> when_ready = {};

  // Gives `done` what `work` gives, on the engine thread.
  template <class T>
  void with_store(std::function<T(store::StorageBackend&)> work, std::function<void(T)> done) {
    store::on_store<T>(*writer, loop, std::move(work), std::move(done));
  }
  // The same for work that changes nothing: no commit waits for it.
  template <class T>
  void read_store(std::function<T(store::StorageBackend&)> work, std::function<void(T)> done) {
    store::on_store<T>(*writer, loop, std::move(work), std::move(done), &store::Writer::read);
  }
};

using ApiContextPtr = std::shared_ptr<ApiContext>;

// Whose data a request is about.
inline const std::string& principal_of(const http::Request& request, const ApiContext& context) {
  return request.caller ? request.caller->principal : context.options.principal;
}

}  // namespace millrace::api
