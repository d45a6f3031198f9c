#include "app/start_rules.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/shown.hpp"

namespace millrace::app {
namespace {

using json::Tree;

Error wrong_rule(std::string_view name, std::string_view shape, const Tree& value) {
  return make_error(Errc::invalid_option, "`" + std::string(name) + "` must be " +
                                              std::string(shape) + ", not " + shown_value(value) +
                                              ".");
}

// Where the members of an object of limits are read to; `of_name` is called for each name.
template <class Limit>
struct Limits {
  std::string_view option;
  std::string_view shape;
  Limit& total;
  Limit& each_principal;
  Limit& each_provider_key;
  std::function<Limit&(std::string_view name)> of_name;
};

template <class Limit, class Read>
Result<void> read_limits(const Limits<Limit>& limits, const Tree& value, const Read& read) {
  if (!value.is_object()) return wrong_rule(limits.option, limits.shape, value);
  for (const auto& [name, limit] : value.members()) {
    const std::string_view key = name.view();
    if (limit.is_null()) continue;
    if (key == "total") {
      MILLRACE_TRY(read(limit, limits.total));
    } else if (key == "perPrincipal") {
      MILLRACE_TRY(read(limit, limits.each_principal));
    } else if (key == "perProviderKey") {
      MILLRACE_TRY(read(limit, limits.each_provider_key));
    } else if (key == "names" && limit.is_object()) {
      for (const auto& [agent, most] : limit.members()) {
        MILLRACE_TRY(read(most, limits.of_name(agent.view())));
      }
    } else {
      return wrong_rule(limits.option, limits.shape, value);
    }
  }
  return {};
}

}  // namespace

Result<void> read_concurrency(run::StartRules& rules, const Tree& value) {
  const Limits<std::size_t> limits{
      "concurrency",
      "a number from 1 on, or { total, perPrincipal, perProviderKey, names }",
      rules.limits.total,
      rules.limits.each_principal,
      rules.each_provider_key,
      [&](std::string_view name) -> std::size_t& { return rules.limits.names[std::string(name)]; }};
  const auto read = [&](const Tree& number, std::size_t& into) -> Result<void> {
    if (number.integer_or(0) < 1) return wrong_rule(limits.option, limits.shape, number);
    into = static_cast<std::size_t>(number.integer_or(0));
    return {};
  };
  return value.is_number() ? read(value, limits.total) : read_limits(limits, value, read);
}

Result<void> read_rate(run::StartRules& rules, const Tree& value) {
  constexpr std::int64_t longest_ms = 24LL * 3600 * 1000;
  const Limits<run::StartRate> limits{
      "rate",
      "{ starts: 1 or more, perMs?: 1 to a day }, or { total, perPrincipal, perProviderKey, names }"
      " of such",
      rules.rates.total,
      rules.rates.each_principal,
      rules.each_provider_key_rate,
      [&](std::string_view name) -> run::StartRate& {
        return rules.rates.names[std::string(name)];
      }};
  const auto read = [&](const Tree& rate, run::StartRate& into) -> Result<void> {
    const std::int64_t starts = rate["starts"].integer_or(0);
    const std::int64_t per = rate["perMs"].integer_or(1000);
    const bool fits = starts >= 1 && per >= 1 && per <= longest_ms;
    const bool is_rate =
        fits && std::all_of(rate.members().begin(), rate.members().end(), [](const auto& member) {
          const std::string_view name = member.first.view();
          return name == "starts" || name == "perMs";
        });
    if (!is_rate) return wrong_rule(limits.option, limits.shape, rate);
    into = {static_cast<std::size_t>(starts), std::chrono::milliseconds(per)};
    return {};
  };
  const bool has_scopes = value.is_object() && value.find("starts") == nullptr &&
                          value.find("perMs") == nullptr && !value.members().empty();
  return has_scopes ? read_limits(limits, value, read) : read(value, limits.total);
}

}  // namespace millrace::app
