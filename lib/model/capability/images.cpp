// Images: a prompt (and images to start from) in, one image out. The rows; their parts are in
// image/.
#include <array>

#include "model/capability/image/image.hpp"

namespace millrace::model {
namespace {

using namespace image;

constexpr CapabilityRow row(std::string_view providers, std::string_view path, BuildBody body,
                            std::string_view takes, ReadAnswer read = read_list,
                            std::string_view tails = {}) {
  return {.capability = Capability::image,
          .providers = providers,
          .tails = tails,
          .path = path,
          .body = body,
          .read = read,
          .takes = takes};
}

constexpr CapabilityRow openai_row(std::string_view providers, std::string_view path) {
  CapabilityRow made = row(providers, path, openai_body,
                           "size,sides,aspectRatio,quality,n,style,background,outputFormat,"
                           "output_format,outputCompression,output_compression,moderation,seed,"
                           "user");
  made.spares = openai_spares;
  return made;
}

constexpr CapabilityRow edit_row(std::string_view providers, std::string_view path) {
  CapabilityRow made = row(providers, path, openai_edit_body,
                           "size,sides,aspectRatio,quality,n,background,outputFormat,output_format,"
                           "outputCompression,output_compression,inputFidelity,input_fidelity,user,"
                           "mask");
  made.spares = openai_spares;
  made.with_images = true;
  return made;
}

constexpr CapabilityRow imagen_row(std::string_view providers, std::string_view path) {
  CapabilityRow made =
      row(providers, path, imagen_body, "n,aspectRatio,seed,negativePrompt,resolution", read_list,
          "/v1beta,/v1");
  made.models = "imagen";
  return made;
}

constexpr CapabilityRow path_row(std::string_view providers, BuildPath path, BuildBody body,
                                 std::string_view takes, ReadAnswer read) {
  CapabilityRow made = row(providers, "", body, takes, read);
  made.path_of = path;
  return made;
}

constexpr CapabilityRow comfy_row() {
  CapabilityRow made = row("comfyui", "/prompt", comfy_body,
                           "workflow,width,height,seed,steps,cfg,negativePrompt", read_comfy);
  made.spares = comfy_spares;
  return made;
}

constexpr CapabilityRow for_unknown(CapabilityRow made) {
  made.unknown_vendors = Dialect::openai_chat;
  return made;
}

constexpr std::array<CapabilityRow, 18> rows = {{
    // Higress hands OpenAI's edits on: alibaba/higress, ai-proxy, `ApiNameImageEdit`.
    for_unknown(edit_row("openai,ai302,cometapi,newapi,higress", "/images/edits")),
    for_unknown(openai_row("openai,ai302,cometapi,newapi,higress", "/images/generations")),
    edit_row("azure",
             "/openai/deployments/{deployment}/images/"
             "edits?api-version={api_version:2025-04-01-preview}"),
    openai_row("azure",
               "/openai/deployments/{deployment}/images/"
               "generations?api-version={api_version:2025-04-01-preview}"),
    imagen_row("google", "/v1beta/models/{model}:predict"),
    row("google", "/v1beta/models/{model}:generateContent", gemini_body, "aspectRatio,resolution",
        read_gemini, "/v1beta,/v1"),
    imagen_row("vertexai", "/models/{model}:predict"),
    row("togetherai", "/images/generations", together_body,
        "pixels,width,height,aspectRatio,steps,seed,n,cfg,negativePrompt,picture"),
    row("siliconcloud", "/images/generations", silicon_body,
        "size,sides,n,seed,steps,cfg,negativePrompt,picture"),
    path_row("fireworksai", fireworks_path, fireworks_body,
             "aspectRatio,seed,steps,cfg,negativePrompt", read_list),
    row("xai", "/images/generations", xai_body, "n,aspectRatio,resolution"),
    row("zhipu", "/images/generations", zhipu_body, "size,sides,quality,user"),
    row("volcengine", "/images/generations", seedream_body, "size,sides,seed,cfg,watermark"),
    row("minimax", "/image_generation", minimax_body, "pixels,width,height,aspectRatio,n,seed"),
    row("bfl", "/v1/{model}", bfl_body,
        "pixels,width,height,aspectRatio,seed,steps,cfg,outputFormat,picture", read_bfl, "/v1"),
    path_row("fal", fal_path, fal_body, "*,size,sides,picture", read_fal),
    path_row("replicate", replicate_path, replicate_body, "*,width,height,picture", read_replicate),
    comfy_row(),
}};

}  // namespace

std::span<const CapabilityRow> image_rows() {
  return rows;
}

}  // namespace millrace::model
