#include "model/payload/notes.hpp"

#include <string>
#include <utility>

namespace millrace::model {

void note_count(std::vector<Note>& notes, std::string_view what, std::size_t count,
                std::string_view why, bool is_loss) {
  if (count == 0) return;
  std::string sentence(what);
  sentence.append(" left out: ").append(std::to_string(count)).append(".");
  if (!why.empty()) sentence.append(" ").append(why);
  notes.push_back({"messages", std::move(sentence), is_loss});
}

}  // namespace millrace::model
