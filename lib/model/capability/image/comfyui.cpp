// ComfyUI: a graph of nodes in, the id of a prompt, then the bytes of the image.
#include "base/base64.hpp"
#include "model/capability/image/image.hpp"
#include "model/provider/address.hpp"

namespace millrace::model::image {

using json::Value;
using message::JsonBuilder;

namespace {

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

std::string json_string(std::string_view text) {
  std::string json;
  json::append_string(json, text);
  return json;
}

// Text to image with one checkpoint, which the model names: the graph that ComfyUI begins with.
void write_workflow(JsonBuilder& out, const Value& options, std::string_view prompt) {
  const Value params = options["params"];
  out.open_object("prompt");
  write_node(out, "1", "CheckpointLoaderSimple",
             "{\"ckpt_name\":" + json_string(options["model"].string()) + "}");
  write_node(out, "2", "CLIPTextEncode", R"({"clip":["1",1],"text":)" + json_string(prompt) + "}");
  write_node(out, "3", "CLIPTextEncode",
             R"({"clip":["1",1],"text":)" + json_string(params["negativePrompt"].string()) + "}");
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

}  // namespace

bool comfy_spares(const Value& options, std::string_view name) {
  return options["params"]["workflow"].is_object() && name != "workflow" && name != "prompt";
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

}  // namespace millrace::model::image
