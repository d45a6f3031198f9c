#include "model/call/circuit.hpp"

#include <algorithm>
#include <array>
#include <functional>

#include "base/json.hpp"
#include "net/url.hpp"

namespace millrace::model {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

// How many circuits are remembered at most; calls with ever new keys must not fill the memory.
constexpr std::size_t most_circuits = 1024;

std::string origin_of(const ProviderConfig& config) {
  const std::string_view address =
      config.base_url.empty() ? config.provider->base_url : std::string_view(config.base_url);
  const auto url = net::parse_url(address);
  return url ? url.value().origin() : std::string(address);
}

std::string seconds_text(milliseconds time) {
  return std::to_string((time.count() + 999) / 1000) + " s";
}

}  // namespace

bool is_outage(const Error& error) {
  // Who answers nonsense is there: only a provider that cannot be reached, is silent or says itself
  // that it is in trouble is worth sparing.
  constexpr std::array outages{
      Errc::name_resolution_failed, Errc::connect_failed,     Errc::proxy_failed,
      Errc::connect_timeout,        Errc::first_byte_timeout, Errc::idle_timeout,
      Errc::total_timeout,          Errc::tls_failed,         Errc::connection_lost,
      Errc::provider_overloaded,    Errc::ollama_unavailable};
  if (std::find(outages.begin(), outages.end(), error.code) != outages.end()) return true;
  constexpr int first_server_error = 500;
  return error.code == Errc::provider_error &&
         error.upstream_status.value_or(0) >= first_server_error;
}

// A hash stands for the key: the store outlives the calls that know it.
std::string CircuitStore::name_of(const ProviderConfig& config, std::size_t key) {
  std::string name = config.id + '\n' + origin_of(config) + '\n';
  const std::string& secret = config.api_keys.empty()
                                  ? config.aws.access_key_id
                                  : config.api_keys[key % config.api_keys.size()];
  return name.append(std::to_string(std::hash<std::string>{}(secret)));
}

Result<void> CircuitStore::enter(const ProviderConfig& config, std::size_t key, Time now) {
  const std::lock_guard lock(mutex_);
  if (config.circuit.failures == 0 || circuits_.empty()) return {};
  const auto found = circuits_.find(name_of(config, key));
  if (found == circuits_.end() || !found->second.open_until) return {};
  Circuit& circuit = found->second;
  const bool over = now >= *circuit.open_until;
  if (over && !circuit.probing) {
    circuit.probing = true;
    return {};
  }
  // While a probe is under way, there is no better time than "soon".
  constexpr milliseconds soon{1000};
  const milliseconds left = over ? soon : duration_cast<milliseconds>(*circuit.open_until - now);
  Error error = make_error(
      Errc::circuit_open,
      "The provider " + config.id + " failed " + std::to_string(config.circuit.failures) +
          " times in " + seconds_text(config.circuit.window) + " (last: " + circuit.last_error +
          "); calls to it are paused for another " + seconds_text(left) + ".",
      circuit.last_error);
  error.retry_after = left;
  return error;
}

void CircuitStore::began(const ProviderConfig& config, std::size_t key) {
  const std::lock_guard lock(mutex_);
  if (circuits_.empty()) return;
  const auto found = circuits_.find(name_of(config, key));
  if (found != circuits_.end() && found->second.probing) circuits_.erase(found);
}

void CircuitStore::answered(const ProviderConfig& config, std::size_t key) {
  const std::lock_guard lock(mutex_);
  if (circuits_.empty()) return;
  const auto found = circuits_.find(name_of(config, key));
  if (found == circuits_.end()) return;
  Circuit& circuit = found->second;
  // What an older request brings says nothing of an open circuit.
  if (circuit.open_until && !circuit.probing) return;
  if (circuit.probing || circuit.failures.size() <= 1) {
    circuits_.erase(found);
  } else {
    circuit.failures.erase(circuit.failures.begin());
  }
}

void CircuitStore::failed(const ProviderConfig& config, std::size_t key, const Error& error,
                          Time now, bool counts) {
  const CircuitPolicy& policy = config.circuit;
  if (policy.failures == 0) return;
  const std::lock_guard lock(mutex_);
  const std::string name = name_of(config, key);
  if (!counts) {
    const auto found = circuits_.find(name);
    if (found == circuits_.end() || !found->second.probing) return;
  }
  if (circuits_.size() >= most_circuits && !circuits_.contains(name)) {
    circuits_.erase(circuits_.begin());
  }
  Circuit& circuit = circuits_[name];
  if (circuit.open_until && !circuit.probing) return;
  circuit.provider = config.id;
  circuit.origin = origin_of(config);
  circuit.last_error = error.code_name();
  std::erase_if(circuit.failures, [&](Time at) { return now - at > policy.window; });
  if (circuit.failures.size() < policy.failures) circuit.failures.push_back(now);
  if (!circuit.probing && circuit.failures.size() < policy.failures) return;
  circuit.probing = false;
  circuit.open_until = now + policy.pause;
}

void CircuitStore::left(const ProviderConfig& config, std::size_t key) {
  const std::lock_guard lock(mutex_);
  if (circuits_.empty()) return;
  const auto found = circuits_.find(name_of(config, key));
  if (found != circuits_.end()) found->second.probing = false;
}

std::string CircuitStore::json(Time now) const {
  const std::lock_guard lock(mutex_);
  std::string out = "[";
  for (const auto& [name, circuit] : circuits_) {
    const bool open = circuit.open_until && now < *circuit.open_until;
    const std::string_view state = open ? "open" : (circuit.open_until ? "half_open" : "closed");
    if (out.size() > 1) out.push_back(',');
    out.push_back('{');
    json::append_member(out, "provider", circuit.provider);
    json::append_member(out, "origin", circuit.origin);
    json::append_member(out, "state", state);
    json::append_member(out, "failures", static_cast<std::int64_t>(circuit.failures.size()));
    json::append_member(out, "lastError", circuit.last_error);
    if (open) {
      const auto left = duration_cast<milliseconds>(*circuit.open_until - now);
      json::append_member(out, "retryAfterMs", std::int64_t{left.count()});
    }
    out.push_back('}');
  }
  out.push_back(']');
  return out;
}

}  // namespace millrace::model
