// Images: a prompt (and images to start from) in, one image out. The rows; their parts are in
// image/.
#include <array>

#include "model/capability/image/image.hpp"

namespace millrace::model {
namespace {

using namespace image;

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

constexpr CapabilityRow openai_row(CapabilityRow made) {
  made.unknown_vendors = Dialect::openai_chat;
  return made;
}

constexpr std::array<CapabilityRow, 18> rows = {{
    // Higress hands OpenAI's edits on: alibaba/higress, ai-proxy, `ApiNameImageEdit`.
    openai_row(edit_row("openai,ai302,cometapi,newapi,higress", "/images/edits")),
    openai_row(row("openai,ai302,cometapi,newapi,higress", "/images/generations", openai_body)),
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
    path_row("fireworksai", fireworks_path, fireworks_body, read_list),
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
