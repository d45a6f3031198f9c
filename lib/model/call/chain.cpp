#include "model/call/chain.hpp"

#include <algorithm>
#include <utility>

#include "base/ascii.hpp"
#include "base/json.hpp"
#include "model/provider/config.hpp"
#include "model/provider/secrets.hpp"

namespace millrace::model {

Result<CallChain> read_chain(std::string_view json) {
  json::Document document;
  auto parsed = document.parse(json);
  if (!parsed) return std::move(parsed).error();
  std::vector<CallLink> chain;
  for (const json::Value item : parsed.value().items()) {
    auto config = read_config(item.to_json());
    if (!config) return std::move(config).error();
    chain.push_back({std::move(config).value(), std::string(item["model"].string())});
  }
  if (chain.empty()) {
    return make_error(Errc::invalid_option, "The list of models is empty: give at least one.");
  }
  return CallChain(std::move(chain));
}

CallChain with_header(const CallChain& chain, std::string_view name, std::string_view value) {
  std::vector<CallLink> links(chain.begin(), chain.end());
  for (CallLink& link : links) {
    auto& headers = link.config.headers;
    const bool has_it = std::any_of(headers.begin(), headers.end(), [&](const net::Header& header) {
      return equal_ignoring_case(header.name, name);
    });
    if (!has_it) headers.push_back({std::string(name), std::string(value)});
  }
  return CallChain(std::move(links));
}

std::vector<std::string> secrets_of(const CallOptions& call) {
  return secrets_of(call.chain);
}

std::vector<std::string> secrets_of(const CallChain& chain) {
  std::vector<std::string> all;
  for (const CallLink& link : chain) {
    for (std::string& secret : secrets_of(link.config)) all.push_back(std::move(secret));
  }
  return all;
}

}  // namespace millrace::model
