// Vendors that take a job and are asked again until it is done: Black Forest Labs, fal, Replicate.
#include <algorithm>
#include <array>

#include "model/capability/image/image.hpp"

namespace millrace::model::image {

using json::Value;
using message::JsonBuilder;

namespace {

// Members that this file has a name of its own for.
constexpr std::array<std::string_view, 12> own_params = {
    "prompt", "imageUrl",    "imageUrls", "width", "height",       "size",
    "seed",   "aspectRatio", "steps",     "cfg",   "outputFormat", "n"};

// Where every model has inputs of its own, what is given besides goes along as it is.
Result<void> write_inputs(JsonBuilder& out, const Value& options, std::span<const Rename> renames,
                          std::string_view image) {
  auto prompt = prompt_of(options);
  if (!prompt) return std::move(prompt).error();
  const Value params = options["params"];
  auto images = images_of(params);
  if (!images) return std::move(images).error();
  out.text("prompt", prompt.value());
  copy_members(out, params, renames);
  if (!images.value().empty()) out.text(image, images.value().front().url);
  for (const auto& [key, value] : params.members()) {
    const std::string_view name = key;
    const bool known = std::find(own_params.begin(), own_params.end(), name) != own_params.end();
    if (!known && !value.is_nothing()) out.value(name, value);
  }
  return {};
}

}  // namespace

constexpr std::array<Rename, 5> bfl_names = {{{"aspectRatio", "aspect_ratio"},
                                              {"seed", "seed"},
                                              {"steps", "steps"},
                                              {"cfg", "guidance"},
                                              {"outputFormat", "output_format"}}};
Result<CapabilityBody> bfl_body(const Value& options) {
  return spelled_body(options, {.renames = bfl_names,
                                .image = "input_image",
                                .model_in_body = false,
                                .bare_base64 = true,
                                .in_sides = true});
}

constexpr std::array<Rename, 6> fal_names = {{{"aspectRatio", "aspect_ratio"},
                                              {"seed", "seed"},
                                              {"steps", "num_inference_steps"},
                                              {"cfg", "guidance_scale"},
                                              {"n", "num_images"},
                                              {"outputFormat", "output_format"}}};

std::string fal_path(const Value& options) {
  return "/" + segments_of(options["model"].string());
}

Result<CapabilityBody> fal_body(const Value& options) {
  const Value params = options["params"];
  JsonBuilder out(json::Surrogates::replace);
  out.open_object();
  MILLRACE_TRY(write_inputs(out, options, fal_names, "image_url"));
  const std::string size = size_of(params, "x");
  const auto sides = sides_in(size);
  if (sides) {
    out.open_object("image_size");
    out.raw("width", sides->first);
    out.raw("height", sides->second);
    out.close_object();
  } else {
    out.filled("image_size", size);
  }
  out.close_object();
  return CapabilityBody{out.take()};
}

constexpr std::array<Rename, 9> replicate_names = {{{"width", "width"},
                                                    {"height", "height"},
                                                    {"size", "size"},
                                                    {"aspectRatio", "aspect_ratio"},
                                                    {"seed", "seed"},
                                                    {"steps", "num_inference_steps"},
                                                    {"cfg", "guidance_scale"},
                                                    {"n", "num_outputs"},
                                                    {"outputFormat", "output_format"}}};

// "owner/name", or "owner/name:version" for a model that is not an official one.
std::string replicate_path(const Value& options) {
  const std::string_view model = options["model"].string();
  if (model.find(':') != std::string_view::npos) return "/predictions";
  return "/models/" + segments_of(model) + "/predictions";
}

Result<CapabilityBody> replicate_body(const Value& options) {
  const std::string_view model = options["model"].string();
  const std::size_t colon = model.find(':');
  JsonBuilder out(json::Surrogates::replace);
  out.open_object();
  if (colon != std::string_view::npos) out.text("version", model.substr(colon + 1));
  out.open_object("input");
  MILLRACE_TRY(write_inputs(out, options, replicate_names, "image"));
  out.close_object();
  out.close_object();
  return CapabilityBody{out.take()};
}

// Black Forest Labs: first an address to ask again, then a state.
Result<CapabilityResult> read_bfl(const Value& options, const CapabilityAnswer& answer) {
  json::Document document(message::depth_limit);
  auto parsed = parse_answer(document, answer);
  if (!parsed) return std::move(parsed).error();
  const Value state = parsed.value();
  const std::string_view status = state["status"].string();
  const std::string_view again = state["polling_url"].string();
  if (status == "Ready") {
    const std::string_view sample = state["result"]["sample"].string();
    if (sample.empty()) return no_image(answer);
    return image_result({sample, {}, false, {}}, options, {});
  }
  if (status == "Request Moderated" || status == "Content Moderated") {
    return make_error(
        Errc::content_filtered,
        "The provider's safety filter stopped the image (" + std::string(status) + ").", status);
  }
  if (status == "Error" || status == "Failed" || status == "Task not found") {
    return make_error(
        Errc::provider_error,
        "The provider could not generate the image; its status is " + std::string(status) + ".",
        answer.body);
  }
  CapabilityResult result;
  result.poll_url = again;
  result.poll_after_ms = poll_wait_ms;
  return result;
}

// fal: a place in a queue, its state, then the answer at an address of its own.
Result<CapabilityResult> read_fal(const Value& options, const CapabilityAnswer& answer) {
  json::Document document(message::depth_limit);
  auto parsed = parse_answer(document, answer);
  if (!parsed) return std::move(parsed).error();
  const Value state = parsed.value();
  const std::string_view status = state["status"].string();
  if (const auto error = state["error"].filled_string()) return failed_work(*error);
  if (status == "COMPLETED") return again_at(state["response_url"].string(), 1);
  if (status == "IN_QUEUE" || status == "IN_PROGRESS") {
    return again_at(state["status_url"].string(), poll_wait_ms);
  }
  if (!status.empty()) return failed_work(status);
  return read_list(options, answer);
}

Result<CapabilityResult> read_replicate(const Value& options, const CapabilityAnswer& answer) {
  json::Document document(message::depth_limit);
  auto parsed = parse_answer(document, answer);
  if (!parsed) return std::move(parsed).error();
  const Value state = parsed.value();
  const std::string_view status = state["status"].string();
  if (status == "starting" || status == "processing") {
    return again_at(state["urls"]["get"].string(), poll_wait_ms);
  }
  if (status != "succeeded" && !status.empty()) {
    return failed_work(state["error"].filled_string().value_or(status));
  }
  const Value output = state["output"];
  std::vector<Found> found;
  const auto add = [&](const Value& item) {
    if (item.filled_string()) found.push_back({item.string(), {}, false, {}});
  };
  if (!output.is_array()) add(output);
  for (const Value item : output.items()) add(item);
  if (found.empty()) return no_image(answer);
  return image_result(found.front(), options, {}, found);
}

}  // namespace millrace::model::image
