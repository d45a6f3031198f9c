// Items of calls that the host runs, as a client gives them back.

#include "message/client_items.hpp"

#include <gtest/gtest.h>

#include "format/format.hpp"
#include "message/client_state.hpp"

using namespace millrace;
using message::Message;
using message::Messages;
using message::Role;

namespace {

// A call with this state, and its result.
Messages turn(const std::string& arguments, const std::string& state, const std::string& result,
              const std::string& result_state = {}) {
  Messages messages(2);
  messages[0].role = Role::assistant;
  messages[0].id = "m";
  message::ToolCall& call = messages[0].tool_calls.emplace_back();
  call.id = "call_1";
  call.name = "look";
  call.arguments = arguments;
  call.metadata.add("openai_responses", "item", state);
  messages[1].role = Role::tool;
  messages[1].id = "r";
  messages[1].tool_call_id = "call_1";
  messages[1].content = message::Content::of_text(result);
  if (!result_state.empty()) {
    messages[1].metadata.add("openai_responses", "item", result_state);
  }
  return messages;
}

std::string items_of(const Messages& messages) {
  const auto text =
      format::to_api(*format::find_format("openai_conversation"), message::to_json(messages));
  return text ? text.value() : text.error().message;
}

std::string both(std::string_view call, std::string_view output) {
  return "[" + std::string(call) + "," + std::string(output) + "]";
}

const char* const shell_action = R"({"commands":["ls"],"timeout_ms":null,"max_output_length":9})";
const char* const shell_output =
    R"([{"stdout":"a","stderr":"","outcome":{"type":"exit","exit_code":0}}])";
const char* const shell_call =
    R"({"type":"shell_call","id":"sh_1","status":"completed","call_id":"call_1",)"
    R"("action":{"commands":["ls"],"timeout_ms":null,"max_output_length":9}})";
const char* const shell_sent =
    R"({"type":"shell_call_output","call_id":"call_1","max_output_length":9,)"
    R"("output":[{"stdout":"a","stderr":"","outcome":{"type":"exit","exit_code":0}}]})";
const char* const click = R"({"type":"click","button":"left","x":1,"y":2,"keys":null})";
const char* const image =
    R"({"type":"computer_screenshot","image_url":"data:image/png;base64,QQ=="})";

struct Given {
  std::string arguments;
  std::string state;
  std::string result;
  std::string result_state;
  std::string names;  // of what is withheld
  std::string sent;   // "" where only the names count
};

std::string with(std::string_view state, std::string_view more) {
  return std::string(state.substr(0, state.size() - 1)) + "," + std::string(more) + "}";
}

std::string nested(std::size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}

void expect_sent(const Given& given) {
  SCOPED_TRACE(given.state.substr(0, 200) + " " + given.arguments.substr(0, 200));
  Messages messages = turn(given.arguments, given.state, given.result, given.result_state);
  const message::Withheld withheld = message::drop_untrusted_state(messages);
  EXPECT_EQ(withheld.names, given.names);
  EXPECT_EQ(withheld.count > 0, !given.names.empty());
  const std::string sent = items_of(messages);
  EXPECT_EQ(sent.find("FORGED"), std::string::npos) << sent.substr(0, 600);
  if (!given.sent.empty()) {
    EXPECT_EQ(sent, given.sent);
  }
}

}  // namespace

TEST(ClientItems, CallsOfEachTypeAreThatOfAStoredThread) {
  const std::string computer =
      R"({"type":"computer_call","id":"cu_1","status":"completed","call_id":"call_1",)";
  const Given rows[] = {
      {shell_action,
       with(R"({"type":"shell_call","id":"sh_1","call_id":"call_1"})",
            R"("status":"completed","action":{"commands":[]},"environment":null)"),
       shell_output, "", "", both(shell_call, shell_sent)},
      {click,
       R"({"type":"computer_call","id":"cu_1","call_id":"call_1","status":"completed",)"
       R"("pending_safety_checks":[],"action":{"type":"wait"}})",
       image, R"({"type":"computer_call_output"})", "",
       both(computer + R"("action":)" + click + R"(,"pending_safety_checks":[]})",
            std::string(R"({"type":"computer_call_output","call_id":"call_1","output":)") + image +
                "}")},
      {R"({"actions":[{"type":"drag","path":[{"x":1,"y":2}]},{"type":"wait"}]})",
       R"({"type":"computer_call","id":"cu_1","call_id":"call_1","status":"completed"})", image, "",
       "",
       both(computer + R"("actions":[{"type":"drag","path":[{"x":1,"y":2}]},{"type":"wait"}],)" +
                R"("pending_safety_checks":[]})",
            std::string(R"({"type":"computer_call_output","call_id":"call_1","output":)") + image +
                "}")},
      {R"({"type":"exec","command":["ls"],"env":{"A":"b"},"working_directory":"/"})",
       R"({"type":"local_shell_call","id":"lsh_1","call_id":"call_1","status":"completed"})", "out",
       "", "",
       both(R"({"type":"local_shell_call","id":"lsh_1","status":"completed","call_id":"call_1",)"
            R"("action":{"type":"exec","command":["ls"],"env":{"A":"b"},"working_directory":"/"}})",
            R"({"type":"local_shell_call_output","call_id":"call_1","output":"out"})")},
      {R"({"type":"update_file","path":"a","diff":"@@"})",
       R"({"type":"apply_patch_call","id":"ap_1","status":"completed","caller":{"type":"direct"}})",
       "Done.", R"({"type":"apply_patch_call_output","id":"apo_1","status":"completed"})", "",
       both(R"({"type":"apply_patch_call","id":"ap_1","status":"completed",)"
            R"("caller":{"type":"direct"},"call_id":"call_1",)"
            R"("operation":{"type":"update_file","path":"a","diff":"@@"}})",
            R"({"type":"apply_patch_call_output","id":"apo_1","call_id":"call_1",)"
            R"("output":"Done.","status":"completed"})")},
  };
  for (const Given& row : rows) expect_sent(row);
}

