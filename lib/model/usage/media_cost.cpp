#include "model/usage/media_cost.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/number_text.hpp"
#include "base/read_float.hpp"
#include "base/shown.hpp"

namespace millrace::model {
namespace {

constexpr double million = 1e6;
constexpr double credit_rounding =
    1e-6;  // what adding fractions leaves behind is no further credit
using Kind = MediaWork::Kind;

// How much of a unit was used; nothing when only the provider knows.
struct MediaQuantity {
  Kind kind;
  std::string_view name;
  std::string_view unit;
  bool makes;  // a card without such a unit has no price for the work
  std::optional<double> (*of)(const MediaWork& work);
};
constexpr std::array media_quantities{
    MediaQuantity{Kind::image, "imageGeneration", "image", true,
                  [](const MediaWork& w) { return std::optional(static_cast<double>(w.count)); }},
    MediaQuantity{Kind::image, "imageGeneration", "megapixel", true,
                  [](const MediaWork& w) {
                    return w.megapixels
                               ? std::optional(*w.megapixels * static_cast<double>(w.count))
                               : std::nullopt;
                  }},
    MediaQuantity{Kind::image, "imageInput", "image", false,
                  [](const MediaWork& w) {
                    return std::optional(static_cast<double>(w.input_images * w.count));
                  }},
    MediaQuantity{Kind::video, "videoGeneration", "second", true,
                  [](const MediaWork& w) {
                    return w.seconds ? std::optional(*w.seconds * static_cast<double>(w.count))
                                     : std::nullopt;
                  }},
    MediaQuantity{Kind::video, "videoGeneration", "video", true,
                  [](const MediaWork& w) { return std::optional(static_cast<double>(w.count)); }},
    MediaQuantity{Kind::video, "videoGeneration", "millionTokens", true,
                  [](const MediaWork& w) {
                    return w.tokens ? std::optional(static_cast<double>(*w.tokens) / million)
                                    : std::nullopt;
                  }},
    MediaQuantity{Kind::video, "imageInput", "image", false,
                  [](const MediaWork& w) {
                    return std::optional(static_cast<double>(w.input_images * w.count));
                  }},
};

const MediaQuantity* find_quantity(Kind kind, const PriceUnit& unit) {
  const auto* row =
      std::find_if(media_quantities.begin(), media_quantities.end(), [&](const MediaQuantity& q) {
        return q.kind == kind && q.name == unit.name && q.unit == unit.unit;
      });
  return row == media_quantities.end() ? nullptr : row;
}

std::optional<double> lookup_rate(const PriceUnit& unit, const CostOptions& options,
                                  std::string& key) {
  for (const std::string& parameter : unit.parameters) {
    const auto value = options.parameters.find(parameter);
    if (value == options.parameters.end()) return std::nullopt;
    if (!key.empty()) key.push_back('_');
    key.append(value->second);
  }
  const auto price = unit.prices.find(key);
  return price == unit.prices.end() ? std::nullopt : std::optional(price->second);
}

std::optional<double> rate_of(const PriceUnit& unit, const CostOptions& options, MediaLine& line) {
  switch (unit.strategy) {
    case PriceUnit::Strategy::fixed: return unit.rate;
    case PriceUnit::Strategy::lookup: return lookup_rate(unit, options, line.key);
    case PriceUnit::Strategy::tiered: break;
  }
  for (const PriceUnit::Tier& tier : unit.tiers) {
    if (!tier.up_to || line.quantity <= *tier.up_to) return tier.rate;
  }
  return std::nullopt;
}

// "1024x1024"
std::optional<double> megapixels_of(std::string_view size) {
  const std::size_t cross = size.find('x');
  if (cross == std::string_view::npos) return std::nullopt;
  double width = 0;
  double height = 0;
  const char* const end = size.data() + size.size();
  const auto first = read_float(size.data(), size.data() + cross, width);
  const auto second = read_float(size.data() + cross + 1, end, height);
  const bool read = first.ec == std::errc() && second.ec == std::errc() && second.ptr == end;
  return read ? std::optional(width * height / million) : std::nullopt;
}

std::int64_t input_images_of(const json::Value& params) {
  const json::Value list = params["imageUrls"];
  if (list.is_array()) return static_cast<std::int64_t>(list.size());
  return params["imageUrl"].filled_string() ? 1 : 0;
}

}  // namespace

Result<MediaWork> read_media_work(const json::Value& value) {
  MediaWork work;
  const std::string_view kind = value["kind"].string();
  if (kind != "image" && kind != "video") {
    return make_error(Errc::invalid_argument, "`kind` must be \"image\" or \"video\", not " +
                                                  shown_value(value["kind"]) + ".");
  }
  work.kind = kind == "image" ? Kind::image : Kind::video;
  work.count = value["count"].integer().value_or(1);
  work.tokens = value["tokens"].integer();
  if (work.count < 0 || work.tokens.value_or(0) < 0) {
    return make_error(Errc::invalid_argument,
                      "`count` and `tokens` must not be negative; they are " +
                          std::to_string(work.count) + " and " +
                          std::to_string(work.tokens.value_or(0)) + ".");
  }
  const json::Value params = value["params"];
  const auto width = params["width"].number();
  const auto height = params["height"].number();
  if (width && height) {
    work.megapixels = *width * *height / million;
  } else {
    work.megapixels = megapixels_of(params["size"].string());
  }
  if (const auto duration = params["duration"].number(); duration && *duration > 0) {
    work.seconds = *duration;
  }
  work.input_images = input_images_of(params);
  for (const json::Member& parameter : params.members()) {
    const json::Value& one = parameter.value;
    work.options.parameters.insert_or_assign(
        std::string(parameter.key), one.is_string() ? std::string(one.string()) : one.to_json());
  }
  const auto yuan = value["yuanPerDollar"].number();
  if (yuan && *yuan > 0) work.options.yuan_per_dollar = *yuan;
  return work;
}

std::optional<MediaCost> compute_media_cost(const PriceCard& card, const MediaWork& work) {
  MediaCost cost;
  bool makes = false;
  for (const PriceUnit& unit : card.units) {
    const MediaQuantity* row = find_quantity(work.kind, unit);
    if (row == nullptr) continue;
    const auto quantity = row->of(work);
    if (!quantity) return std::nullopt;
    MediaLine line{&unit, *quantity, 0, 0, {}};
    const auto rate = rate_of(unit, work.options, line);
    if (!rate) return std::nullopt;
    makes = makes || row->makes;
    if (*quantity <= 0) continue;
    line.rate = *rate;
    line.cost = *quantity * *rate;
    if (card.yuan) line.cost /= work.options.yuan_per_dollar;
    cost.total += line.cost;
    cost.lines.push_back(std::move(line));
  }
  if (!makes) return std::nullopt;
  return cost;
}

std::string media_cost_json(const MediaCost& cost) {
  std::string out = "{";
  json::append_raw_member(out, "totalCost", number_text(cost.total));
  const double credits = std::ceil(std::min(cost.total * million, 9e15) - credit_rounding);
  json::append_member(out, "totalCredits", static_cast<std::int64_t>(credits));
  std::string list = "[";
  for (const MediaLine& line : cost.lines) {
    if (list.size() > 1) list.push_back(',');
    std::string unit = "{";
    json::append_member(unit, "name", line.unit->name);
    json::append_member(unit, "unit", line.unit->unit);
    list.push_back('{');
    json::append_raw_member(list, "unit", unit + "}");
    json::append_raw_member(list, "quantity", number_text(line.quantity));
    json::append_raw_member(list, "rate", number_text(line.rate));
    json::append_raw_member(list, "cost", number_text(line.cost));
    if (!line.key.empty()) json::append_member(list, "lookupKey", line.key);
    list.push_back('}');
  }
  json::append_raw_member(out, "breakdown", list + "]");
  out.push_back('}');
  return out;
}

}  // namespace millrace::model
