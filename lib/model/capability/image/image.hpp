// The bodies and answers of the image rows, one file a family of vendors. Private to this folder.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/capability/rows.hpp"

namespace millrace::model::image {

// Units: milliseconds.
inline constexpr int poll_wait_ms = 1'000;

struct ImageData {
  std::string_view mime;
  std::string_view base64;  // "" when it is an address
  std::string_view url;
};

// A data URI with base64, or an address; nothing for anything else.
std::optional<ImageData> image_of(std::string_view url);

// The images to start from.
// Errors: invalid_body (neither a data URI with base64 nor an address).
Result<std::vector<ImageData>> images_of(const json::Value& params);

// Errors: invalid_body (no prompt).
Result<std::string_view> prompt_of(const json::Value& options);

// There is no place for images to start from.
Error words_only();

// "1024x768", from `size` or width and height; "" when neither is given.
std::string size_of(const json::Value& params, std::string_view between);

// The sides of "1024x768", as JSON; nothing for anything else.
using Sides = std::pair<std::string_view, std::string_view>;
std::optional<Sides> sides_in(std::string_view size);

// Who asks: a parameter, or else the call's.
json::Value user_of(const json::Value& options);

// The body of a vendor that takes JSON with names of its own.
struct Spelling {
  std::span<const Rename> renames;
  std::string_view size{};    // name of "WxH", or ""
  std::string_view image{};   // name of the image to start from, or ""
  std::string_view always{};  // members as JSON
  bool model_in_body = true;
  bool bare_base64 = false;  // images without the head of a data URI
  bool in_sides = false;     // the size as `width` and `height`
  bool all_images = false;   // several images to start from as a list
};
Result<CapabilityBody> spelled_body(const json::Value& options, const Spelling& spelling);

// An image in an answer: its bytes as base64 or an address, and the item that it stands in.
struct Found {
  std::string_view text;
  std::string_view mime;
  bool is_base64 = false;
  json::Value item;
};

// `all` are the images that were asked for by `n`, the first among them.
CapabilityResult image_result(const Found& found, const json::Value& options,
                              const json::Value& usage, std::span<const Found> all = {});
Error no_image(const CapabilityAnswer& answer);

// Ask `url` again after a while.
CapabilityResult again_at(std::string_view url, int after_ms);
Error failed_work(std::string_view why);

// Whether this is left out of a request to OpenAI's models, or to ComfyUI's.
bool openai_spares(const json::Value& options, std::string_view name);
bool comfy_spares(const json::Value& options, std::string_view name);

Result<CapabilityBody> openai_body(const json::Value& options);
Result<CapabilityBody> openai_edit_body(const json::Value& options);
Result<CapabilityBody> together_body(const json::Value& options);
Result<CapabilityBody> silicon_body(const json::Value& options);
Result<CapabilityBody> fireworks_body(const json::Value& options);
Result<CapabilityBody> xai_body(const json::Value& options);
Result<CapabilityBody> zhipu_body(const json::Value& options);
Result<CapabilityBody> seedream_body(const json::Value& options);
Result<CapabilityBody> minimax_body(const json::Value& options);
Result<CapabilityBody> bfl_body(const json::Value& options);
Result<CapabilityBody> fal_body(const json::Value& options);
Result<CapabilityBody> replicate_body(const json::Value& options);
Result<CapabilityBody> comfy_body(const json::Value& options);
Result<CapabilityBody> gemini_body(const json::Value& options);
Result<CapabilityBody> imagen_body(const json::Value& options);

std::string fireworks_path(const json::Value& options);
std::string fal_path(const json::Value& options);
std::string replicate_path(const json::Value& options);

Result<CapabilityResult> read_list(const json::Value& options, const CapabilityAnswer& answer);
Result<CapabilityResult> read_gemini(const json::Value& options, const CapabilityAnswer& answer);
Result<CapabilityResult> read_bfl(const json::Value& options, const CapabilityAnswer& answer);
Result<CapabilityResult> read_fal(const json::Value& options, const CapabilityAnswer& answer);
Result<CapabilityResult> read_replicate(const json::Value& options, const CapabilityAnswer& answer);
Result<CapabilityResult> read_comfy(const json::Value& options, const CapabilityAnswer& answer);

}  // namespace millrace::model::image
