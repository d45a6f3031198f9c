#include "adapter/interrupts.hpp"

namespace millrace::adapter {
namespace {

event::Question read_interrupt(const json::Value& reported) {
  const json::Value question = reported["value"].exists() ? reported["value"] : reported;
  event::Question result;
  result.id = reported["id"].filled_string().value_or(reported["interrupt_id"].string());
  result.message = question.string();
  for (const std::string_view key : {"message", "question", "description"}) {
    if (result.message.empty()) result.message = question[key].string();
  }
  return result;
}

std::string interrupt_json(const json::Value& reported) {
  return (reported["value"].exists() ? reported["value"] : reported).to_json();
}

}  // namespace

InterruptList::InterruptList(const json::Value& reported) {
  const auto add = [this](const json::Value& one) {
    list_.push_back(read_interrupt(one));
    texts_.push_back(interrupt_json(one));
  };
  if (reported.is_array()) {
    for (const json::Value one : reported.items()) add(one);
  } else if (!reported.is_nothing()) {
    add(reported);
  }
  for (std::size_t i = 0; i < list_.size(); ++i) list_[i].json = texts_[i];
}

}  // namespace millrace::adapter
