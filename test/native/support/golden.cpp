#include "support/golden.hpp"
#include "support/source_folder.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/json.hpp"

namespace millrace::test {
namespace {

std::filesystem::path root() {
  return source_folder() / "test" / "golden";
}

std::string unescape(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\\' || at + 1 >= text.size()) {
      out.push_back(text[at]);
      continue;
    }
    const char kind = text[++at];
    if (kind == 'x') {
      out.push_back(static_cast<char>(std::stoi(std::string(text.substr(at + 1, 2)), nullptr, 16)));
      at += 2;
    } else if (kind == 'r') {
      out.push_back('\r');
    } else if (kind == 'n') {
      out.push_back('\n');
    } else if (kind == 't') {
      out.push_back('\t');
    } else if (kind != '\n') {  // a backslash at the end of a line joins it with the next
      out.push_back(kind);
    }
  }
  return out;
}

}  // namespace

const std::string* GoldenCase::block(std::string_view info) const {
  const auto found = std::find_if(blocks.begin(), blocks.end(), [&](const GoldenBlock& b) {
    return b.info == info || b.info.starts_with(std::string(info) + " ");
  });
  return found == blocks.end() ? nullptr : &found->text;
}

std::string GoldenCase::input() const {
  const auto found = std::find_if(blocks.begin(), blocks.end(), [](const GoldenBlock& b) {
    return b.info == "in" || b.info.starts_with("in ");
  });
  if (found == blocks.end()) return {};
  return found->info.find("escaped") == std::string::npos ? found->text : unescape(found->text);
}

std::vector<GoldenCase> golden_cases(const std::string& file) {
  std::ifstream stream(root() / file);
  std::vector<GoldenCase> cases;
  std::string line;
  bool inside = false;
  while (std::getline(stream, line)) {
    if (inside && line == "```") {
      inside = false;
    } else if (inside) {
      cases.back().blocks.back().text.append(line).append("\n");
    } else if (line.starts_with("## ")) {
      cases.push_back({line.substr(3), {}});
    } else if (line.starts_with("```") && !cases.empty()) {
      cases.back().blocks.push_back({line.substr(3), {}});
      inside = true;
    }
  }
  return cases;
}

std::vector<std::string> golden_files(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(root() / folder)) {
    if (entry.path().extension() != ".md") continue;
    files.push_back(folder + "/" + entry.path().filename().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string compact(std::string_view json) {
  json::Document document(512);
  const auto value = document.parse(json);
  return value ? value.value().to_json(json::Surrogates::keep) : "not JSON: " + std::string(json);
}

}  // namespace millrace::test
