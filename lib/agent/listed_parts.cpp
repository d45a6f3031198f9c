#include "agent/listed_parts.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "agent/history.hpp"

namespace millrace::agent {
namespace {

using json::Tree;

struct MediaList {
  std::string_view member;
  std::string_view type;
};
constexpr std::array<MediaList, 3> media_lists{
    {{"imageList", "image_url"}, {"videoList", "video_url"}, {"audioList", "audio_url"}}};
constexpr std::string_view files_member = "fileList";

Tree text_part(std::string_view text) {
  Tree part = Tree::object();
  part.set("type", "text");
  part.set("text", text);
  return part;
}

Tree media_part(std::string_view type, std::string_view url) {
  Tree part = Tree::object();
  part.set("type", type);
  part.at(type).set("url", url);
  if (type == "image_url") part.at(type).set("detail", "auto");
  return part;
}

std::string file_attribute(std::string_view name, const Tree& value) {
  if (value.string().empty()) return {};
  std::string text(value.string());
  std::replace_if(
      text.begin(), text.end(),
      [](char c) { return c == '"' || c == '<' || c == '>' || c == '\n'; }, ' ');
  return " " + std::string(name) + "=\"" + text + "\"";
}

// A file as the model reads it: its text, where the list has that.
std::string file_text(const Tree& file) {
  std::string text = "<file";
  text.append(file_attribute("name", file["name"]))
      .append(file_attribute("type", file["fileType"]));
  text.append(file_attribute("url", file["url"]));
  if (file["content"].string().empty()) return text + "/>";
  return text.append(">\n").append(file["content"].string()).append("\n</file>");
}

// The parts of an answer that has them as JSON; a null tree where it is another text.
Tree stored_parts(std::string_view text) {
  const auto parsed = Tree::parse(text);
  if (!parsed || !parsed.value().is_array() || parsed.value().items().empty()) return {};
  Tree parts = Tree::array();
  for (const Tree& part : parsed.value().items()) {
    const std::string_view type = part["type"].string();
    if (type != "text" && type != "image") return {};
    Tree made = type == "text" ? text_part(part["text"].string())
                               : media_part("image_url", part["image"].string());
    if (!part["thoughtSignature"].string().empty()) {
      made.set("googleThoughtSignature", part["thoughtSignature"]);
    }
    parts.push(std::move(made));
  }
  return parts;
}

// Reasoning is text: its images are named.
std::string reasoning_text(const Tree& parts) {
  std::string text;
  for (const Tree& part : parts.items()) {
    if (!text.empty()) text.push_back('\n');
    if (part["type"].string() == "text") {
      text.append(part["text"].string());
    } else {
      text.append("[Image: ").append(part["image_url"]["url"].string()).append("]");
    }
  }
  return text;
}

void read_stored_parts(Tree& row) {
  const Tree& given = row;
  if (!is_role(given, "assistant")) return;
  if (given["metadata"]["isMultimodal"].is_true()) {
    Tree parts = stored_parts(given["content"].string());
    if (!parts.is_null()) row.set("content", std::move(parts));
  }
  if (given["reasoning"]["isMultimodal"].is_true()) {
    const Tree parts = stored_parts(given["reasoning"]["content"].string());
    if (!parts.is_null()) row.at("reasoning").set("content", reasoning_text(parts));
  }
}

bool has_media(const Tree& parts, std::string_view type, std::string_view url) {
  return std::any_of(parts.items().begin(), parts.items().end(),
                     [&](const Tree& part) { return part[type]["url"].string() == url; });
}

bool is_listed(const Tree& row) {
  return !row[files_member].items().empty() ||
         std::any_of(media_lists.begin(), media_lists.end(),
                     [&](const MediaList& list) { return !row[list.member].items().empty(); });
}

// What the row has, as parts.
Tree content_parts(const Tree& row) {
  std::string files;
  for (const Tree& file : row[files_member].items()) {
    files.append(files.empty() ? "" : "\n").append(file_text(file));
  }
  if (row["content"].is_array()) {
    Tree parts = row["content"];
    if (!files.empty()) parts.push(text_part(files));
    return parts;
  }
  std::string text(row["content"].string());
  if (!text.empty() && !files.empty()) text.append("\n\n");
  text.append(files);
  Tree parts = Tree::array();
  if (!text.empty()) parts.push(text_part(text));
  return parts;
}

}  // namespace

Tree with_listed_parts(const Tree& row) {
  const bool is_stored =
      row["metadata"]["isMultimodal"].is_true() || row["reasoning"]["isMultimodal"].is_true();
  if (!is_stored && !is_listed(row)) return row;
  Tree made = row;
  if (is_stored) read_stored_parts(made);
  if (!is_listed(row)) return made;
  Tree parts = content_parts(made);
  for (const MediaList& list : media_lists) {
    for (const Tree& item : row[list.member].items()) {
      const std::string_view url =
          item["url"].string().empty() ? item["data"].string() : item["url"].string();
      if (!url.empty() && !has_media(parts, list.type, url)) {
        parts.push(media_part(list.type, url));
      }
    }
    made.erase(list.member);
  }
  made.erase(files_member);
  const bool is_text =
      parts.items().size() == 1 && parts.items().front()["type"].string() == "text";
  made.set("content", is_text ? Tree(parts.items().front()["text"]) : std::move(parts));
  return made;
}

}  // namespace millrace::agent
