#include "tool/builtin/options.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/shown.hpp"

namespace millrace::tool {
namespace {

using json::Tree;

// A text may be a secret, such as a key: of what is none, the kind is shown.
Error wrong(std::string_view member, std::string_view expected, const std::string& given) {
  return make_error(Errc::invalid_option, "`" + std::string(member) + "` must be " +
                                              std::string(expected) + ", not " + given + ".");
}

bool is_flag(const Tree& value) {
  return value.is_true() || value == Tree::flag(false);
}

bool is_policy(const Tree& word) {
  const std::string_view name = word.string();
  return name == "never" || name == "required" || name == "always";
}

bool is_rule(const Tree& rule) {
  const Tree* match = rule.find("match");
  return is_policy(rule["policy"]) && (match == nullptr || match->is_object());
}

// A resolver's policy, with a word for where no resolver decides.
bool read_dynamic(Tree& dynamic) {
  const auto is_word = [&](std::string_view member) {
    return dynamic[member].is_null() || is_policy(dynamic[member]);
  };
  if (dynamic["type"].string().empty() || !is_word("policy") || !is_word("default")) return false;
  if (dynamic["default"].is_null()) dynamic.set("default", "required");
  return true;
}

}  // namespace

Result<bool> read_flag(const Tree& options, std::string_view member) {
  const Tree& value = options[member];
  if (!value.is_null() && !is_flag(value))
    return wrong(member, "true or false", shown_value(value));
  return value.is_true();
}

Result<std::string> read_text(const Tree& options, std::string_view member,
                              std::string_view otherwise) {
  const Tree& value = options[member];
  if (!value.is_null() && !value.is_string()) return wrong(member, "a string", kind_of(value));
  return std::string(value.is_null() ? otherwise : value.string());
}

Result<std::vector<std::string>> read_names(const Tree& options, std::string_view member) {
  std::vector<std::string> names;
  const Tree& list = options[member];
  const bool is_list =
      list.is_null() ||
      (list.is_array() && std::all_of(list.items().begin(), list.items().end(),
                                      [](const Tree& item) { return item.is_string(); }));
  if (!is_list)
    return wrong(member, "a list of strings",
                 list.is_array() ? list.to_json().substr(0, shown_bytes) : shown_value(list));
  for (const Tree& item : list.items()) names.emplace_back(item.string());
  return names;
}

Result<std::int64_t> read_number(const Tree& options, std::string_view member,
                                 const Bounds& bounds) {
  const Tree& value = options[member];
  if (value.is_null()) return bounds.otherwise;
  const double number = std::ceil(value.number_or(0));
  if (!value.is_number() || number < 1)
    return wrong(member, "a number of at least 1", shown_value(value));
  return number < static_cast<double>(bounds.most) ? static_cast<std::int64_t>(number)
                                                   : bounds.most;
}

Result<std::shared_ptr<const net::AddressGuard>> read_guard(const Tree& options) {
  constexpr std::int64_t last_port = 65'535;
  net::GuardOptions read;
  auto allow = read_names(options, "allow");
  if (!allow) return std::move(allow).error();
  read.allow = std::move(allow).value();
  const Tree& ports = options["ports"];
  if (!ports.is_null()) {
    if (!ports.is_array()) return wrong("ports", "a list of numbers", shown_value(ports));
    read.ports.clear();
    for (const Tree& port : ports.items()) {
      const std::int64_t number = port.integer_or(0);
      if (number < 1 || number > last_port) {
        return wrong("ports", "a list of numbers from 1 to 65535",
                     ports.to_json().substr(0, shown_bytes));
      }
      read.ports.push_back(static_cast<std::uint16_t>(number));
    }
  }
  for (const auto& [member, flag] :
       {std::pair{"httpsOnly", &read.https_only}, std::pair{"allowedOnly", &read.allowed_only},
        std::pair{"trustsProxy", &read.trusts_proxy}}) {
    auto value = read_flag(options, member);
    if (!value) return std::move(value).error();
    *flag = value.value();
  }
  auto guard = net::AddressGuard::make(read);
  if (!guard) return std::move(guard).error();
  return std::make_shared<const net::AddressGuard>(std::move(guard).value());
}

Result<void> read_approval(const Tree& options, Spec& spec) {
  const Tree& approval = options["approval"];
  if (approval.is_null()) return {};
  Tree policy = approval;
  if (is_flag(approval)) policy = Tree::text(approval.is_true() ? "required" : "never");
  const bool is_known =
      policy.is_array() ? std::all_of(policy.items().begin(), policy.items().end(), is_rule)
                        : is_policy(policy) ||
                              (policy["dynamic"].is_object() && read_dynamic(policy.at("dynamic")));
  if (!is_known) {
    return wrong("approval",
                 "true, false, never, required, always, a list of rules with a `policy`, or "
                 "{ dynamic: { type, default } }",
                 shown_value(approval));
  }
  spec.approval = policy.to_json();
  return {};
}

}  // namespace millrace::tool
