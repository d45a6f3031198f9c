// The HTTP side of a runtime: the table of its routes, and the servers that listen for it.
#pragma once

#include <memory>

#include "api/access_log.hpp"
#include "api/api_options.hpp"
#include "host/runtime_api.hpp"
#include "run/durable/route_services.hpp"

namespace millrace::app {

std::shared_ptr<host::RuntimeApi> make_runtime_api(run::RouteServices services,
                                                   const api::ApiOptions& options,
                                                   std::shared_ptr<api::AccessLog> log);

}  // namespace millrace::app
