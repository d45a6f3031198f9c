// OpenAI's image bodies: generations in JSON, edits as a form that carries the images.
#include <algorithm>
#include <array>

#include "base/base64.hpp"
#include "model/capability/image/image.hpp"

namespace millrace::model::image {

using json::Value;
using message::JsonBuilder;

namespace {

constexpr std::string_view boundary = "----millrace-form-7d1f0a53c9e84b26";

void add_field(std::string& form, std::string_view name, std::string_view value) {
  form.append("--").append(boundary).append("\r\nContent-Disposition: form-data; name=\"");
  form.append(name).append("\"\r\n\r\n").append(value).append("\r\n");
}

Result<void> add_file(std::string& form, std::string_view field, std::string_view file,
                      const ImageData& image_data) {
  const auto bytes = base64::decode(image_data.base64);
  if (image_data.base64.empty() || !bytes) {
    return missing_member("params.imageUrl",
                          "a data URI with base64: this vendor takes no address");
  }
  const std::string_view kind =
      image_data.mime.substr(std::min(image_data.mime.find('/') + 1, image_data.mime.size()));
  form.append("--").append(boundary).append("\r\nContent-Disposition: form-data; name=\"");
  form.append(field).append("\"; filename=\"").append(file).append(".").append(kind);
  form.append("\"\r\nContent-Type: ").append(image_data.mime).append("\r\n\r\n");
  form.append(*bytes).append("\r\n");
  return {};
}

// What callers set, under this name or OpenAI's own, and where it goes.
struct Setting {
  std::string_view name;
  std::string_view wire;
  bool in_generations;
  bool in_edits;
};
// Source: openai-python, types/image_generate_params.py and image_edit_params.py (2026). `seed` is
// of other servers that speak the same wire.
constexpr std::array<Setting, 10> settings = {
    {{"quality", "quality", true, true},
     {"n", "n", true, true},
     {"style", "style", true, false},
     {"background", "background", true, true},
     {"outputFormat", "output_format", true, true},
     {"outputCompression", "output_compression", true, true},
     {"moderation", "moderation", true, false},
     {"inputFidelity", "input_fidelity", false, true},
     {"seed", "seed", true, false},
     {"user", "user", true, true}}};

// OpenAI's own models, which refuse what they do not know.
bool is_openais(std::string_view model) {
  constexpr std::array<std::string_view, 3> beginnings{"gpt-image", "chatgpt-image", "dall-e"};
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](std::string_view name) { return model.starts_with(name); });
}

Value setting_of(const Value& options, const Setting& setting) {
  if (setting.name == "user") return user_of(options);
  const Value value = options["params"][setting.name];
  return value.is_nothing() ? options["params"][setting.wire] : value;
}

// Sizes of exactly this form that OpenAI's models make.
// Source: openai-python, types/image_generate_params.py, `size` (2026).
struct Form {
  std::string_view models;  // beginning of their names
  std::string_view ratio;
  std::string_view size;
};
constexpr std::array<Form, 6> forms = {{{"dall-e", "1:1", "1024x1024"},
                                        {"dall-e-3", "7:4", "1792x1024"},
                                        {"dall-e-3", "4:7", "1024x1792"},
                                        {"gpt-image", "1:1", "1024x1024"},
                                        {"gpt-image", "3:2", "1536x1024"},
                                        {"gpt-image", "2:3", "1024x1536"}}};

std::string_view size_of_form(const Value& options) {
  const std::string_view model = options["model"].string();
  const std::string_view ratio = options["params"]["aspectRatio"].string();
  if (!is_openais(model)) return {};
  for (const Form& form : forms) {
    if (model.starts_with(form.models) && form.ratio == ratio) return form.size;
  }
  return {};
}

std::string wanted_size(const Value& options) {
  std::string size = size_of(options["params"], "x");
  return size.empty() ? std::string(size_of_form(options)) : size;
}

// OpenAI's edits: the image goes as a file.
Result<CapabilityBody> edit_form(const Value& options, const std::vector<ImageData>& images) {
  const Value params = options["params"];
  CapabilityBody body;
  std::string& form = body.bytes;
  add_field(form, "model", options["model"].string());
  add_field(form, "prompt", params["prompt"].string());
  const std::string size = wanted_size(options);
  if (!size.empty()) add_field(form, "size", size);
  for (const Setting& setting : settings) {
    const Value value = setting_of(options, setting);
    if (!setting.in_edits || value.is_nothing()) continue;
    add_field(form, setting.wire, value.is_string() ? value.string() : value.to_json());
  }
  for (std::size_t i = 0; i < images.size(); ++i) {
    MILLRACE_TRY(add_file(form, "image[]", "image-" + std::to_string(i), images[i]));
  }
  if (const auto given = params["mask"].filled_string()) {
    const auto mask = image_of(*given);
    if (!mask) return missing_member("params.mask", "a data URI with base64");
    MILLRACE_TRY(add_file(form, "mask", "mask", *mask));
  }
  form.append("--").append(boundary).append("--\r\n");
  body.content_type = std::string("multipart/form-data; boundary=").append(boundary);
  return body;
}

}  // namespace

bool openai_spares(const Value& options, std::string_view name) {
  if (name == "seed") return is_openais(options["model"].string());
  if (name != "aspectRatio") return false;
  return size_of_form(options).empty() || !size_of(options["params"], "x").empty();
}

Result<CapabilityBody> openai_body(const Value& options) {
  auto prompt = prompt_of(options);
  if (!prompt) return std::move(prompt).error();
  JsonBuilder out(json::Surrogates::replace);
  out.open_object();
  out.value("model", options["model"]);
  out.text("prompt", prompt.value());
  const bool is_older = options["model"].string().starts_with("dall-e");
  const std::string size = wanted_size(options);
  // The older models know no size of their own choice by name, and answer with an address that ends
  // unless they are asked for the image.
  if (!is_older || size != "auto") out.filled("size", size);
  const bool is_own = is_openais(options["model"].string());
  for (const Setting& setting : settings) {
    const Value value = setting_of(options, setting);
    const bool is_sent = setting.in_generations && !(is_own && setting.name == "seed");
    if (is_sent && !value.is_nothing()) out.value(setting.wire, value);
  }
  if (is_older) out.text("response_format", "b64_json");
  out.close_object();
  return CapabilityBody{out.take()};
}

Result<CapabilityBody> openai_edit_body(const Value& options) {
  auto prompt = prompt_of(options);
  if (!prompt) return std::move(prompt).error();
  auto images = images_of(options["params"]);
  if (!images) return std::move(images).error();
  return edit_form(options, images.value());
}

}  // namespace millrace::model::image
