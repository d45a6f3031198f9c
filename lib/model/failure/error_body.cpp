#include "model/failure/error_body.hpp"

#include <utility>

#include "base/error_json.hpp"
#include "base/json.hpp"
#include "model/provider/secrets.hpp"

namespace millrace::model {
namespace {

constexpr std::size_t body_limit_bytes = 4096;
constexpr std::size_t text_limit_bytes = 1024;
constexpr int deepest = 8;

// Writes a value with every text of it cleaned.
class ShownBody {
 public:
  explicit ShownBody(const std::vector<std::string>& secrets) : filter_(secrets) {}

  std::string take() { return std::move(out_); }

  void write(const json::Value& value, int depth = 0) {
    const bool deep = (value.is_object() || value.is_array()) && depth == deepest;
    if (deep || value.is_nothing()) {
      out_.append("null");
    } else if (value.is_object()) {
      write_object(value, depth);
    } else if (value.is_array()) {
      write_array(value, depth);
    } else if (value.is_string()) {
      json::append_string(out_, clean(value.string()));
    } else {
      const std::string text = value.to_json();
      const std::string shown = clean(text);
      if (shown == text) {
        out_.append(text);
      } else {
        json::append_string(out_, shown);
      }
    }
  }

 private:
  [[nodiscard]] std::string clean(std::string_view text) const {
    return redacted(filter_.clean(text), text_limit_bytes);
  }
  [[nodiscard]] bool is_full() const { return out_.size() > body_limit_bytes; }

  void write_object(const json::Value& value, int depth) {
    out_.push_back('{');
    bool is_first = true;
    for (const auto& [key, member] : value.members()) {
      if (is_full()) break;
      if (!std::exchange(is_first, false)) out_.push_back(',');
      json::append_string(out_, clean(key));
      out_.push_back(':');
      write(member, depth + 1);
    }
    out_.push_back('}');
  }

  void write_array(const json::Value& value, int depth) {
    out_.push_back('[');
    bool is_first = true;
    for (const json::Value item : value.items()) {
      if (is_full()) break;
      if (!std::exchange(is_first, false)) out_.push_back(',');
      write(item, depth + 1);
    }
    out_.push_back(']');
  }

  SecretFilter filter_;
  std::string out_;
};

}  // namespace

std::string error_body(std::string_view text, const std::vector<std::string>& secrets) {
  json::Document document;
  const auto parsed = document.parse(text);
  if (!parsed) return {};
  ShownBody shown(secrets);
  shown.write(parsed.value());
  return shown.take();
}

std::string error_body(std::string_view code, std::string_view message,
                       const std::vector<std::string>& secrets) {
  std::string text = "{";
  if (!code.empty()) json::append_member(text, "code", code);
  json::append_member(text, "message", message);
  return error_body(text + "}", secrets);
}

std::string error_json(const Error& error, std::string_view provider, const ErrorPlace& place) {
  std::string out = error_json(error);
  out.pop_back();
  json::append_member(out, "provider", provider);
  if (!place.endpoint.empty()) json::append_member(out, "endpoint", place.endpoint);
  if (!place.body_json.empty()) json::append_raw_member(out, "error", place.body_json);
  out.push_back('}');
  return out;
}

}  // namespace millrace::model
