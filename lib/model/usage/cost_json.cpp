// Price cards, options and costs as JSON.
#include <span>
#include <utility>

#include "base/number_text.hpp"
#include "model/body/fields.hpp"
#include "model/usage/cost.hpp"

namespace millrace::model {
namespace {

double dollars_of(std::int64_t credits) {
  ChatCost cost;
  cost.credits = credits;
  return cost.dollars();
}

Error bad_card(const std::string& what) {
  return make_error(Errc::invalid_argument, "The price card " + what);
}

Result<void> read_tiers(PriceUnit& unit, const json::Value& tiers) {
  for (const json::Value tier : tiers.items()) {
    const auto rate = tier["rate"].number();
    if (!rate || *rate < 0) return bad_card("has a tier of '" + unit.name + "' without a rate.");
    unit.tiers.push_back({tier["upTo"].number(), *rate});
  }
  if (unit.tiers.empty()) return bad_card("has no tiers for '" + unit.name + "'.");
  return {};
}

Result<void> read_lookup(PriceUnit& unit, const json::Value& lookup) {
  for (const json::Value parameter : lookup["pricingParams"].items()) {
    unit.parameters.emplace_back(parameter.string());
  }
  for (const json::Member& price : lookup["prices"].members()) {
    if (const auto rate = price.value.number(); rate && *rate >= 0) {
      unit.prices.insert_or_assign(std::string(price.key), *rate);
    }
  }
  if (unit.parameters.empty()) return bad_card("has no pricingParams for '" + unit.name + "'.");
  return {};
}

Result<PriceUnit> read_unit(const json::Value& value) {
  PriceUnit unit;
  unit.name = value["name"].string();
  unit.unit = value["unit"].filled_string().value_or("millionTokens");
  if (unit.name.empty()) return bad_card("has a unit without a name.");
  const std::string_view strategy = value["strategy"].filled_string().value_or("fixed");
  if (strategy == "tiered") {
    unit.strategy = PriceUnit::Strategy::tiered;
    MILLRACE_TRY(read_tiers(unit, value["tiers"]));
  } else if (strategy == "lookup") {
    unit.strategy = PriceUnit::Strategy::lookup;
    MILLRACE_TRY(read_lookup(unit, value["lookup"]));
  } else if (strategy == "fixed") {
    const auto rate = value["rate"].number();
    if (!rate || *rate < 0) return bad_card("has no rate for '" + unit.name + "'.");
    unit.rate = *rate;
  } else {
    return bad_card("has the unknown strategy '" + std::string(strategy) + "'.");
  }
  return unit;
}

void append_unit(std::string& out, const PriceUnit& unit) {
  std::string json = "{";
  json::append_member(json, "name", unit.name);
  json::append_member(json, "unit", unit.unit);
  json::append_raw_member(out, "unit", json + "}");
}

// The lines of a unit as one. Shares of it are shown where their rates are not those of the unit.
void append_lines(std::string& out, std::span<const CostLine> lines) {
  CostLine all = lines.front();
  std::string segments = "[";
  double credits = 0;
  for (const CostLine& line : lines) {
    const double exact = static_cast<double>(line.quantity) * line.rate;
    segments.append(segments.size() > 1 ? ",{" : "{");
    json::append_member(segments, "quantity", line.quantity);
    json::append_raw_member(segments, "rate", number_text(line.rate));
    json::append_raw_member(segments, "credits", number_text(exact));
    segments.push_back('}');
    credits += exact;
    if (&line == &lines.front()) continue;
    all.quantity += line.quantity;
    all.credits += line.credits;
    all.rate = credits / static_cast<double>(all.quantity);
    all.key.clear();
  }
  out.push_back('{');
  append_unit(out, *all.unit);
  json::append_member(out, "quantity", all.quantity);
  json::append_raw_member(out, "rate", number_text(all.rate));
  json::append_member(out, "credits", all.credits);
  json::append_raw_member(out, "cost", number_text(dollars_of(all.credits)));
  if (!all.key.empty()) json::append_member(out, "lookupKey", all.key);
  const bool is_tier = all.unit->strategy == PriceUnit::Strategy::tiered;
  if (is_tier || lines.size() > 1) json::append_raw_member(out, "segments", segments + "]");
  out.push_back('}');
}

}  // namespace

Result<PriceCard> read_price_card(const json::Value& card) {
  PriceCard result;
  const std::string_view currency = card["currency"].filled_string().value_or("USD");
  if (currency != "USD" && currency != "CNY") return bad_card("must be in USD or CNY.");
  result.yuan = currency == "CNY";
  if (!card["units"].is_array()) return bad_card("needs units.");
  for (const json::Value value : card["units"].items()) {
    auto unit = read_unit(value);
    if (!unit) return std::move(unit).error();
    result.units.push_back(std::move(unit).value());
  }
  return result;
}

CostOptions read_cost_options(const json::Value& options) {
  CostOptions result;
  for (const json::Member& parameter : options["parameters"].members()) {
    const json::Value& value = parameter.value;
    result.parameters.insert_or_assign(std::string(parameter.key), value.is_string()
                                                                       ? std::string(value.string())
                                                                       : value.to_json());
  }
  const auto rate = options["yuanPerDollar"].number();
  if (rate && *rate > 0) result.yuan_per_dollar = *rate;
  return result;
}

std::string cost_json(const ChatCost& cost) {
  std::string out = "{";
  json::append_raw_member(out, "totalCost", number_text(cost.dollars()));
  json::append_member(out, "totalCredits", cost.credits);
  std::string list = "[";
  for (std::size_t at = 0; at < cost.lines.size();) {
    const PriceUnit* const unit = cost.lines[at].unit;
    std::size_t end = at + 1;
    while (end < cost.lines.size() && cost.lines[end].unit == unit) ++end;
    if (list.size() > 1) list.push_back(',');
    append_lines(list, std::span(cost.lines).subspan(at, end - at));
    at = end;
  }
  json::append_raw_member(out, "breakdown", list + "]");
  list = "[";
  for (const CostIssue& issue : cost.issues) {
    if (list.size() > 1) list.push_back(',');
    list.push_back('{');
    append_unit(list, *issue.unit);
    json::append_member(list, "reason", issue.reason);
    list.push_back('}');
  }
  json::append_raw_member(out, "issues", list + "]");
  out.push_back('}');
  return out;
}

}  // namespace millrace::model
