// Vendors that take a prompt as JSON with names of their own and answer with a list.
#include <array>
#include <utility>

#include "model/capability/image/image.hpp"

namespace millrace::model::image {

using json::Value;
using message::JsonBuilder;

namespace {

// As numbers, from "1024x768" or else from `width` and `height`.
void add_sides(JsonBuilder& out, const Value& params) {
  if (const auto sides = sides_in(params["size"].string())) {
    out.raw("width", sides->first);
    out.raw("height", sides->second);
    return;
  }
  for (const std::string_view side : {"width", "height"}) {
    if (params[side].is_number()) out.value(side, params[side]);
  }
}

void add_images(JsonBuilder& out, const Spelling& spelling, const std::vector<ImageData>& images) {
  const auto text_of = [&](const ImageData& image_data) {
    return spelling.bare_base64 && !image_data.base64.empty() ? image_data.base64 : image_data.url;
  };
  if (!spelling.all_images || images.size() == 1) {
    return out.text(spelling.image, text_of(images.front()));
  }
  out.open_array(spelling.image);
  for (const ImageData& image_data : images) out.text(text_of(image_data));
  out.close_array();
}

}  // namespace

Result<CapabilityBody> spelled_body(const Value& options, const Spelling& spelling) {
  auto prompt = prompt_of(options);
  if (!prompt) return std::move(prompt).error();
  const Value params = options["params"];
  auto images = images_of(params);
  if (!images) return std::move(images).error();
  JsonBuilder out(json::Surrogates::replace);
  out.open_object();
  if (spelling.model_in_body) out.value("model", options["model"]);
  out.text("prompt", prompt.value());
  if (!spelling.size.empty()) out.filled(spelling.size, size_of(params, "x"));
  if (spelling.in_sides) add_sides(out, params);
  copy_members(out, params, spelling.renames);
  if (!images.value().empty() && spelling.image.empty()) {
    return words_only();
  }
  if (!images.value().empty()) add_images(out, spelling, images.value());
  if (!spelling.always.empty()) out.members(spelling.always);
  out.close_object();
  return CapabilityBody{out.take()};
}

// Source: docs.together.ai/docs/inference/images/parameters (2026): FLUX Schnell and Kontext go by
// the ratio, others by the sides.
constexpr std::array<Rename, 6> together_names = {{{"steps", "steps"},
                                                   {"seed", "seed"},
                                                   {"n", "n"},
                                                   {"cfg", "guidance_scale"},
                                                   {"aspectRatio", "aspect_ratio"},
                                                   {"negativePrompt", "negative_prompt"}}};
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

// Source: docs.x.ai/developers/model-capabilities/images/generation (2026).
constexpr std::array<Rename, 3> xai_names = {
    {{"n", "n"}, {"aspectRatio", "aspect_ratio"}, {"resolution", "resolution"}}};
Result<CapabilityBody> xai_body(const Value& options) {
  return spelled_body(options, {xai_names, "", "", R"("response_format":"b64_json")"});
}

constexpr std::array<Rename, 1> zhipu_names = {{{"quality", "quality"}}};
Result<CapabilityBody> zhipu_body(const Value& options) {
  std::string user;
  if (const Value value = user_of(options); value.is_string()) {
    json::append_member(user, "user_id", value.string());
  }
  return spelled_body(options, {zhipu_names, "size", "", user});
}

constexpr std::array<Rename, 3> seed_names = {
    {{"seed", "seed"}, {"cfg", "guidance_scale"}, {"watermark", "watermark"}}};
Result<CapabilityBody> seedream_body(const Value& options) {
  // One image is a text, several are a list.
  return spelled_body(options, {.renames = seed_names,
                                .size = "size",
                                .image = "image",
                                .always = R"("response_format":"b64_json")",
                                .all_images = true});
}

constexpr std::array<Rename, 3> minimax_names = {
    {{"aspectRatio", "aspect_ratio"}, {"n", "n"}, {"seed", "seed"}}};
Result<CapabilityBody> minimax_body(const Value& options) {
  return spelled_body(
      options,
      {.renames = minimax_names, .always = R"("response_format":"base64")", .in_sides = true});
}

}  // namespace millrace::model::image
