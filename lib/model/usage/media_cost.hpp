// What images and videos cost by a price card: by the piece, by their size, by their length or by
// tokens.
// Source: LobeHub's model runtime, computeImageCost and computeVideoCost (2026).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "model/usage/cost.hpp"

namespace millrace::model {

// What was made.
struct MediaWork {
  enum class Kind : std::uint8_t { image, video };
  Kind kind = Kind::image;
  std::int64_t count = 1;
  std::optional<double> megapixels;    // of one image
  std::int64_t input_images = 0;       // sent with each
  std::optional<double> seconds;       // of the video
  std::optional<std::int64_t> tokens;  // that the provider counted
  CostOptions options;                 // parameters of lookup prices
};

// Shape: {"kind": "image" | "video", "params": {"width"?, "height"?, "size"?: "1024x1024",
// "duration"?, "imageUrl"?, "imageUrls"?, ...}, "count"?, "tokens"?, "yuanPerDollar"?}; every
// member of `params` is a parameter of lookup prices.
// Errors: invalid_argument.
Result<MediaWork> read_media_work(const json::Value& value);

struct MediaLine {
  const PriceUnit* unit = nullptr;
  double quantity = 0;
  double rate = 0;  // in the card's currency, of one of the unit
  double cost = 0;  // US dollars
  std::string key;  // of a lookup
};
struct MediaCost {
  double total = 0;  // US dollars
  std::vector<MediaLine> lines;
};

// Nothing when the card has no price for it, or one that cannot be known.
// Lifetime: the lines are of `card`.
std::optional<MediaCost> compute_media_cost(const PriceCard& card, const MediaWork& work);

// Shape: {"totalCost", "totalCredits": number, "breakdown": [{"unit": {"name", "unit"}, "quantity",
// "rate", "cost": number, "lookupKey"?: string}]}
std::string media_cost_json(const MediaCost& cost);

}  // namespace millrace::model
