// Vendors that take a prompt as JSON with names of their own and answer with a list.
#include <array>
#include <utility>

#include "model/capability/image/image.hpp"

namespace millrace::model::image {

using json::Value;
using message::JsonBuilder;

namespace {

// As numbers, from `width` and `height` or from "1024x768".
void add_sides(JsonBuilder& out, const Value& params) {
  const std::string size = size_of(params, "x");
  const std::size_t cross = size.find('x');
  if (cross == std::string::npos) return;
  const std::array<std::pair<std::string_view, std::string>, 2> sides{
      {{"width", size.substr(0, cross)}, {"height", size.substr(cross + 1)}}};
  for (const auto& [name, pixels] : sides) {
    if (!pixels.empty() && pixels.find_first_not_of("0123456789") == std::string::npos) {
      out.raw(name, pixels);
    }
  }
}

}  // namespace

Result<CapabilityBody> spelled_body(const Value& options, const Spelling& spelling) {
  auto prompt = prompt_of(options);
  if (!prompt) return std::move(prompt).error();
  const Value params = options["params"];
  auto pictures = pictures_of(params);
  if (!pictures) return std::move(pictures).error();
  JsonBuilder out(json::Surrogates::replace);
  out.open_object();
  if (spelling.model_in_body) out.value("model", options["model"]);
  out.text("prompt", prompt.value());
  if (!spelling.size.empty()) out.filled(spelling.size, size_of(params, "x"));
  if (spelling.in_sides) add_sides(out, params);
  copy_members(out, params, spelling.renames);
  if (!pictures.value().empty() && spelling.image.empty()) {
    return missing_member("params.imageUrl", "left out: this vendor makes images from words only");
  }
  if (!pictures.value().empty()) {
    const Picture& first = pictures.value().front();
    const bool bare = spelling.bare_base64 && !first.base64.empty();
    out.text(spelling.image, bare ? first.base64 : first.url);
  }
  if (!spelling.always.empty()) out.members(spelling.always);
  out.close_object();
  return CapabilityBody{out.take()};
}

constexpr std::array<Rename, 4> together_names = {
    {{"steps", "steps"}, {"seed", "seed"}, {"n", "n"}, {"cfg", "guidance_scale"}}};
Result<CapabilityBody> together_body(const Value& options) {
  return spelled_body(options, {.renames = together_names, .image = "image_url", .in_sides = true});
}

constexpr std::array<Rename, 5> silicon_names = {{{"n", "batch_size"},
                                                  {"seed", "seed"},
                                                  {"steps", "num_inference_steps"},
                                                  {"cfg", "guidance_scale"},
                                                  {"negativePrompt", "negative_prompt"}}};
Result<CapabilityBody> silicon_body(const Value& options) {
  return spelled_body(options, {silicon_names, "image_size", "image"});
}

constexpr std::array<Rename, 5> fireworks_names = {{{"aspectRatio", "aspect_ratio"},
                                                    {"seed", "seed"},
                                                    {"steps", "num_inference_steps"},
                                                    {"cfg", "guidance_scale"},
                                                    {"negativePrompt", "negative_prompt"}}};
Result<CapabilityBody> fireworks_body(const Value& options) {
  return spelled_body(options, {.renames = fireworks_names, .model_in_body = false});
}

// A model's name alone is one of the vendor's own.
std::string fireworks_path(const Value& options) {
  const std::string_view model = options["model"].string();
  constexpr std::string_view own = "accounts/fireworks/models/";
  const bool is_whole = model.starts_with("accounts/");
  return "/workflows/" + (is_whole ? "" : std::string(own)) + segments_of(model) + "/text_to_image";
}

constexpr std::array<Rename, 2> xai_names = {{{"n", "n"}, {"aspectRatio", "aspect_ratio"}}};
Result<CapabilityBody> xai_body(const Value& options) {
  return spelled_body(options, {xai_names, "", "", R"("response_format":"b64_json")"});
}

constexpr std::array<Rename, 2> zhipu_names = {{{"quality", "quality"}, {"user", "user_id"}}};
Result<CapabilityBody> zhipu_body(const Value& options) {
  return spelled_body(options, {zhipu_names, "size", ""});
}

constexpr std::array<Rename, 3> seed_names = {
    {{"seed", "seed"}, {"cfg", "guidance_scale"}, {"watermark", "watermark"}}};
Result<CapabilityBody> seedream_body(const Value& options) {
  return spelled_body(options, {seed_names, "size", "image", R"("response_format":"b64_json")"});
}

constexpr std::array<Rename, 3> minimax_names = {
    {{"aspectRatio", "aspect_ratio"}, {"n", "n"}, {"seed", "seed"}}};
Result<CapabilityBody> minimax_body(const Value& options) {
  return spelled_body(
      options,
      {.renames = minimax_names, .always = R"("response_format":"base64")", .in_sides = true});
}

}  // namespace millrace::model::image
