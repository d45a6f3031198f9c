#include "model/capability/left_out.hpp"

#include "model/capability/image/image.hpp"

namespace millrace::model {
namespace {

using json::Value;

void note(std::vector<std::string>& notes, std::string_view name, std::string_view sentence) {
  notes.push_back("`" + std::string(name) + "`: " + std::string(sentence));
}

bool is_requested(std::string_view name, const Value& value) {
  // One is what everybody gives.
  return !value.is_nothing() && !(name == "n" && value.integer() == 1);
}

bool is_side(std::string_view name) {
  return name == "width" || name == "height";
}

bool is_taken(const CapabilityRow& row, const Value& params, std::string_view name) {
  if (name == "prompt" || name == "imageUrl" || name == "imageUrls") return true;
  if (list_has(row.takes, name)) return true;
  const bool has_both = params["width"].is_number() && params["height"].is_number();
  if (is_side(name) && list_has(row.takes, "sides")) {
    return has_both || params["size"].filled_string();
  }
  if (name == "size" && list_has(row.takes, "pixels")) {
    return image::sides_in(params["size"].string()).has_value();
  }
  return list_has(row.takes, "*");
}

std::string_view sentence_of(const CapabilityRow& row, std::string_view name) {
  const bool has_ratio = list_has(row.takes, "aspectRatio");
  const bool has_size = list_has(row.takes, "size") || list_has(row.takes, "pixels");
  if (name == "aspectRatio" && has_size) return "The API has no such setting: give it a `size`.";
  if (is_side(name) && list_has(row.takes, "sides")) {
    return "The API takes `width` and `height` only together.";
  }
  if ((name == "size" || is_side(name)) && has_ratio) {
    return "The API has no such setting: give it an `aspectRatio`.";
  }
  return "The API has no such setting.";
}

std::size_t image_count(const Value& params) {
  return params["imageUrls"].size() + (params["imageUrl"].filled_string() ? 1 : 0);
}

void note_image(std::vector<std::string>& notes, const CapabilityRow& row, const Value& options) {
  const Value params = options["params"];
  for (const auto& [key, value] : params.members()) {
    const std::string_view name = key;
    const bool goes =
        is_taken(row, params, name) && (row.spares == nullptr || !row.spares(options, name));
    if (!goes && is_requested(name, value)) note(notes, name, sentence_of(row, name));
  }
  if (list_has(row.takes, "picture") && image_count(params) > 1) {
    note(notes, "imageUrls", "The API takes one image to start from, the first.");
  }
}

}  // namespace

std::vector<std::string> left_out(const CapabilityRow& row, const Value& options) {
  std::vector<std::string> notes;
  if (row.capability == Capability::models || row.capability == Capability::pull) return notes;
  const bool is_image = row.capability == Capability::image;
  if (is_image) note_image(notes, row, options);
  for (const auto& [key, value] : options.members()) {
    const std::string_view name = key;
    const bool is_own = name == "model" || name == "input" || (is_image && name != "user");
    if (is_own || value.is_nothing() || list_has(row.takes, name)) continue;
    note(notes, name,
         name == "user" ? "The API is not told who asks." : "The API has no such setting.");
  }
  return notes;
}

}  // namespace millrace::model
