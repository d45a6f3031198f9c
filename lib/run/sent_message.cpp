#include "run/sent_message.hpp"

#include <utility>

#include "base/shown.hpp"
#include "run/input.hpp"

namespace millrace::run {

using json::Tree;

Result<Tree> read_sent_message(const Tree& content, std::string id, IdSource& ids) {
  const bool is_text = !content.string().empty();
  if (!is_text && content.items().empty()) {
    return make_error(Errc::invalid_body,
                      "The content of a message to a run is a text, or parts as a user message of "
                      "AG-UI has them, and is not empty: not " +
                          shown_text(content.to_json()) + ".");
  }
  Tree message = Tree::object();
  message.set("id", std::move(id));
  message.set("role", "user");
  message.set("content", content);
  if (is_text) return message;
  Tree body = Tree::object();
  body.set("messages", Tree::array()).push(std::move(message));
  auto input = read_agent_input(body.to_json(json::Surrogates::keep), {}, ids);
  if (!input) return std::move(input).error();
  auto read = Tree::parse(input.value().messages_json);
  if (!read) return std::move(read).error();
  return std::move(read.value().items().back());
}

}  // namespace millrace::run
