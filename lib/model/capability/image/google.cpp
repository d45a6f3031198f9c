// Google's images: Gemini's answers with parts, Imagen's predictions.
#include <algorithm>
#include <array>

#include "model/capability/image/image.hpp"

namespace millrace::model::image {

using json::Value;
using message::JsonBuilder;

Result<CapabilityBody> gemini_body(const Value& options) {
  auto prompt = prompt_of(options);
  if (!prompt) return std::move(prompt).error();
  const Value params = options["params"];
  auto images = images_of(params);
  if (!images) return std::move(images).error();
  JsonBuilder out(json::Surrogates::replace);
  out.open_object();
  out.open_array("contents");
  out.open_object();
  out.text("role", "user");
  out.open_array("parts");
  out.open_object();
  out.text("text", prompt.value());
  out.close_object();
  for (const ImageData& image_data : images.value()) {
    if (image_data.base64.empty())
      return missing_member("params.imageUrl", "a data URI with base64");
    out.open_object();
    out.open_object("inlineData");
    out.text("mimeType", image_data.mime);
    out.text("data", image_data.base64);
    out.close_object();
    out.close_object();
  }
  out.close_array();
  out.close_object();
  out.close_array();
  out.open_object("generationConfig");
  out.raw("responseModalities", R"(["TEXT","IMAGE"])");
  const Value ratio = params["aspectRatio"];
  const Value resolution = params["resolution"];
  if (!ratio.is_nothing() || !resolution.is_nothing()) {
    out.open_object("imageConfig");
    if (!ratio.is_nothing()) out.value("aspectRatio", ratio);
    if (!resolution.is_nothing()) out.value("imageSize", resolution);
    out.close_object();
  }
  out.close_object();
  out.close_object();
  return CapabilityBody{out.take()};
}

constexpr std::array<Rename, 5> imagen_names = {{{"n", "sampleCount"},
                                                 {"aspectRatio", "aspectRatio"},
                                                 {"seed", "seed"},
                                                 {"negativePrompt", "negativePrompt"},
                                                 {"resolution", "sampleImageSize"}}};
Result<CapabilityBody> imagen_body(const Value& options) {
  auto prompt = prompt_of(options);
  if (!prompt) return std::move(prompt).error();
  auto images = images_of(options["params"]);
  if (!images) return std::move(images).error();
  if (!images.value().empty()) return words_only();
  JsonBuilder out(json::Surrogates::replace);
  out.open_object();
  out.open_array("instances");
  out.open_object();
  out.text("prompt", prompt.value());
  out.close_object();
  out.close_array();
  out.open_object("parameters");
  if (options["params"]["n"].is_nothing()) out.raw("sampleCount", "1");
  copy_members(out, options["params"], imagen_names);
  out.close_object();
  out.close_object();
  return CapabilityBody{out.take()};
}

Result<CapabilityResult> read_gemini(const Value& options, const CapabilityAnswer& answer) {
  json::Document document(message::depth_limit);
  auto parsed = parse_answer(document, answer);
  if (!parsed) return std::move(parsed).error();
  std::string_view reason = parsed.value()["promptFeedback"]["blockReason"].string();
  for (const Value candidate : parsed.value()["candidates"].items()) {
    for (const Value part : candidate["content"]["parts"].items()) {
      const Value data = part["inlineData"];
      if (!data["data"].filled_string() || part["thought"].is_true()) continue;
      const Found found{data["data"].string(), data["mimeType"].string(), true, {}};
      return image_result(found, options, parsed.value()["usageMetadata"]);
    }
    if (reason.empty()) reason = candidate["finishReason"].string();
  }
  constexpr std::array<std::string_view, 5> stopped = {
      "SAFETY", "IMAGE_SAFETY", "PROHIBITED_CONTENT", "BLOCKLIST", "RECITATION"};
  if (std::find(stopped.begin(), stopped.end(), reason) != stopped.end()) {
    return make_error(
        Errc::content_filtered,
        "The provider's safety filter stopped the image (" + std::string(reason) + ").", reason);
  }
  return no_image(answer);
}

}  // namespace millrace::model::image
