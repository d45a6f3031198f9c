// A slash command has a name, and its words split the same when they are quoted again.
#include <string>
#include <vector>

#include "chat/command_parser.hpp"
#include "fuzz_support.hpp"

using namespace millrace;

namespace {

std::string quoted(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    line += line.empty() ? "\"" : " \"";
    for (const char c : word) {
      if (c == '"' || c == '\\') line.push_back('\\');
      line.push_back(c);
    }
    line.push_back('"');
  }
  return line;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto words = chat::split_words(text);
  fuzz::require(words.size() <= size, "a word takes a byte of the text");
  fuzz::require(chat::split_words(quoted(words)) == words, "quoted words are the same words");
  for (const std::string_view bot : {"", "1"}) {
    const auto command = chat::parse_command(text, bot);
    if (!command) continue;
    fuzz::require(!command->name.empty(), "a command has a name");
    fuzz::require(text.find('/') != std::string_view::npos, "a command begins with a slash");
  }
  const std::string_view id = chat::mentioned_id(text);
  fuzz::require(id.empty() || (id.data() >= text.data() && id.size() <= size),
                "an id is a part of the word");
  return 0;
}
