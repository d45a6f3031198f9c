// The tool `load_skill`: the instructions of a skill, and the files beside them. Option: "list", of
// { "name", "root": a folder, "folder": the skill's below it, with a file SKILL.md }.
//
// Names and descriptions are for the system prompt, which the reader of the front matter writes.
#include <algorithm>
#include <map>
#include <utility>

#include "base/shown.hpp"
#include "base/spelling.hpp"
#include "base/utf8.hpp"
#include "tool/builtin/builtin.hpp"
#include "tool/builtin/folder.hpp"
#include "tool/fetch.hpp"
#include "tool/result_text.hpp"

namespace millrace::tool {
namespace {

using json::Tree;

// Units: bytes.
constexpr std::size_t most_text = 256 << 10;

struct SkillPlace {
  std::string root;
  std::string folder;
};

using SkillPlaces = std::map<std::string, SkillPlace, std::less<>>;

// What follows the front matter, which is between two lines of three dashes.
std::string_view without_front_matter(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  if (!text.starts_with("---")) return text;
  const std::size_t end = text.find("\n---", 3);
  if (end == std::string_view::npos) return text;
  const std::size_t line_end = text.find('\n', end + 1);
  return line_end == std::string_view::npos ? std::string_view() : text.substr(line_end + 1);
}

// The files below a folder, each with its path from the skill's. Links are left out.
class FileList {
 public:
  FileList(const Folder& folder, std::string root) : folder_(folder), root_(std::move(root)) {}

  std::string text() {
    add("", 0);
    return std::move(lines_);
  }

 private:
  static constexpr int deepest = 4;
  static constexpr std::size_t most_files = 200;

  void add(const std::string& path, int depth) {
    const auto listed = folder_.list(root_ + "/" + path, most_files);
    if (!listed) return;
    std::string_view rest = listed.value();
    while (!rest.empty() && count_ <= most_files) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
      add_line(path, line, depth);
    }
  }

  void add_line(const std::string& path, std::string_view line, int depth) {
    const std::string whole = path + std::string(line);
    const bool is_hidden = line.starts_with('.') || line.starts_with('[');
    if (is_hidden || (depth == 0 && line.starts_with("SKILL.md ("))) return;
    if (line.ends_with('/')) {
      if (depth < deepest) add(whole, depth + 1);
      return;
    }
    if (++count_ <= most_files) {
      lines_.append("- ").append(whole).append("\n");
    } else {
      lines_.append("[cut here: there are more]\n");
    }
  }

  const Folder& folder_;
  std::string root_;
  std::string lines_;
  std::size_t count_ = 0;
};

Error no_text(std::string_view file) {
  return make_error(Errc::invalid_argument,
                    "The file " + shown_text(file) + " is not a text file.");
}

ToolOutcome read_part(const Folder& folder, const SkillPlace& place, std::string_view file,
                      std::uint64_t offset) {
  const bool is_whole = file.empty() || file == "SKILL.md";
  const std::string path = place.folder + "/" + std::string(is_whole ? "SKILL.md" : file);
  const auto part = folder.read(path, offset, most_text);
  if (!part) return failed(part.error());
  std::string_view text = part.value().text;
  if (text.find('\0') != std::string_view::npos) return failed(no_text(file));
  text.remove_suffix(utf8::unfinished_tail(text));
  const std::uint64_t next = offset + text.size();
  if (is_whole && offset == 0) text = without_front_matter(text);
  std::string content = result_text(text, most_text * 2);
  if (next < part.value().file_bytes) {
    content.append("\n[cut here: ").append(std::to_string(part.value().file_bytes - next));
    content.append(" more bytes, go on with offset ").append(std::to_string(next)).append("]");
  }
  if (!is_whole || offset > 0) return {.content = std::move(content)};
  const std::string files = FileList(folder, place.folder).text();
  if (!files.empty()) {
    content.append("\n\nFiles of this skill, to be loaded with `file`:\n");
    content.append(result_text(files));
  }
  return {.content = std::move(content)};
}

ToolOutcome load(const SkillPlaces& places, const Tree& arguments) {
  const std::string_view name = arguments["name"].string();
  const auto found = places.find(name);
  if (found == places.end()) {
    std::vector<std::string_view> known;
    for (const auto& [other, place] : places) known.push_back(other);
    return failed(make_error(Errc::invalid_argument,
                             "There is no skill " + shown_text(name) + ". " + advice(name, known)));
  }
  // A folder may have been replaced since.
  const auto folder = Folder::open(found->second.root);
  if (!folder) return failed(folder.error());
  const std::int64_t offset = std::max(arguments["offset"].integer_or(0), std::int64_t{0});
  return read_part(folder.value(), found->second, arguments["file"].string(),
                   static_cast<std::uint64_t>(offset));
}

Spec skill_spec() {
  Spec spec;
  spec.name = "load_skill";
  spec.description =
      "Gives the instructions of a skill by its name, and with `file` the text of a file that "
      "belongs to it.";
  spec.parameters =
      R"({"type":"object","properties":{"name":{"type":"string","maxLength":64},)"
      R"("file":{"type":"string","maxLength":4096,"description":"A path from the skill's folder."},)"
      R"("offset":{"type":"integer","minimum":0}},"required":["name"],)"
      R"("additionalProperties":false})";
  spec.effect = Effect::read;
  spec.timeout = std::chrono::minutes(1);
  spec.result_limit = most_text * 3;
  return spec;
}

}  // namespace

Result<Tools> make_skills(const Tree& options, const Surroundings& around) {
  const auto places = std::make_shared<SkillPlaces>();
  for (const Tree& item : options["list"].items()) {
    SkillPlace place{std::string(item["root"].string()), std::string(item["folder"].string())};
    if (item["name"].string().empty() || place.root.empty() || place.folder.empty()) {
      return make_error(Errc::invalid_option,
                        "`skills.list` must have objects with name, root and folder.");
    }
    places->insert_or_assign(std::string(item["name"].string()), std::move(place));
  }
  return Tools{std::make_shared<BlockingTool>(
      skill_spec(), around.pool,
      [places](const Tree& arguments) { return load(*places, arguments); })};
}

}  // namespace millrace::tool
