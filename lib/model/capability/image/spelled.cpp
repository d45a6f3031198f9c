// Vendors that take a prompt as JSON with names of their own and answer with a list.
#include <array>

#include "model/capability/image/image.hpp"

namespace millrace::model::image {

using json::Value;
using message::JsonBuilder;

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

constexpr std::array<Rename, 6> together_names = {{{"width", "width"},
                                                   {"height", "height"},
                                                   {"steps", "steps"},
                                                   {"seed", "seed"},
                                                   {"n", "n"},
                                                   {"cfg", "guidance_scale"}}};
Result<CapabilityBody> together_body(const Value& options) {
  return spelled_body(options, {together_names, "", "image_url"});
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
  return spelled_body(options, {fireworks_names, "", "", "", false});
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

constexpr std::array<Rename, 5> minimax_names = {{{"aspectRatio", "aspect_ratio"},
                                                  {"n", "n"},
                                                  {"seed", "seed"},
                                                  {"width", "width"},
                                                  {"height", "height"}}};
Result<CapabilityBody> minimax_body(const Value& options) {
  return spelled_body(options, {minimax_names, "", "", R"("response_format":"base64")"});
}

}  // namespace millrace::model::image
