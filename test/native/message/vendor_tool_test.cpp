#include "message/vendor_tool.hpp"

#include <gtest/gtest.h>

namespace millrace::message {
namespace {

using json::Tree;

Tree tree(std::string_view text) {
  return Tree::parse(text).value();
}

TEST(VendorTool, IsFoundByItsTypeOrItsFamily) {
  const auto vendor_of = [](std::string_view type) {
    const VendorTool* row = find_vendor_tool(type);
    return row == nullptr ? std::string_view("none") : name_of(row->vendor);
  };
  for (const char* type : {"computer_use_preview", "computer", "shell", "local_shell"}) {
    EXPECT_EQ(vendor_of(type), "OpenAI") << type;
  }
  for (const char* type : {"bash_20250124", "computer_20991231", "text_editor_20250728"}) {
    EXPECT_EQ(vendor_of(type), "Anthropic") << type;
  }
  for (const char* type : {"", "bash", "bash_", "bash_tool", "computer_use", "shell_20250124",
                           "web_search_20250305", "memory_x1"}) {
    EXPECT_EQ(vendor_of(type), "none") << type;
  }
}

TEST(VendorTool, IsCalledByTheNameOfItsVendor) {
  EXPECT_EQ(call_name_of(tree(R"({"type":"computer_use_preview","name":"x"})")), "computer");
  EXPECT_EQ(call_name_of(tree(R"({"type":"memory_20250818","name":"notes"})")), "notes");
  EXPECT_EQ(call_name_of(tree(R"({"type":"function","name":"f"})")), "");
}

TEST(VendorTool, NamesTheKnownTypesWhereItIsNone) {
  const char* wrong[][2] = {{R"("bash")", "must be the vendor's tool object"},
                            {R"({"type":"bsh"})", "bash_<date>"},
                            {R"({})", "not missing"},
                            {R"({"type":"bash_20250124"})", "`vendor.name` is missing"}};
  for (const auto& [given, words] : wrong) {
    const auto name = vendor_tool_name(tree(given));
    ASSERT_FALSE(name.ok()) << given;
    EXPECT_EQ(name.error().code, Errc::invalid_option);
    EXPECT_NE(name.error().message.find(words), std::string::npos) << name.error().message;
  }
}

}  // namespace
}  // namespace millrace::message
