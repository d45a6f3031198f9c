#include "model/payload/payload_format.hpp"

#include <string>
#include <utility>

#include "message/json_builder.hpp"
#include "message/message.hpp"
#include "model/payload/payload_tools.hpp"

namespace millrace::model {
namespace {

Result<void> read_response_format(const json::Value& format, ResponseFormat& out) {
  using Kind = ResponseFormat::Kind;
  if (format.is_nothing()) return {};
  const std::string_view type = format["type"].string();
  out.extra = further_members(format, {"type", "json_schema"});
  if (type == "text") {
    out.kind = Kind::text;
  } else if (const json::Value schema = format["json_schema"];
             type == "json_object" && schema.is_object()) {
    // Cohere's way to give a schema.
    out.kind = Kind::json_schema;
    out.name = "answer";
    out.schema = schema.to_json();
  } else if (type == "json_object") {
    out.kind = Kind::json_object;
  } else if (type == "json_schema") {
    const json::Value wanted = format["json_schema"];
    if (!wanted["schema"].is_object()) {
      return invalid_member("response_format.json_schema.schema", "must be a JSON Schema",
                            wanted["schema"]);
    }
    out.kind = Kind::json_schema;
    out.name = wanted["name"].filled_string().value_or("answer");
    out.description = wanted["description"].string();
    out.schema = wanted["schema"].to_json();
    MILLRACE_TRY(read_flag(wanted["strict"], "response_format.json_schema.strict", out.strict));
    out.schema_extra = further_members(wanted, {"type", "name", "description", "schema", "strict"});
  } else {
    return invalid_member("response_format.type",
                          "must be \"text\", \"json_object\" or \"json_schema\"", format["type"]);
  }
  return {};
}

// `text.format` is what Responses calls `response_format`; its members are not nested.
Result<void> read_text_format(const json::Value& format, ResponseFormat& out) {
  if (format.is_nothing()) return {};
  if (out.kind != ResponseFormat::Kind::unset) {
    return invalid_member("text.format", "contradicts `response_format`: give one of them");
  }
  const std::string_view type = format["type"].string();
  if (type != "json_schema") return read_response_format(format, out);
  message::JsonBuilder nested;
  nested.open_object();
  nested.text("type", type);
  nested.value("json_schema", format);
  nested.close_object();
  json::Document document(message::depth_limit);
  const std::string text = nested.take();
  auto parsed = document.parse(text);
  if (!parsed) return std::move(parsed).error();
  return read_response_format(parsed.value(), out);
}

// Ollama's name of `response_format`: a schema, or the word for any JSON.
void read_ollama_format(const json::Value& format, ResponseFormat& out) {
  if (out.kind != ResponseFormat::Kind::unset) return;
  if (format.is_object()) {
    out.kind = ResponseFormat::Kind::json_schema;
    out.name = "answer";
    out.schema = format.to_json();
  } else if (format.string() == any_json_format) {
    out.kind = ResponseFormat::Kind::json_object;
  }
}

}  // namespace

Result<void> read_answer_format(const json::Value& root, ResponseFormat& out) {
  MILLRACE_TRY(read_response_format(root["response_format"], out));
  MILLRACE_TRY(read_text_format(root["text"]["format"], out));
  read_ollama_format(root["format"], out);
  return {};
}

}  // namespace millrace::model
