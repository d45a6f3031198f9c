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

constexpr std::array<Rename, 7> openai_names = {{{"quality", "quality"},
                                                 {"n", "n"},
                                                 {"style", "style"},
                                                 {"background", "background"},
                                                 {"outputFormat", "output_format"},
                                                 {"seed", "seed"},
                                                 {"user", "user"}}};

}  // namespace

Result<CapabilityBody> openai_body(const Value& options) {
  auto prompt = prompt_of(options);
  if (!prompt) return std::move(prompt).error();
  const Value params = options["params"];
  JsonBuilder out(json::Surrogates::replace);
  out.open_object();
  out.value("model", options["model"]);
  out.text("prompt", prompt.value());
  const bool is_older = options["model"].string().starts_with("dall-e");
  const std::string size = size_of(params, "x");
  // The older models know no size of their own choice by name, and answer with an address that ends
  // unless they are asked for the image.
  if (!is_older || size != "auto") out.filled("size", size);
  copy_members(out, params, openai_names);
  if (is_older) out.text("response_format", "b64_json");
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

}  // namespace millrace::model::image