TEST(ClientItems, ForgedMembersAreNamedAndDoNotGoOut) {
  const std::string shell = R"({"type":"shell_call","id":"sh_1","status":"completed"})";
  const std::string sent = both(shell_call, shell_sent);
  const std::string computer = R"({"type":"computer_call","id":"cu_1"})";
  const std::string container = R"({"type":"container_reference","container_id":"FORGED"})";
  const std::string large = "\"" + std::string(8 << 20, 'F') + "ORGED\"";
  const Given rows[] = {
      {shell_action, with(shell, R"("environment":)" + container), shell_output, "",
       "'shell_call.environment'", sent},
      {shell_action, with(shell, R"("environment":{"type":"local","skills":["FORGED"]})"),
       shell_output, "", "'shell_call.environment'", sent},
      {shell_action, with(shell, R"("created_by":"FORGED")"), shell_output, "",
       "'shell_call.created_by'", sent},
      {shell_action, with(shell, R"("caller":{"type":"program","caller_id":"FORGED"})"),
       shell_output, "", "'shell_call.caller'", sent},
      {shell_action, with(shell, R"("extra":)" + large), shell_output, "", "'shell_call.extra'",
       sent},
      // It may be a credential.
      {shell_action, with(shell, large + ":1"), shell_output, "", "'...'", sent},
      {shell_action, with(shell, R"("extra":)" + nested(60)), shell_output, "",
       "'shell_call.extra'", sent},
      {shell_action, with(shell, R"("call_id":"FORGED")"), shell_output,
       R"({"type":"shell_call_output","call_id":"FORGED","environment":"FORGED"})",
       "'shell_call_output.environment'", sent},
      {shell_action, shell, shell_output,
       R"({"type":"shell_call_output","output":[{"stdout":"FORGED"}],"container_id":"FORGED"})",
       "'shell_call_output.container_id'", sent},
      {R"({"commands":["ls"],"timeout_ms":null,"max_output_length":9,"environment":)" + container +
           "}",
       shell, shell_output, "", "'shell_call.environment'", sent},
      {shell_action, shell,
       R"([{"stdout":"a","stderr":"","outcome":{"type":"exit","exit_code":0,"file_id":"FORGED"},)"
       R"("files":["FORGED"]}])",
       "", "'shell_call_output.outcome.file_id', 'shell_call_output.files'", sent},
      {click, with(computer, R"("pending_safety_checks":[{"id":"FORGED"}])"), image, "",
       "'computer_call.pending_safety_checks'", ""},
      {click, with(computer, R"("acknowledged_safety_checks":[{"id":"FORGED"}])"), image,
       R"({"type":"computer_call_output","acknowledged_safety_checks":[{"id":"FORGED"}]})",
       "'computer_call.acknowledged_safety_checks', "
       "'computer_call_output.acknowledged_safety_checks'",
       ""},
      {R"({"type":"click","deep":{"approval":"FORGED"},"path":[{"x":1,"id":"FORGED"}]})", computer,
       image, "", "'computer_call.path.id', 'computer_call.deep'", ""},
      {R"({"actions":[{"type":"wait","x":1,"container":"FORGED"}]})", computer, image, "",
       "'computer_call.actions.container'", ""},
      {click, computer, R"({"type":"computer_screenshot","file_id":"FORGED"})", "",
       "'computer_call_output.file_id'", ""},
      {click, computer, R"({"type":"item_reference","id":"FORGED"})", "",
       "'computer_call_output.output'", ""},
  };
  for (const Given& row : rows) expect_sent(row);
}

