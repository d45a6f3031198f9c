#include "model/call/known_answer.hpp"

#include <algorithm>
#include <utility>

#include "base/json.hpp"

namespace millrace::model {

std::string NotedIds::next_id() {
  if (again_.empty()) {
    std::string id = ids_.next_id();
    json::append_string(noted_, id);
    noted_.push_back('\n');
    return id;
  }
  const std::size_t end = again_.find('\n');
  std::string id = again_.substr(0, end);
  again_.erase(0, end + 1);
  return id;
}

std::string NotedIds::take() {
  return std::exchange(noted_, {});
}

std::string NotedIds::give_again(std::string_view records) {
  std::string others;
  json::Document document;
  while (!records.empty()) {
    const std::size_t end = std::min(records.find('\n'), records.size());
    const std::string_view line = records.substr(0, end);
    records.remove_prefix(std::min(end + 1, records.size()));
    if (!line.starts_with('"')) {
      others.append(line).push_back('\n');
    } else if (const auto id = document.parse(line)) {
      again_.append(id.value().string()).push_back('\n');
    }
  }
  return others;
}

}  // namespace millrace::model
