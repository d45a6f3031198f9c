// The tools `read_file`, `list_files` and, with "write": true, `write_file`. Options: "root": the
// folder, "maxBytes" of one call (256 KiB), "approval" of writing ("required").
//
// A file may stand on a disk that hangs: calls run on the pool, and end with their time limit.
#include <algorithm>
#include <utility>

#include "base/shown.hpp"
#include "base/utf8.hpp"
#include "tool/builtin/builtin.hpp"
#include "tool/builtin/folder.hpp"
#include "tool/fetch.hpp"
#include "tool/result_text.hpp"

namespace millrace::tool {
namespace {

using json::Tree;
using SharedFolder = std::shared_ptr<const Folder>;

ToolOutcome read_file(const Folder& folder, std::size_t most, const Tree& arguments) {
  const std::int64_t wanted = arguments["offset"].integer_or(0);
  const auto offset = static_cast<std::uint64_t>(std::max(wanted, std::int64_t{0}));
  const auto part = folder.read(arguments["path"].string(), offset, most);
  if (!part) return failed(part.error());
  std::string_view text = part.value().text;
  if (text.find('\0') != std::string_view::npos) {
    return failed(
        make_error(Errc::invalid_argument,
                   "The file " + shown_text(arguments["path"].string()) + " is not a text file."));
  }
  text.remove_suffix(utf8::unfinished_tail(text));
  std::string content = result_text(text, most * 2);
  const std::uint64_t next = offset + text.size();
  if (next < part.value().file_bytes) {
    content.append("\n[cut here: ").append(std::to_string(part.value().file_bytes - next));
    content.append(" more bytes, go on with offset ").append(std::to_string(next)).append("]");
  }
  return {.content = std::move(content)};
}

ToolOutcome write_file(const Folder& folder, std::size_t most, const Tree& arguments) {
  const std::string_view text = arguments["content"].string();
  if (text.size() > most) {
    return failed(make_error(Errc::invalid_argument,
                             "The text is longer than " + std::to_string(most) + " bytes."));
  }
  const auto written =
      folder.write(arguments["path"].string(), text, arguments["append"].is_true());
  if (!written) return failed(written.error());
  return {.content = std::to_string(text.size()) + " bytes were written."};
}

Spec spec_of(std::string name, std::string description, std::string_view members,
             std::string_view required) {
  Spec spec;
  spec.name = std::move(name);
  spec.description = std::move(description);
  spec.parameters = R"({"type":"object","properties":{"path":{"type":"string","maxLength":4096})";
  spec.parameters.append(members).append(R"(},"required":)").append(required);
  spec.parameters.append(R"(,"additionalProperties":false})");
  spec.effect = Effect::read;
  spec.timeout = std::chrono::minutes(1);
  return spec;
}

}  // namespace

Result<Tools> make_files(const Tree& options, const Surroundings& around) {
  if (options["root"].string().empty()) {
    return make_error(Errc::invalid_option, "`root` is missing: name the folder of the files.");
  }
  auto opened = Folder::open(std::string(options["root"].string()));
  if (!opened) return std::move(opened).error();
  const SharedFolder folder = std::make_shared<const Folder>(std::move(opened).value());
  constexpr std::int64_t standard_bytes = 256 << 10;
  constexpr std::int64_t most_bytes = 16 << 20;
  const auto bytes = read_number(options, "maxBytes", {standard_bytes, most_bytes});
  if (!bytes) return bytes.error();
  const auto most = static_cast<std::size_t>(bytes.value());
  const auto writes = read_flag(options, "write");
  if (!writes) return writes.error();
  constexpr std::size_t most_entries = 1'000;

  Spec read = spec_of("read_file", "Reads a text file.",
                      R"(,"offset":{"type":"integer","minimum":0})", R"(["path"])");
  Spec list = spec_of("list_files", "Lists a folder; without a path the root.", "", "[]");
  read.result_limit = list.result_limit = most * 3 + 1'000;
  Tools tools{
      std::make_shared<BlockingTool>(
          std::move(read), around.pool,
          [folder, most](const Tree& arguments) { return read_file(*folder, most, arguments); }),
      std::make_shared<BlockingTool>(std::move(list), around.pool, [folder](const Tree& arguments) {
        const auto text = folder->list(arguments["path"].string(), most_entries);
        return text ? ToolOutcome{.content = result_text(text.value())} : failed(text.error());
      })};
  Spec write = spec_of("write_file", "Writes a text file, in place of the one that is there.",
                       R"(,"content":{"type":"string"},"append":{"type":"boolean"})",
                       R"(["path","content"])");
  // Appended twice is not the same as once.
  write.effect = Effect::once;
  write.approval = R"("required")";
  write.serialize_by = "path";
  MILLRACE_TRY(read_approval(options, write));
  if (!writes.value()) return tools;
  tools.push_back(std::make_shared<BlockingTool>(
      std::move(write), around.pool,
      [folder, most](const Tree& arguments) { return write_file(*folder, most, arguments); }));
  return tools;
}

}  // namespace millrace::tool
