#include "message/json_builder.hpp"

namespace millrace::message {

void JsonBuilder::comma() {
  if (!out_.empty() && out_.back() != '{' && out_.back() != '[') out_.push_back(',');
}

void JsonBuilder::key(std::string_view key) {
  comma();
  json::append_string(out_, key, surrogates_);
  out_.push_back(':');
}

void JsonBuilder::open(std::string_view key_text, char bracket) {
  key_text.empty() ? comma() : key(key_text);
  out_.push_back(bracket);
}

void JsonBuilder::append(std::string_view json) {
  if (surrogates_ == json::Surrogates::keep) {
    out_.append(json);
    return;
  }
  json::Document document(depth_limit);
  if (const auto value = document.parse(json)) {
    value.value().write(out_, surrogates_);
  } else {
    out_.append("null");
  }
}

void JsonBuilder::text(std::string_view value) {
  comma();
  json::append_string(out_, value, surrogates_);
}

void JsonBuilder::text(std::string_view key_text, std::string_view value) {
  key(key_text);
  json::append_string(out_, value, surrogates_);
}

void JsonBuilder::filled(std::string_view key_text, std::string_view value) {
  if (!value.empty()) text(key_text, value);
}

void JsonBuilder::flag(std::string_view key_text, bool value) {
  key(key_text);
  out_.append(value ? "true" : "false");
}

void JsonBuilder::null(std::string_view key_text) {
  key(key_text);
  out_.append("null");
}

void JsonBuilder::value(const json::Value& value) {
  comma();
  value.write(out_, surrogates_);
}

void JsonBuilder::value(std::string_view key_text, const json::Value& value) {
  key(key_text);
  value.write(out_, surrogates_);
}

void JsonBuilder::raw(std::string_view json) {
  comma();
  append(json);
}

void JsonBuilder::raw(std::string_view key_text, std::string_view json) {
  key(key_text);
  append(json);
}

void JsonBuilder::written(std::string_view json) {
  comma();
  out_.append(json);
}

void JsonBuilder::written(std::string_view key_text, std::string_view json) {
  key(key_text);
  out_.append(json);
}

void JsonBuilder::members(std::string_view json) {
  if (json.empty()) return;
  comma();
  out_.append(json);
}

void JsonBuilder::joined(std::string_view key_text, std::string_view before,
                         std::string_view value) {
  key(key_text);
  out_.push_back('"');
  json::append_escaped(out_, before, surrogates_);
  json::append_escaped(out_, value, surrogates_);
  out_.push_back('"');
}

}  // namespace millrace::message
