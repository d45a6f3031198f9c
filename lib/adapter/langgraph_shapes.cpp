// The messages of a LangGraph server's stream, in LangChain's JSON.
// Source: @langchain/core, `StoredMessage` and `AIMessageChunk`; langgraph-api 0.7 (2026).
#include <algorithm>
#include <array>

#include "adapter/langgraph_message.hpp"
#include "adapter/record_shape.hpp"
#include "message/langgraph_content.hpp"

namespace millrace::adapter::shapes {
namespace {

// Blocks of the content, and further members of messages and whole calls, are kept as they are.
constexpr std::array graph_block_fields{text("type"), text("text"), text("refusal"),
                                        text("thinking"), text("signature")};
constexpr Shape graph_block{"content", graph_block_fields, Unknown::passed_on};
constexpr std::array graph_call_fields{text("name"), Field{"args", object_type | text_type},
                                       text("id"), text("type")};
constexpr Shape graph_call{"tool_calls", graph_call_fields, Unknown::passed_on};
constexpr std::array graph_chunk_fields{text("name"), Field{"args", text_type | object_type},
                                        text("id"), Field{"index", number_type | text_type},
                                        text("type")};
constexpr Shape graph_chunk{"tool_call_chunks", graph_chunk_fields};

constexpr std::array graph_message_fields{text_or_list("content", graph_block),
                                          map("additional_kwargs"),
                                          map("response_metadata"),
                                          text("type"),
                                          text("name"),
                                          text("id"),
                                          list("tool_calls", graph_call),
                                          list("invalid_tool_calls"),
                                          map("usage_metadata"),
                                          list("tool_call_chunks", graph_chunk),
                                          text("tool_call_id"),
                                          text("status")};
constexpr Shape graph_message{"message", graph_message_fields, Unknown::passed_on};

// What a server says of the run that a message is of; the reader has the run.
constexpr std::array graph_metadata_fields{raw("created_by"),
                                           raw("graph_id"),
                                           raw("assistant_id"),
                                           raw("run_id"),
                                           raw("thread_id"),
                                           raw("user_id"),
                                           raw("run_attempt"),
                                           raw("langgraph_version"),
                                           raw("langgraph_api_version"),
                                           raw("langgraph_plan"),
                                           raw("langgraph_host"),
                                           raw("langgraph_api_url"),
                                           raw("langgraph_auth_user"),
                                           raw("langgraph_auth_user_id"),
                                           raw("langgraph_auth_permissions"),
                                           raw("langgraph_request_id"),
                                           number("langgraph_step"),
                                           text("langgraph_node"),
                                           list("langgraph_triggers"),
                                           raw("langgraph_path"),
                                           text("langgraph_checkpoint_ns"),
                                           raw("checkpoint_ns"),
                                           raw("checkpoint_id"),
                                           raw("ls_provider"),
                                           raw("ls_model_name"),
                                           raw("ls_model_type"),
                                           raw("ls_temperature"),
                                           raw("ls_max_tokens"),
                                           raw("ls_stop"),
                                           raw("ls_integration"),
                                           raw("lc_source"),
                                           texts("tags")};
constexpr Shape graph_metadata{"metadata", graph_metadata_fields};

// As LangChain serialises a message, with its class in the last element of `id`.
constexpr std::array graph_stored_fields{raw("lc"), text("type"), list("id"),
                                         object("kwargs", graph_message)};
constexpr Shape graph_stored{"constructor", graph_stored_fields};
// The same of `toDict()`.
constexpr std::array graph_dict_fields{text("type"), object("data", graph_message)};
constexpr Shape graph_dict{"message", graph_dict_fields};

// What a run begins with is facts of the answer.
constexpr std::array graph_run_fields{text("run_id")};
constexpr Shape graph_run{"metadata", graph_run_fields, Unknown::passed_on};
constexpr std::array graph_end_fields{text("status"), raw("error"), raw("message")};
constexpr Shape graph_end{"end", graph_end_fields};

constexpr std::array<std::string_view, 3> graph_lists{"messages", "messages/partial",
                                                      "messages/complete"};

void check_message(const Report& report, const json::Value& message) {
  const json::Value kind = message["type"];
  if (kind.is_string()) report.checked.add_text(kind);
  const std::string_view type = kind.string();
  if (type == "constructor") return check_record(report, graph_stored, message);
  // Those of people are not shown.
  const bool is_hidden = !type.empty() && author_of(type) == Author::other;
  const bool is_stored = message::is_langgraph_dict(message);
  if (!is_hidden) check_record(report, is_stored ? graph_dict : graph_message, message);
}

}  // namespace

void check_langgraph(const Report& report, std::string_view name, const json::Value& record) {
  const std::string_view base = name.substr(0, name.find('|'));
  const bool is_end = base == "end";
  if (is_end || base == "metadata") {
    if (!record.is_nothing()) check_record(report, is_end ? graph_end : graph_run, record);
    return;
  }
  if (std::find(graph_lists.begin(), graph_lists.end(), base) == graph_lists.end()) return;
  const json::Value kind = record["type"];
  if (kind.is_string()) report.checked.add_text(kind);
  const bool is_part = record["ns"].is_array() && kind.string() == base;
  const json::Value data = is_part ? record["data"] : record;
  if (!data.is_array()) return check_message(report, data);
  // A list of messages, or a message and its metadata.
  const bool has_metadata = base == graph_lists.front();
  std::size_t position = 0;
  for (const json::Value item : data.items()) {
    const bool is_metadata = has_metadata && position++ > 0;
    is_metadata ? check_record(report, graph_metadata, item) : check_message(report, item);
  }
}

}  // namespace millrace::adapter::shapes
