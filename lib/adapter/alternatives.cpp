#include "adapter/alternatives.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "adapter/held_choices.hpp"
#include "base/error.hpp"

namespace millrace::adapter {
namespace {

using json::Tree;

constexpr std::string_view crowded_alternatives =
    "The provider gave more than 1024 further answers: those beyond are left out.";

// Texts that come in pieces; others come whole.
constexpr std::array<std::string_view, 8> texts_in_pieces{
    "content", "refusal", "reasoning_content", "reasoning", "arguments",
    "input",   "data",    "transcript"};

bool comes_in_pieces(std::string_view name) {
  return std::find(texts_in_pieces.begin(), texts_in_pieces.end(), name) != texts_in_pieces.end();
}

std::string joined(const std::string& way, std::string_view key) {
  std::string longer;
  longer.reserve(way.size() + 1 + key.size());
  longer.append(way).push_back('/');
  longer.append(key);
  return longer;
}

// Joins pieces of one answer. A tree's text cannot grow in place, so texts in pieces are kept
// beside the tree, by the way to them, until it is given.
class Joiner {
 public:
  explicit Joiner(std::map<std::string, std::string, std::less<>>& texts) : texts_(texts) {}

  void add_members(Tree& all, const json::Value& more, const std::string& way) {
    for (const json::Member& member : more.members()) {
      if (member.value.is_nothing()) continue;
      const std::string to = joined(way, member.key);
      Tree* const known = all.find(member.key);
      if (comes_in_pieces(member.key) && member.value.is_string() &&
          (known == nullptr || known->is_null() || known->is_string())) {
        const auto [text, is_new] = texts_.try_emplace(to);
        if (is_new && known != nullptr) text->second = known->string();
        text->second.append(member.value.string());
        if (known == nullptr || known->is_null()) all.set(member.key, "");
      } else if (known != nullptr && known->is_array() && member.value.is_array()) {
        add_elements(*known, member.value, to);
      } else if (known != nullptr && known->is_object() && member.value.is_object()) {
        add_members(*known, member.value, to);
      } else {
        texts_.erase(to);
        replace(all, member, to);
      }
    }
  }

  // Puts the texts in.
  void finish(Tree& all, const std::string& way) const {
    if (const auto text = texts_.find(way); text != texts_.end()) all = Tree::text(text->second);
    if (all.is_object()) {
      std::vector<std::string> keys;
      for (const auto& [key, value] : all.members()) keys.emplace_back(key);
      for (const std::string& key : keys) finish(*all.find(key), joined(way, key));
    } else if (all.is_array()) {
      std::size_t at = 0;
      for (Tree& element : all.items()) finish(element, joined(way, std::to_string(at++)));
    }
  }

 private:
  // Pieces of a call have its number; anything else is a further element.
  void add_elements(Tree& all, const json::Value& more, const std::string& way) {
    for (const json::Value element : more.items()) {
      auto& known = all.items();
      const auto number = element["index"].integer();
      const auto found = std::find_if(known.begin(), known.end(), [&](const Tree& one) {
        return number && one["index"].integer_or(-1) == *number;
      });
      const auto at = static_cast<std::size_t>(found - known.begin());
      if (!element.is_object()) {
        all.push(Tree(element));
        continue;
      }
      if (!known.empty() && goes_on(known.back(), element)) {
        const std::string to = joined(joined(way, std::to_string(known.size() - 1)), "text");
        const auto [text, is_new] = texts_.try_emplace(to);
        if (is_new) text->second = known.back()["text"].string();
        text->second.append(element["text"].string());
        for (const json::Member& member : element.members()) {
          if (member.key != "text") known.back().set(member.key, Tree(member.value));
        }
        continue;
      }
      Tree& into = found != known.end() ? *found : all.push(Tree::object());
      add_members(into, element, joined(way, std::to_string(at)));
    }
  }

  // Whether a part of a text goes on with the part before it. Further members are of the text that
  // is open, and end it.
  static bool goes_on(const Tree& last, const json::Value& part) {
    const bool is_reasoning = part["thought"].is_true();
    const std::size_t size = is_reasoning ? 2 : 1;
    if (!part["text"].is_string() || !last.is_object()) return false;
    return last["text"].is_string() && last.members().size() == size &&
           (!is_reasoning || last["thought"].truthy());
  }

  void replace(Tree& all, const json::Member& member, const std::string& to) {
    if (member.value.is_object()) {
      add_members(all.set(member.key, Tree::object()), member.value, to);
    } else if (member.value.is_array()) {
      add_elements(all.set(member.key, Tree::array()), member.value, to);
    } else {
      all.set(member.key, Tree(member.value));
    }
  }

  std::map<std::string, std::string, std::less<>>& texts_;
};

// The members of an answer besides its number, its content and its end.
void add_others(Joiner& joiner, Tree& answer, const json::Value& given,
                std::initializer_list<std::string_view> handled) {
  for (const json::Member& member : given.members()) {
    const bool is_handled = std::find(handled.begin(), handled.end(), member.key) != handled.end();
    if (is_handled || member.value.is_nothing()) continue;
    Tree* const known = answer.find(member.key);
    if (known != nullptr && known->is_object() && member.value.is_object()) {
      joiner.add_members(*known, member.value, '/' + std::string(member.key));
    } else {
      answer.set(member.key, Tree(member.value));
    }
  }
}

void set_end(Tree& answer, const json::Value& reason) {
  if (const auto word = reason.filled_string()) answer.set("finishReason", *word);
}

}  // namespace

Alternatives::Answer* Alternatives::find(std::int64_t index) {
  const auto known = answers_.find(index);
  if (known != answers_.end()) return &known->second;
  if (answers_.size() >= OtherAnswers::most) {
    is_crowded_ = true;
    return nullptr;
  }
  return &answers_.emplace(index, Answer{Tree::object(), {}}).first->second;
}

void Alternatives::add_choice(const json::Value& choice, std::int64_t index) {
  Answer* const answer = find(index);
  if (answer == nullptr) return;
  Joiner joiner(answer->texts);
  const json::Value message = choice["message"];
  if (message.is_object()) {
    std::erase_if(answer->texts,
                  [](const auto& text) { return text.first.starts_with("/message/"); });
    answer->json.set("message", Tree(message));
  } else {
    joiner.add_members(answer->json.at("message"), choice["delta"], "/message");
  }
  add_others(joiner, answer->json, choice, {"index", "message", "delta", "finish_reason"});
  set_end(answer->json, choice["finish_reason"]);
}

void Alternatives::add_candidate(const json::Value& candidate, std::int64_t index) {
  Answer* const answer = find(index);
  if (answer == nullptr) return;
  Joiner joiner(answer->texts);
  joiner.add_members(answer->json.at("message"), candidate["content"], "/message");
  add_others(joiner, answer->json, candidate, {"index", "content", "finishReason"});
  set_end(answer->json, candidate["finishReason"]);
}

void Alternatives::give(event::PartTracker& parts) {
  for (auto& [index, answer] : answers_) {
    Joiner(answer.texts).finish(answer.json, {});
    const std::string json = answer.json.to_json();
    parts.pass(event::Alternative{index, json});
  }
  answers_.clear();
  if (!std::exchange(is_crowded_, false)) return;
  parts.pass(event::Warning{row_of(Errc::too_many_parts).code, crowded_alternatives});
}

}  // namespace millrace::adapter
