#include "event/usage_list.hpp"

#include "base/json.hpp"
#include "event/codec.hpp"

namespace millrace::event {

void UsageList::add(const Usage& usage) {
  std::string tokens;
  write_usage(tokens, usage);
  if (tokens == "{}") return;
  if (!items_.empty()) items_.push_back(',');
  items_.append(tokens);
  estimated_ = estimated_ || usage.estimated;
}

void UsageList::append_to(std::string& object) const {
  if (items_.empty()) return;
  json::append_raw_member(object, "usage", "[" + items_ + "]");
  if (!estimated_) return;
  json::append_raw_member(object, "metadata", R"({"millrace":{"usageSource":"estimated"}})");
}

}  // namespace millrace::event
