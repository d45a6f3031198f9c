// What a server reports of itself and of what it depends on: /api/v1/probes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/api_context.hpp"
#include "api/command_routes.hpp"

namespace millrace::api {

// The servers of the engine that have these routes: their hosts by their ports.
using Listeners = std::map<std::uint16_t, std::string>;

// Where no server listens, a host has its own, whose address is not known here.
std::vector<ApiRoute> probe_routes(const ApiContextPtr& context, const CommandsPtr& commands,
                                   const std::shared_ptr<const Listeners>& listeners);

// The address without its path, which may hold secrets: "https://host:8443/...". "" for none.
std::string masked_url(std::string_view url);

}  // namespace millrace::api
