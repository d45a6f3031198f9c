// What the images of several vendors share: what is read of the options and of the answers.
#include <array>

#include "model/capability/image/image.hpp"

namespace millrace::model::image {

using json::Value;
using message::JsonBuilder;

namespace {

constexpr std::string_view default_mime = "image/png";

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

// What a page that shows the image must not run.
bool is_address(std::string_view text) {
  return text.starts_with("https://") || text.starts_with("http://") || text.starts_with("data:");
}

// All that stand in the first place that has any.
std::vector<Found> find_images(const Value& answer) {
  std::vector<Found> found;
  for (const ImagePath& path : image_paths) {
    const Value list = answer[path.list];
    const auto add = [&](const Value& item) {
      const Value text = path.member.empty() ? item : item[path.member];
      const auto filled = text.filled_string();
      if (!filled || (!path.is_base64 && !is_address(*filled))) return;
      found.push_back({*filled, item["mimeType"].string(), path.is_base64, item});
    };
    if (list.is_array()) {
      for (const Value item : list.items()) add(item);
    } else {
      add(list);
    }
    if (!found.empty()) break;
  }
  return found;
}

std::string address_of(const Found& found) {
  if (!found.is_base64) return std::string(found.text);
  std::string address = "data:";
  address.append(found.mime.empty() ? default_mime : found.mime).append(";base64,");
  return address.append(found.text);
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

}  // namespace

std::optional<ImageData> image_of(std::string_view url) {
  if (url.empty()) return std::nullopt;
  if (!url.starts_with("data:")) return ImageData{{}, {}, url};
  const std::size_t comma = url.find(',');
  const std::size_t base64 = url.find(";base64,");
  if (comma == std::string_view::npos || base64 == std::string_view::npos) return std::nullopt;
  return ImageData{url.substr(5, url.find(';') - 5), url.substr(comma + 1), url};
}

Result<std::vector<ImageData>> images_of(const Value& params) {
  std::vector<ImageData> images;
  std::vector<std::string_view> urls;
  if (params["imageUrl"].is_string()) urls.push_back(params["imageUrl"].string());
  for (const Value url : params["imageUrls"].items()) urls.push_back(url.string());
  for (const std::string_view url : urls) {
    const auto image_data = image_of(url);
    if (!image_data)
      return missing_member("params.imageUrl", "a data URI with base64 or an address");
    images.push_back(*image_data);
  }
  return images;
}

Result<std::string_view> prompt_of(const Value& options) {
  const auto prompt = options["params"]["prompt"].filled_string();
  if (!prompt) return missing_member("params.prompt", "a description of the image");
  return *prompt;
}

Error words_only() {
  return missing_member("params.imageUrl",
                        "left out: this provider generates images from text only");
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

std::optional<Sides> sides_in(std::string_view size) {
  constexpr std::string_view digits = "0123456789";
  const std::size_t cross = size.find('x');
  if (cross == std::string_view::npos) return std::nullopt;
  const Sides sides{size.substr(0, cross), size.substr(cross + 1)};
  const auto is_number = [&](std::string_view text) {
    return !text.empty() && text.front() != '0' &&
           text.find_first_not_of(digits) == std::string_view::npos;
  };
  if (!is_number(sides.first) || !is_number(sides.second)) return std::nullopt;
  return sides;
}

Value user_of(const Value& options) {
  const Value own = options["params"]["user"];
  return own.is_nothing() ? options["user"] : own;
}

Error no_image(const CapabilityAnswer& answer) {
  return make_error(Errc::no_image_generated, {}, answer.body.substr(0, 300));
}

CapabilityResult again_at(std::string_view url, int after_ms) {
  CapabilityResult result;
  result.poll_url = url;
  result.poll_after_ms = after_ms;
  return result;
}

Error failed_work(std::string_view why) {
  return make_error(Errc::provider_error,
                    "The provider could not generate the image; `detail` has its message.", why);
}

CapabilityResult image_result(const Found& found, const Value& options, const Value& usage,
                              std::span<const Found> all) {
  JsonBuilder out;
  out.open_object();
  out.text("imageUrl", address_of(found));
  if (all.size() > 1) {
    out.open_array("imageUrls");
    for (const Found& one : all) out.text(address_of(one));
    out.close_array();
  }
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
  if (auto error = reported_error(parsed.value())) return *std::move(error);
  auto found = find_images(parsed.value());
  if (found.empty()) found = find_images(parsed.value()["data"]);
  if (found.empty()) return no_image(answer);
  // OpenAI says beside the list what kind of image it made.
  std::string mime;
  const std::string_view format = parsed.value()["output_format"].string();
  if (!format.empty()) mime = "image/" + std::string(format);
  for (Found& one : found) {
    if (one.mime.empty()) one.mime = mime;
  }
  return image_result(found.front(), options, parsed.value()["usage"], found);
}

}  // namespace millrace::model::image
