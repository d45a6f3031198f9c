#include "chat/command_parser.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/ascii.hpp"
#include "base/json.hpp"
#include "chat/text.hpp"

namespace millrace::chat {
namespace {

struct MentionForm {
  std::string_view open;
  std::string_view close;
};
constexpr auto mention_forms =
    std::to_array<MentionForm>({{"[CQ:at,qq=", "]"}, {"[@", "]"}, {"@", ""}});

// The id of the form, with what may follow it: `[CQ:at,qq=1,name=x]`.
std::string_view id_within(std::string_view word, const MentionForm& form) {
  if (!word.starts_with(form.open) || !word.ends_with(form.close)) return {};
  if (word.size() < form.open.size() + form.close.size()) return {};
  std::string_view id =
      word.substr(form.open.size(), word.size() - form.open.size() - form.close.size());
  id = id.substr(0, id.find(','));
  const bool is_id = !id.empty() && std::all_of(id.begin(), id.end(), is_ascii_digit);
  return is_id ? id : std::string_view();
}

// A mention at the beginning of the text; "" when there is none.
std::string_view leading_mention(std::string_view text) {
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    return end == std::string_view::npos ? std::string_view() : text.substr(0, end + 1);
  }
  if (!text.starts_with('@')) return {};
  std::size_t end = 1;
  while (end < text.size() && is_ascii_digit(text[end])) ++end;
  return text.substr(0, end);
}

std::string_view without_mentions(std::string_view text, std::string_view bot_id) {
  text = json::trim(text);
  while (!bot_id.empty()) {
    const std::string_view mention = leading_mention(text);
    if (mention.empty() || mentioned_id(mention) != bot_id) break;
    text = json::trim(text.substr(mention.size()));
  }
  return text;
}

std::vector<std::string> split_at_space(std::string_view text) {
  std::vector<std::string> words;
  const std::string line = collapsed(text);
  std::string_view rest = line;
  while (!rest.empty()) {
    const std::size_t end = rest.find(' ');
    words.emplace_back(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return words;
}

// Reads words until a quote stays open.
class WordReader {
 public:
  std::optional<std::vector<std::string>> read(std::string_view text) {
    while (!text.empty()) {
      const std::size_t space = quote_ == 0 && !is_escape_ ? space_length(text) : 0;
      if (space > 0) {
        end_word();
        text.remove_prefix(space);
      } else {
        take(text.front());
        text.remove_prefix(1);
      }
    }
    if (quote_ != 0 || is_escape_) return std::nullopt;
    end_word();
    return std::move(words_);
  }

 private:
  void take(char c) {
    if (std::exchange(is_escape_, false)) {
      // In quotes a backslash is one of its own, unless it escapes what has a meaning there.
      if (quote_ == '"' && c != '"' && c != '\\') word_.push_back('\\');
      word_.push_back(c);
    } else if (c == '\\' && quote_ != '\'') {
      is_escape_ = true;
      has_word_ = true;
    } else if (quote_ == 0 && (c == '"' || c == '\'')) {
      quote_ = c;
      has_word_ = true;
    } else if (quote_ != 0 && c == quote_) {
      quote_ = 0;
    } else {
      word_.push_back(c);
      has_word_ = true;
    }
  }
  void end_word() {
    if (std::exchange(has_word_, false)) words_.push_back(std::exchange(word_, {}));
  }

  std::vector<std::string> words_;
  std::string word_;
  char quote_ = 0;
  bool is_escape_ = false;
  bool has_word_ = false;
};

}  // namespace

std::string_view mentioned_id(std::string_view word) {
  for (const MentionForm& form : mention_forms) {
    const std::string_view id = id_within(word, form);
    if (!id.empty()) return id;
  }
  return word;
}

std::vector<std::string> split_words(std::string_view text) {
  if (auto words = WordReader().read(text)) return std::move(*words);
  return split_at_space(text);
}

std::optional<CommandLine> parse_command(std::string_view text, std::string_view bot_id) {
  std::string_view rest = without_mentions(text, bot_id);
  if (!rest.starts_with('/')) return std::nullopt;
  rest.remove_prefix(1);
  CommandLine line;
  while (!rest.empty()) {
    const std::string_view character = first_character(rest);
    if (!is_letter_or_digit(character) && character != "_") break;
    line.name.append(character);
    rest.remove_prefix(character.size());
  }
  if (line.name.empty() || (!rest.empty() && space_length(rest) == 0)) return std::nullopt;
  line.name = lowered(line.name);
  line.arguments = split_words(rest);
  for (std::string& word : line.arguments) word = std::string(mentioned_id(word));
  return line;
}

}  // namespace millrace::chat
