#include "run/vendor_result.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/shown.hpp"
#include "message/parts.hpp"
#include "tool/result_text.hpp"

namespace millrace::run {
namespace {

using json::Tree;
using message::VendorResult;

struct Read {
  std::string text;
  Tree images = Tree::array();
  bool failed = false;
};

Tree image_part(std::string_view type, std::string_view value, std::string_view mime_type) {
  Tree part = Tree::object();
  part.set("type", "image");
  Tree& source = part.set("source", Tree::object());
  source.set("type", type);
  source.set("value", value);
  if (!mime_type.empty()) source.set("mimeType", mime_type);
  return part;
}

bool is_address(std::string_view text) {
  constexpr std::array<std::string_view, 3> schemes{"data:image/", "https://", "http://"};
  return std::any_of(schemes.begin(), schemes.end(),
                     [&](std::string_view scheme) { return text.starts_with(scheme); });
}

bool add_image(Read& out, const Tree& url) {
  message::DataUrl data;
  if (!is_address(url.string())) return false;
  const bool is_data = message::read_data_url(data, url.string());
  out.images.push(is_data ? image_part("data", data.data, data.mime_type)
                          : image_part("url", url.string(), {}));
  return true;
}

// An image as Anthropic writes it, or AG-UI.
bool add_source(Read& out, const Tree& source) {
  struct Row {
    std::string_view type;
    std::string_view member;
    std::string_view made;
  };
  constexpr std::array rows{Row{"base64", "data", "data"},  Row{"data", "value", "data"},
                            Row{"url", "url", "url"},       Row{"url", "value", "url"},
                            Row{"file", "file_id", "file"}, Row{"file", "value", "file"}};
  for (const Row& row : rows) {
    const Tree& value = source[row.member];
    if (source["type"].string() != row.type || value.string().empty()) continue;
    const Tree& mime = source[source["media_type"].is_string() ? "media_type" : "mimeType"];
    out.images.push(image_part(row.made, value.string(), mime.string()));
    return true;
  }
  return false;
}

// False for an object that holds no image.
bool add_image_of(Read& out, const Tree& object) {
  if (add_source(out, object["source"])) return true;
  if (const auto file = object["file_id"].string(); !file.empty()) {
    out.images.push(image_part("file", file, {}));
    return true;
  }
  const Tree& nested = object["image_url"]["url"];
  for (const Tree* url : {&object["image"], &object["image_url"], &nested}) {
    if (add_image(out, *url)) return true;
  }
  return false;
}

bool add_block(Read& out, const Tree& block) {
  if (!block.is_object()) return false;
  if (block["text"].is_string() && block["source"].is_null()) {
    out.text.append(block["text"].string());
    return true;
  }
  return add_image_of(out, block);
}

std::optional<Read> read_blocks(const Tree& list) {
  if (!list.is_array() || list.items().empty()) return std::nullopt;
  Read read;
  for (const Tree& block : list.items()) {
    if (!add_block(read, block)) return std::nullopt;
  }
  return read;
}

Read read_value(const Tree& value) {
  Read read;
  if (value.is_null()) return read;
  if (value.is_string()) {
    read.text = value.string();
    return read;
  }
  if (auto blocks = read_blocks(value)) return *std::move(blocks);
  const Tree& content = value["content"];
  if (content.is_string() || content.is_array()) {
    read = read_value(content);
    read.failed = value["is_error"].is_true() || value["isError"].is_true();
    return read;
  }
  if (value.is_object() && add_image_of(read, value)) {
    read.text = value["text"].string();
    return read;
  }
  read.text = value.to_json();
  return read;
}

// A missing exit code is 0; one that is no integer, as null of a program that a signal ended, is 1.
Tree exit_code_of(const Tree& given) {
  for (const std::string_view name : {"exit_code", "exitCode", "code"}) {
    if (given.find(name) != nullptr) return Tree::integer(given[name].integer_or(1));
  }
  return Tree::integer(0);
}

// A command as OpenAI takes it.
Tree shell_entry(const Tree& given, std::size_t limit) {
  const auto text = [&](const Tree& value) {
    const bool is_text = value.is_string() || value.is_null();
    return tool::result_text(is_text ? std::string(value.string()) : value.to_json(), limit);
  };
  const bool is_entry =
      given.is_object() &&
      (given["stdout"].is_string() || given["stderr"].is_string() || given["outcome"].is_object() ||
       given.find("exit_code") != nullptr || given.find("exitCode") != nullptr);
  Tree made = Tree::object();
  made.set("stdout", text(is_entry ? given["stdout"] : given));
  made.set("stderr", text(is_entry ? given["stderr"] : Tree()));
  if (is_entry && given["outcome"]["type"].is_string()) {
    made.set("outcome", given["outcome"]);
    return made;
  }
  Tree& outcome = made.set("outcome", Tree::object());
  outcome.set("type", "exit");
  outcome.set("exit_code", is_entry ? exit_code_of(given) : Tree::integer(0));
  return made;
}

// Only texts are shortened, and commands at the front are left out, so that the list stays JSON.
std::string shell_list(const Tree& value, std::size_t limit) {
  constexpr std::size_t least = 64;
  const Tree& given = value["output"].is_array() ? value["output"] : value;
  const bool is_list = given.is_array();
  for (std::size_t each = limit;; each /= 2) {
    Tree list = Tree::array();
    if (!is_list) list.push(shell_entry(given, each));
    for (const Tree& entry : given.items()) list.push(shell_entry(entry, each));
    std::string json = list.to_json(json::Surrogates::replace);
    if (json.size() <= limit) return json;
    if (each >= least) continue;
    auto& entries = list.items();
    while (entries.size() > 1 && json.size() > limit) {
      entries.erase(entries.begin(),
                    entries.begin() + static_cast<std::ptrdiff_t>((entries.size() + 1) / 2));
      json = list.to_json(json::Surrogates::replace);
    }
    return json;
  }
}

tool::ToolOutcome screenshot(const tool::Spec& spec, const Tree& value) {
  Read read = read_value(value);
  if (read.images.items().empty() && !read.failed) add_image(read, value);
  tool::ToolOutcome outcome;
  if (!read.images.items().empty()) {
    outcome.content = "(an image)";
    outcome.details.parts = std::move(read.images);
    return outcome;
  }
  outcome.is_error = true;
  outcome.code = "tool_failed";
  outcome.content = read.failed ? std::move(read.text)
                                : "The tool " + spec.name +
                                      " must return an image, as { type: 'computer_screenshot', "
                                      "image_url: 'data:image/png;base64,...' }, not " +
                                      shown_value(value) + ".";
  return outcome;
}

tool::ToolOutcome patch(const Tree& value) {
  const Tree& status = value["status"];
  if (!status.is_string()) {
    Read read = read_value(value);
    return {std::move(read.text), read.failed, read.failed ? "tool_failed" : ""};
  }
  const bool failed = status.string() != "completed";
  const Tree& output = value["output"];
  return {output.is_string() || output.is_null() ? std::string(output.string()) : output.to_json(),
          failed, failed ? "tool_failed" : ""};
}

tool::ToolOutcome blocks(const Tree& value, std::size_t limit) {
  Read read = read_value(value);
  tool::ToolOutcome outcome{std::move(read.text), read.failed, read.failed ? "tool_failed" : ""};
  if (read.images.items().empty()) return outcome;
  Tree parts = Tree::array();
  if (!outcome.content.empty()) {
    Tree text = Tree::object();
    text.set("type", "text");
    text.set("text", tool::result_text(outcome.content, limit));
    parts.push(std::move(text));
  }
  for (Tree& image : read.images.items()) parts.push(std::move(image));
  if (outcome.content.empty()) outcome.content = "(an image)";
  outcome.details.parts = std::move(parts);
  return outcome;
}

VendorResult shape_of(const tool::Spec& spec) {
  const auto vendor = Tree::parse(spec.vendor);
  const message::VendorTool* row =
      vendor ? message::find_vendor_tool(vendor.value()["type"].string()) : nullptr;
  return row == nullptr ? VendorResult::text : row->result;
}

}  // namespace

tool::ToolOutcome vendor_outcome(const tool::Spec& spec, const Tree& value) {
  switch (shape_of(spec)) {
    case VendorResult::screenshot: return screenshot(spec, value);
    case VendorResult::shell: return {shell_list(value, spec.result_limit)};
    case VendorResult::patch: return patch(value);
    case VendorResult::blocks: return blocks(value, spec.result_limit);
    case VendorResult::text: break;
  }
  const Tree& output = value["output"];
  Read read = read_value(output.is_string() ? output : value);
  return {std::move(read.text), read.failed, read.failed ? "tool_failed" : ""};
}

}  // namespace millrace::run
