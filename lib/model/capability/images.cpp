// Images: a prompt (and images to start from) in, one image out.
#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "base/base64.hpp"
#include "model/address.hpp"
#include "model/capability/rows.hpp"

namespace millrace::model {
namespace {

using json::Value;
using message::JsonBuilder;

constexpr int poll_wait_ms = 1'000;
constexpr std::string_view default_mime = "image/png";

struct Picture {
  std::string_view mime;
  std::string_view base64;  // "" when it is an address
  std::string_view url;
};

std::optional<Picture> picture_of(std::string_view url) {
  if (url.empty()) return std::nullopt;
  if (!url.starts_with("data:")) return Picture{{}, {}, url};
  const std::size_t comma = url.find(',');
  const std::size_t base64 = url.find(";base64,");
  if (comma == std::string_view::npos || base64 == std::string_view::npos) return std::nullopt;
  return Picture{url.substr(5, url.find(';') - 5), url.substr(comma + 1), url};
}

Result<std::vector<Picture>> pictures_of(const Value& params) {
  std::vector<Picture> pictures;
  std::vector<std::string_view> urls;
  if (params["imageUrl"].is_string()) urls.push_back(params["imageUrl"].string());
  for (const Value url : params["imageUrls"].items()) urls.push_back(url.string());
  for (const std::string_view url : urls) {
    const auto picture = picture_of(url);
    if (!picture) return missing_member("params.imageUrl", "a data URI with base64 or an address");
    pictures.push_back(*picture);
  }
  return pictures;
}

Result<std::string_view> prompt_of(const Value& options) {
  const auto prompt = options["params"]["prompt"].filled_string();
  if (!prompt) return missing_member("params.prompt", "what the image shall show");
  return *prompt;
}

// "1024x768", from `size` or width and height; "" when neither is given.
std::string size_of(const Value& params, std::string_view between) {
  const auto width = params["width"].integer();
  const auto height = params["height"].integer();
  std::string size(params["size"].string());
  if (size.empty() && width && height) {
    size = std::to_string(*width) + std::string(between) + std::to_string(*height);
  }
  return size;
}

// --- a multipart form
// ------------------------------------------------------------------------------

constexpr std::string_view boundary = "----millrace-form-7d1f0a53c9e84b26";

void add_field(std::string& form, std::string_view name, std::string_view value) {
  form.append("--").append(boundary).append("\r\nContent-Disposition: form-data; name=\"");
  form.append(name).append("\"\r\n\r\n").append(value).append("\r\n");
}

Result<void> add_file(std::string& form, const Picture& picture, std::size_t index) {
  const auto bytes = base64::decode(picture.base64);
  if (picture.base64.empty() || !bytes) {
    return missing_member("params.imageUrl",
                          "a data URI with base64: this vendor takes no address");
  }
  const std::string_view kind =
      picture.mime.substr(std::min(picture.mime.find('/') + 1, picture.mime.size()));
  form.append("--").append(boundary).append(
      "\r\nContent-Disposition: form-data; name=\"image[]\"; ");
  form.append("filename=\"image-").append(std::to_string(index)).append(".").append(kind);
  form.append("\"\r\nContent-Type: ").append(picture.mime).append("\r\n\r\n");
  form.append(*bytes).append("\r\n");
  return {};
}

constexpr std::array<std::string_view, 6> form_params = {
    "quality", "background", "output_format", "moderation", "input_fidelity", "user"};

// OpenAI's edits: the image goes as a file.
Result<CapabilityBody> edit_form(const Value& options, const std::vector<Picture>& pictures) {
  const Value params = options["params"];
  CapabilityBody body;
  std::string& form = body.bytes;
  add_field(form, "model", options["model"].string());
  add_field(form, "prompt", params["prompt"].string());
  const std::string size = size_of(params, "x");
  if (!size.empty()) add_field(form, "size", size);
  for (const std::string_view name : form_params) {
    if (params[name].is_string()) add_field(form, name, params[name].string());
  }
  for (std::size_t i = 0; i < pictures.size(); ++i) MILLRACE_TRY(add_file(form, pictures[i], i));
  form.append("--").append(boundary).append("--\r\n");
  body.content_type = std::string("multipart/form-data; boundary=").append(boundary);
  return body;
}

// --- bodies
// ----------------------------------------------------------------------------------------

constexpr std::array<Rename, 7> openai_names = {{{"quality", "quality"},
                                                 {"n", "n"},
                                                 {"style", "style"},
                                                 {"background", "background"},
                                                 {"outputFormat", "output_format"},
                                                 {"seed", "seed"},
                                                 {"user", "user"}}};

Result<CapabilityBody> openai_body(const Value& options) {
  auto prompt = prompt_of(options);
  if (!prompt) return std::move(prompt).error();
  const Value params = options["params"];
  JsonBuilder out(json::Surrogates::replace);
  out.open_object();
  out.value("model", options["model"]);
  out.text("prompt", prompt.value());
  out.filled("size", size_of(params, "x"));
  copy_members(out, params, openai_names);
  // The older models answer with an address that ends unless they are asked for the image.
  if (options["model"].string().starts_with("dall-e")) out.text("response_format", "b64_json");
  out.close_object();
  return CapabilityBody{out.take()};
}

Result<CapabilityBody> openai_edit_body(const Value& options) {
  auto prompt = prompt_of(options);
  if (!prompt) return std::move(prompt).error();
  auto pictures = pictures_of(options["params"]);
  if (!pictures) return std::move(pictures).error();
  return edit_form(options, pictures.value());
}

// The body of a vendor that takes JSON with names of its own.
struct Spelling {
  std::span<const Rename> renames;
  std::string_view size;      // name of "WxH", or ""
  std::string_view image;     // name of the image to start from, or ""
  std::string_view always{};  // members as JSON
  bool model_in_body = true;
  bool bare_base64 = false;  // images without the head of a data URI
};

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

constexpr std::array<Rename, 7> bfl_names = {{{"width", "width"},
                                              {"height", "height"},
                                              {"aspectRatio", "aspect_ratio"},
                                              {"seed", "seed"},
                                              {"steps", "steps"},
                                              {"cfg", "guidance"},
                                              {"outputFormat", "output_format"}}};
Result<CapabilityBody> bfl_body(const Value& options) {
  return spelled_body(options, {bfl_names, "", "input_image", "", false, true});
}

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
  auto pictures = pictures_of(params);
  if (!pictures) return std::move(pictures).error();
  out.text("prompt", prompt.value());
  copy_members(out, params, renames);
  if (!pictures.value().empty()) out.text(image, pictures.value().front().url);
  for (const auto& [key, value] : params.members()) {
    const std::string_view name = key;
    const bool known = std::find(own_params.begin(), own_params.end(), name) != own_params.end();
    if (!known && !value.is_nothing()) out.value(name, value);
  }
  return {};
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
  if (params["width"].is_number() && params["height"].is_number()) {
    out.open_object("image_size");
    out.value("width", params["width"]);
    out.value("height", params["height"]);
    out.close_object();
  } else {
    out.filled("image_size", params["size"].string());
  }
  out.close_object();
  return CapabilityBody{out.take()};
}

constexpr std::array<Rename, 8> replicate_names = {{{"width", "width"},
                                                    {"height", "height"},
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

void write_node(JsonBuilder& out, std::string_view id, std::string_view type,
                std::string_view inputs) {
  out.open_object(id);
  out.text("class_type", type);
  out.raw("inputs", inputs);
  out.close_object();
}

std::string number_or(const Value& value, std::string_view otherwise) {
  return value.is_number() ? value.to_json() : std::string(otherwise);
}

std::string quoted(std::string_view text) {
  std::string json;
  json::append_string(json, text);
  return json;
}

// Text to image with one checkpoint, which the model names: the graph that ComfyUI begins with.
void write_workflow(JsonBuilder& out, const Value& options, std::string_view prompt) {
  const Value params = options["params"];
  out.open_object("prompt");
  write_node(out, "1", "CheckpointLoaderSimple",
             "{\"ckpt_name\":" + quoted(options["model"].string()) + "}");
  write_node(out, "2", "CLIPTextEncode", R"({"clip":["1",1],"text":)" + quoted(prompt) + "}");
  write_node(out, "3", "CLIPTextEncode",
             R"({"clip":["1",1],"text":)" + quoted(params["negativePrompt"].string()) + "}");
  write_node(out, "4", "EmptyLatentImage",
             "{\"width\":" + number_or(params["width"], "1024") +
                 ",\"height\":" + number_or(params["height"], "1024") + ",\"batch_size\":1}");
  write_node(out, "5", "KSampler",
             R"({"model":["1",0],"positive":["2",0],"negative":["3",0],"latent_image":["4",0],)"
             R"("sampler_name":"euler","scheduler":"normal","denoise":1,"seed":)" +
                 number_or(params["seed"], "0") + ",\"steps\":" + number_or(params["steps"], "20") +
                 ",\"cfg\":" + number_or(params["cfg"], "7") + "}");
  write_node(out, "6", "VAEDecode", R"({"samples":["5",0],"vae":["1",2]})");
  write_node(out, "7", "SaveImage", R"({"images":["6",0],"filename_prefix":"millrace"})");
  out.close_object();
}

// A workflow of the user's (as ComfyUI exports it for its API) goes as it is.
Result<CapabilityBody> comfy_body(const Value& options) {
  auto prompt = prompt_of(options);
  if (!prompt) return std::move(prompt).error();
  const Value params = options["params"];
  JsonBuilder out(json::Surrogates::replace);
  out.open_object();
  if (params["workflow"].is_object()) {
    out.value("prompt", params["workflow"]);
  } else {
    if (params["imageUrl"].is_string() || params["imageUrls"].size() > 0) {
      return missing_member("params.workflow", "a workflow that starts from an image");
    }
    write_workflow(out, options, prompt.value());
  }
  out.close_object();
  return CapabilityBody{out.take()};
}

Result<CapabilityBody> gemini_body(const Value& options) {
  auto prompt = prompt_of(options);
  if (!prompt) return std::move(prompt).error();
  const Value params = options["params"];
  auto pictures = pictures_of(params);
  if (!pictures) return std::move(pictures).error();
  JsonBuilder out(json::Surrogates::replace);
  out.open_object();
  out.open_array("contents");
  out.open_object();
  out.text("role", "user");
  out.open_array("parts");
  out.open_object();
  out.text("text", prompt.value());
  out.close_object();
  for (const Picture& picture : pictures.value()) {
    if (picture.base64.empty()) return missing_member("params.imageUrl", "a data URI with base64");
    out.open_object();
    out.open_object("inlineData");
    out.text("mimeType", picture.mime);
    out.text("data", picture.base64);
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

constexpr std::array<Rename, 4> imagen_names = {{{"aspectRatio", "aspectRatio"},
                                                 {"seed", "seed"},
                                                 {"negativePrompt", "negativePrompt"},
                                                 {"resolution", "sampleImageSize"}}};
Result<CapabilityBody> imagen_body(const Value& options) {
  auto prompt = prompt_of(options);
  if (!prompt) return std::move(prompt).error();
  JsonBuilder out(json::Surrogates::replace);
  out.open_object();
  out.open_array("instances");
  out.open_object();
  out.text("prompt", prompt.value());
  out.close_object();
  out.close_array();
  out.open_object("parameters");
  out.raw("sampleCount", "1");
  copy_members(out, options["params"], imagen_names);
  out.close_object();
  out.close_object();
  return CapabilityBody{out.take()};
}

// --- answers
// ---------------------------------------------------------------------------------------

Error no_image(const CapabilityAnswer& answer) {
  return make_error(Errc::no_image_generated, {}, answer.body.substr(0, 300));
}

// Where an image stands: base64 or an address, in an item of a list or by itself.
struct ImagePath {
  std::string_view list;
  std::string_view member;  // "" when the item itself is the text
  bool is_base64;
};
constexpr std::array<ImagePath, 9> image_paths = {{
    {"data", "b64_json", true},
    {"data", "url", false},
    {"images", "url", false},
    {"images", "b64_json", true},
    {"predictions", "bytesBase64Encoded", true},
    {"base64", "", true},
    {"images", "", false},
    {"image_base64", "", true},
    {"image_urls", "", false},
}};

struct Found {
  std::string_view text;
  std::string_view mime;
  bool is_base64 = false;
  Value item;
};

std::optional<Found> find_image(const Value& answer) {
  for (const ImagePath& path : image_paths) {
    const Value list = answer[path.list];
    const Value first = list.is_array() && list.size() > 0 ? *list.items().begin() : list;
    const Value text = path.member.empty() ? first : first[path.member];
    if (const auto filled = text.filled_string()) {
      return Found{*filled, first["mimeType"].string(), path.is_base64, first};
    }
  }
  return std::nullopt;
}

// MiniMax tells its failures inside a good answer.
std::optional<Error> inner_error(const Value& answer) {
  const Value status = answer["base_resp"]["status_code"];
  if (status.integer().value_or(0) != 0) {
    return make_error(Errc::provider_error,
                      std::string(answer["base_resp"]["status_msg"].string()));
  }
  const std::string_view message = answer["error"]["message"].string();
  if (!message.empty()) return make_error(Errc::provider_error, std::string(message));
  return std::nullopt;
}

void write_image_usage(JsonBuilder& out, const Value& usage) {
  constexpr std::array<Rename, 3> names = {{{"input_tokens", "totalInputTokens"},
                                            {"output_tokens", "totalOutputTokens"},
                                            {"total_tokens", "totalTokens"}}};
  constexpr std::array<Rename, 3> gemini = {{{"promptTokenCount", "totalInputTokens"},
                                             {"candidatesTokenCount", "totalOutputTokens"},
                                             {"totalTokenCount", "totalTokens"}}};
  if (!usage.is_object()) return;
  const Value details = usage["input_tokens_details"];
  const bool openai = usage["input_tokens"].exists();
  out.open_object("modelUsage");
  copy_members(out, usage, openai ? std::span<const Rename>(names) : gemini);
  if (!details["text_tokens"].is_nothing()) out.value("inputTextTokens", details["text_tokens"]);
  if (!details["image_tokens"].is_nothing()) out.value("inputImageTokens", details["image_tokens"]);
  const Value made = openai ? usage["output_tokens"] : usage["candidatesTokenCount"];
  if (!made.is_nothing()) out.value("outputImageTokens", made);
  out.close_object();
}

CapabilityResult image_result(const Found& found, const Value& options, const Value& usage) {
  JsonBuilder out;
  out.open_object();
  const std::string mime(found.mime.empty() ? default_mime : found.mime);
  if (found.is_base64)
    out.joined("imageUrl", "data:" + mime + ";base64,", found.text);
  else
    out.text("imageUrl", found.text);
  for (const std::string_view side : {"width", "height"}) {
    const Value given = found.item[side].is_number() ? found.item[side] : options["params"][side];
    if (given.is_number()) out.value(side, given);
  }
  write_image_usage(out, usage);
  out.close_object();
  return {.json = out.take()};
}

Result<CapabilityResult> read_list(const Value& options, const CapabilityAnswer& answer) {
  json::Document document(message::depth_limit);
  auto parsed = parse_answer(document, answer);
  if (!parsed) return std::move(parsed).error();
  if (auto error = inner_error(parsed.value())) return *std::move(error);
  auto found = find_image(parsed.value());
  if (!found) found = find_image(parsed.value()["data"]);
  if (!found) return no_image(answer);
  // OpenAI says beside the list what kind of image it made.
  std::string mime;
  const std::string_view format = parsed.value()["output_format"].string();
  if (!format.empty()) mime = "image/" + std::string(format);
  if (found->mime.empty()) found->mime = mime;
  return image_result(*found, options, parsed.value()["usage"]);
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
    return make_error(Errc::content_filtered, {}, reason);
  }
  return no_image(answer);
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
    return make_error(Errc::content_filtered, {}, status);
  }
  if (status == "Error" || status == "Failed" || status == "Task not found") {
    return make_error(Errc::provider_error, "The provider could not make the image.", answer.body);
  }
  CapabilityResult result;
  result.poll_url = again;
  result.poll_after_ms = poll_wait_ms;
  return result;
}

CapabilityResult again_at(std::string_view url, int after_ms) {
  CapabilityResult result;
  result.poll_url = url;
  result.poll_after_ms = after_ms;
  return result;
}

Error failed_work(std::string_view why) {
  return make_error(Errc::provider_error, "The provider could not make the image.", why);
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
  const Value first = output.is_array() && output.size() > 0 ? *output.items().begin() : output;
  if (!first.filled_string()) return no_image(answer);
  return image_result({first.string(), {}, false, {}}, options, {});
}

// The address of the first image that a finished prompt has saved, or "".
std::string saved_image(const Value& prompt) {
  for (const auto& [node, output] : prompt["outputs"].members()) {
    for (const Value image : output["images"].items()) {
      std::string path = "/view?filename=" + percent_encoded(image["filename"].string());
      path.append("&subfolder=").append(percent_encoded(image["subfolder"].string()));
      return path.append("&type=").append(percent_encoded(image["type"].string()));
    }
  }
  return {};
}

// ComfyUI: the id of a prompt, its history once it is done, then the bytes of the image.
Result<CapabilityResult> read_comfy(const Value& options, const CapabilityAnswer& answer) {
  const std::string_view type = answer.content_type.substr(0, answer.content_type.find(';'));
  if (type.starts_with("image/")) {
    const std::string bytes = base64::encode(answer.body);
    return image_result({bytes, type, true, {}}, options, {});
  }
  json::Document document(message::depth_limit);
  auto parsed = parse_answer(document, answer);
  if (!parsed) return std::move(parsed).error();
  const Value state = parsed.value();
  if (const auto id = state["prompt_id"].filled_string()) {
    return again_at("/history/" + percent_encoded(*id), poll_wait_ms);
  }
  for (const auto& [id, prompt] : state.members()) {
    if (prompt["status"]["status_str"].string() == "error") {
      return failed_work(prompt["status"]["messages"].to_json());
    }
    if (const std::string image = saved_image(prompt); !image.empty()) return again_at(image, 1);
    if (prompt["status"]["completed"].is_true()) return no_image(answer);
  }
  return again_at({}, poll_wait_ms);
}

// --- rows
// ------------------------------------------------------------------------------------------

constexpr CapabilityRow row(std::string_view providers, std::string_view path, BuildBody body,
                            ReadAnswer read = read_list, std::string_view tails = {}) {
  return {.capability = Capability::image,
          .providers = providers,
          .tails = tails,
          .path = path,
          .body = body,
          .read = read};
}

constexpr CapabilityRow edit_row(std::string_view providers, std::string_view path) {
  CapabilityRow made = row(providers, path, openai_edit_body);
  made.with_images = true;
  return made;
}

constexpr CapabilityRow imagen_row(std::string_view providers, std::string_view path) {
  CapabilityRow made = row(providers, path, imagen_body, read_list, "/v1beta,/v1");
  made.models = "imagen";
  return made;
}

constexpr CapabilityRow path_row(std::string_view providers, BuildPath path, BuildBody body,
                                 ReadAnswer read) {
  CapabilityRow made = row(providers, "", body, read);
  made.path_of = path;
  return made;
}

constexpr std::array<CapabilityRow, 18> rows = {{
    edit_row("openai,ai302,cometapi", "/images/edits"),
    row("openai,ai302,cometapi", "/images/generations", openai_body),
    edit_row("azure",
             "/openai/deployments/{deployment}/images/"
             "edits?api-version={api_version:2025-04-01-preview}"),
    row("azure",
        "/openai/deployments/{deployment}/images/"
        "generations?api-version={api_version:2025-04-01-preview}",
        openai_body),
    imagen_row("google", "/v1beta/models/{model}:predict"),
    row("google", "/v1beta/models/{model}:generateContent", gemini_body, read_gemini,
        "/v1beta,/v1"),
    imagen_row("vertexai", "/models/{model}:predict"),
    row("togetherai", "/images/generations", together_body),
    row("siliconcloud", "/images/generations", silicon_body),
    row("fireworksai", "/workflows/accounts/fireworks/models/{model}/text_to_image",
        fireworks_body),
    row("xai", "/images/generations", xai_body),
    row("zhipu", "/images/generations", zhipu_body),
    row("volcengine", "/images/generations", seedream_body),
    row("minimax", "/image_generation", minimax_body),
    row("bfl", "/v1/{model}", bfl_body, read_bfl, "/v1"),
    path_row("fal", fal_path, fal_body, read_fal),
    path_row("replicate", replicate_path, replicate_body, read_replicate),
    row("comfyui", "/prompt", comfy_body, read_comfy),
}};

}  // namespace

std::span<const CapabilityRow> image_rows() {
  return rows;
}

}  // namespace millrace::model
