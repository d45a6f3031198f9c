#include "tool/mcp/param_headers.hpp"

#include <gtest/gtest.h>

using namespace millrace;

namespace {

bool learns(mcp::ToolHeaders& headers, std::string_view schema) {
  json::Document document;
  return headers.learn(
      document.parse(R"({"name":"t","inputSchema":)" + std::string(schema) + "}").value());
}

std::string server_requested(const mcp::ToolHeaders& headers, std::string_view arguments) {
  json::Document document;
  std::string text;
  for (const mcp::ParamHeader& header :
       headers.headers_for("t", document.parse(arguments).value())) {
    text += header.name + ": " + header.value + "\n";
  }
  return text;
}

}  // namespace

TEST(McpParamHeaders, SpellsArguments) {
  mcp::ToolHeaders headers;
  ASSERT_TRUE(learns(headers, R"({"properties":{
    "region":{"type":"string","x-mcp-header":"Region"},
    "n":{"type":"integer","x-mcp-header":"N"},
    "b":{"type":"boolean","x-mcp-header":"B"},
    "deep":{"type":"object","properties":{"x":{"type":"string","x-mcp-header":"X"}}}}})"));
  EXPECT_EQ(server_requested(headers, R"({"region":"eu","n":7,"b":false,"deep":{"x":" a"}})"),
            "Mcp-Param-Region: eu\nMcp-Param-N: 7\nMcp-Param-B: false\n"
            "Mcp-Param-X: =?base64?IGE=?=\n");
  EXPECT_EQ(server_requested(headers, R"({"region":null})"), "");
  EXPECT_EQ(server_requested(headers, R"({"region":"Z\u00fcrich"})"),
            "Mcp-Param-Region: =?base64?WsO8cmljaA==?=\n");
  EXPECT_EQ(server_requested(headers, R"({"region":"a\r\nb"})"),
            "Mcp-Param-Region: =?base64?YQ0KYg==?=\n");
}

TEST(McpParamHeaders, RefusesToolsWithWrongDeclarations) {
  for (
      const char* schema :
      {R"({"properties":{"a":{"type":"string","x-mcp-header":""}}})",
       R"({"properties":{"a":{"type":"string","x-mcp-header":"a b"}}})",
       R"({"properties":{"a":{"type":"string","x-mcp-header":7}}})",
       R"({"properties":{"a":{"type":"number","x-mcp-header":"A"}}})",
       R"({"properties":{"a":{"type":"object","x-mcp-header":"A"}}})",
       R"({"type":"string","x-mcp-header":"A"})",
       R"({"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}})",
       R"({"properties":{"a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}}})",
       R"({"$defs":{"a":{"type":"string","x-mcp-header":"A"}}})",
       R"({"anyOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]})"}) {
    mcp::ToolHeaders headers;
    EXPECT_FALSE(learns(headers, schema)) << schema;
  }
}
