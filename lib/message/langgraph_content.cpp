#include "message/langgraph_content.hpp"

#include <cstddef>

namespace millrace::message {

bool is_empty_langgraph_content(const json::Value& content) {
  if (!content.is_array()) return content.size() == 0 && content.string().empty();
  for (const json::Value block : content.items()) {
    // A block with further members, such as a signature, says something.
    const std::size_t plain_members = block["index"].is_nothing() ? 2 : 3;
    const bool is_text = block["type"].string() == "text" && block.size() <= plain_members;
    if (!is_text || !block["text"].string().empty()) return false;
  }
  return true;
}

json::Value langgraph_content_of(const json::Value& body) {
  const json::Value content = body["content"];
  const json::Value blocks = body["content_blocks"];
  const bool has_blocks = blocks.is_array() && blocks.size() > 0;
  if (!has_blocks && is_langgraph_text(body)) return body["text"];
  return has_blocks && is_empty_langgraph_content(content) ? blocks : content;
}

bool is_langgraph_text(const json::Value& body) {
  return body["text"].is_string() && body["content"].is_nothing();
}

bool is_langgraph_dict(const json::Value& value) {
  return value["data"].is_object() && value["content"].is_nothing();
}

}  // namespace millrace::message