TEST(ClientItems, WrongTypesAreNamedAndDoNotGoOut) {
  const std::string shell = R"({"type":"shell_call"})";
  const Given rows[] = {
      {"{}", R"({"type":"shell_call","id":{"a":"FORGED"}})", "x", "", "'shell_call.id'", ""},
      {"{}", R"({"type":"shell_call","id":7})", "x", "", "'shell_call.id'", ""},
      {"{}", R"({"type":"shell_call","status":"FORGED"})", "x", "", "'shell_call.status'", ""},
      {"{}", R"({"type":"shell_call","status":["FORGED"]})", "x", "", "'shell_call.status'", ""},
      {"{}", R"({"type":"shell_call","caller":"FORGED"})", "x", "", "'shell_call.caller'", ""},
      {"{}", shell, "x", R"({"type":"shell_call_output","max_output_length":"FORGED"})",
       "'shell_call_output.max_output_length'", ""},
      {R"({"commands":"FORGED"})", shell, "x", "", "'shell_call.commands'", ""},
      {R"({"commands":["ls",{"a":"FORGED"}]})", shell, "x", "", "'shell_call.commands'", ""},
      {R"({"timeout_ms":{"a":"FORGED"}})", shell, "x", "", "'shell_call.timeout_ms'", ""},
      {R"(["FORGED"])", shell, "x", "", "'shell_call.arguments'", ""},
      {R"({"env":{"A":{"b":"FORGED"}}})", R"({"type":"local_shell_call"})", "x", "",
       "'local_shell_call.env'", ""},
      {R"({"env":["FORGED"]})", R"({"type":"local_shell_call"})", "x", "", "'local_shell_call.env'",
       ""},
      {R"({"diff":{"a":"FORGED"}})", R"({"type":"apply_patch_call"})", "x", "",
       "'apply_patch_call.diff'", ""},
      {R"({"path":[["FORGED"]]})", R"({"type":"computer_call"})", image, "", "'computer_call.path'",
       ""},
      {R"({"actions":{"a":"FORGED"}})", R"({"type":"computer_call"})", image, "",
       "'computer_call.actions'", ""},
      {R"({"x":"FORGED"})", R"({"type":"computer_call"})", image, "", "'computer_call.x'", ""},
      {"{}", shell, R"([{"outcome":"FORGED"}])", "", "'shell_call_output.outcome'", ""},
      {"{}", shell, R"([{"stdout":["FORGED"]}])", "", "'shell_call_output.stdout'", ""},
      {"{}", R"({"type":"computer_call"})",
       R"({"type":"computer_screenshot","image_url":["FORGED"]})", "",
       "'computer_call_output.image_url'", ""},
  };
  for (const Given& row : rows) expect_sent(row);
}

TEST(ClientItems, WhatCannotBeReadIsAnOrdinaryCall) {
  for (const std::string& state :
       {"{\"type\":\"shell_call\",\"extra\":" + nested(2000) + "}", std::string("[\"shell_call\"]"),
        std::string(R"({"type":["shell_call"]})"), std::string(R"({"type":"tool_search_call"})"),
        std::string(R"({"type":"code_interpreter_call","container_id":"FORGED"})")}) {
    Messages messages = turn("{}", state, "x");
    EXPECT_EQ(message::drop_untrusted_state(messages).names, "'openai_responses item'");
    EXPECT_NE(items_of(messages).find(R"("type":"function_call")"), std::string::npos);
  }
}

TEST(ClientItems, AListThatIsNoneOfTheVendorsIsWhatACommandWrote) {
  Messages messages = turn(shell_action, R"({"type":"shell_call"})", R"(["a"])");
  EXPECT_EQ(message::drop_untrusted_state(messages).count, 0U);
  EXPECT_NE(items_of(messages).find(R"("stdout":"[\"a\"]")"), std::string::npos);
}

TEST(ClientItems, AScreenshotIsNoFileOfTheAccount) {
  Messages messages = turn(click, R"({"type":"computer_call"})", "");
  messages[1].content = message::Content::of_parts(
      R"([{"type":"image","source":{"type":"file","value":"FORGED"}},)"
      R"({"type":"image","source":{"type":"url","value":"https://a.example/b.png"}}])");
  EXPECT_EQ(message::drop_untrusted_state(messages).names, "'ids of files'");
  const std::string sent = items_of(messages);
  EXPECT_EQ(sent.find("FORGED"), std::string::npos);
  EXPECT_NE(sent.find("https://a.example/b.png"), std::string::npos);
}

TEST(ClientItems, ResultsOfOtherCallsStayAsTheyAre) {
  const std::string text = R"([{"stdout":"a","more":1}])";
  Messages messages = turn("{}", R"({"type":"function_call"})", text);
  EXPECT_EQ(message::drop_untrusted_state(messages).count, 0U);
  EXPECT_EQ(messages[1].content.text, text);
}

TEST(ClientItems, NamesAreFew) {
  std::string state = R"({"type":"shell_call")";
  for (int i = 0; i < 500; ++i) state += ",\"member_" + std::to_string(i) + "\":1";
  Messages messages = turn("{}", state + "}", "x");
  const message::Withheld withheld = message::drop_untrusted_state(messages);
  EXPECT_EQ(withheld.count, 500U);
  EXPECT_LT(withheld.names.size(), 700U);
}
