#include "chat/command_dispatch.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "chat/command_rig.hpp"

namespace millrace::chat {
namespace {

using Kind = CommandDecision::Kind;

CommandSender sender(Permission permission, CommandScope scope = CommandScope::private_chat) {
  return {"7", permission, scope};
}

const CommandSender superadmin = sender(Permission::superadmin);

CommandDispatcher dispatcher(CommandTexts texts = {}) {
  CommandDispatcher made(std::move(texts));
  add_commands(made.registry);
  return made;
}

// "command: arguments", or the answer.
std::string decided(std::string_view text, const CommandSender& from = superadmin) {
  CommandDispatcher made = dispatcher();
  const CommandDecision decision = made.decide(text, from, 0);
  if (decision.kind == Kind::message) return "message";
  if (decision.kind == Kind::answer) return decision.text;
  std::string out = decision.command->name + ":";
  for (const std::string& word : decision.arguments) out += " " + word;
  return out;
}

TEST(CommandDispatch, RunsCommands) {
  EXPECT_EQ(decided("/ping a b"), "ping: a b");
  EXPECT_EQ(decided("/pp  one"), "ping: one");
  EXPECT_EQ(decided("hello /ping"), "message");
  EXPECT_EQ(decided("/etc/passwd"), "message");
}

TEST(CommandDispatch, ResolvesSubcommands) {
  EXPECT_EQ(decided("/faq"), "faq: ls");
  EXPECT_EQ(decided("/faq del 7"), "faq: del 7");
  EXPECT_EQ(decided("/faq 20241205-001"), "faq: view 20241205-001");
  EXPECT_EQ(decided("/faq x20241205-001"), "faq: search x20241205-001");
  EXPECT_EQ(decided("/faq login page"), "faq: search login page");
  EXPECT_EQ(decided("/f LS"), "faq: LS");
  CommandDispatcher made = dispatcher();
  EXPECT_EQ(made.decide("/f LS", superadmin, 0).subcommand, "ls");
  EXPECT_EQ(made.decide("/ping ls", superadmin, 0).subcommand, "");
}

TEST(CommandDispatch, AnswersWhatItDoesNotRun) {
  const CommandSender user = sender(Permission::everyone);
  EXPECT_EQ(decided("/Nope x"), "Unknown command: nope. Use /help for the list of commands.");
  EXPECT_EQ(decided("/bugfix --help"), "The option --help is deprecated. Use /help bugfix.");
  EXPECT_EQ(decided("/bugfix run"), "The command bugfix run cannot be used in a private chat.");
  EXPECT_EQ(decided("/faq del 7", user), "The command faq del requires the permission admin.");
  EXPECT_EQ(decided("/root", sender(Permission::admin, CommandScope::group)),
            "The command root requires the permission superadmin.");
  EXPECT_EQ(decided("/bugfix run", sender(Permission::admin, CommandScope::group)), "bugfix: run");
  EXPECT_EQ(decided("/open all", user), "open: all");
  EXPECT_EQ(decided("/open few", user), "The command open few requires the permission admin.");
}

TEST(CommandDispatch, HidesCommandsByPolicy) {
  CommandDispatcher made = dispatcher();
  made.policy = [](const Command& command, const CommandSender&) { return command.name != "ping"; };
  EXPECT_EQ(made.decide("/ping", superadmin, 0).kind, Kind::answer);
  EXPECT_EQ(made.decide("/faq", superadmin, 0).kind, Kind::run);
  EXPECT_EQ(unavailable_reason(*made.registry.find("ping"), nullptr, superadmin, made.policy),
            "policy_hidden");
}

TEST(CommandDispatch, LimitsUsesOfEachSenderAndSubcommand) {
  CommandDispatcher made;
  made.registry.add(read_command(parsed(R"({"name":"a","allow_in_private":true,
    "rate_limit":{"user":10,"admin":5},"subcommands":{"x":{},"y":{}}})"))
                        .value());
  CommandSender user = sender(Permission::everyone);
  const auto kind = [&](std::string_view text, std::int64_t now) {
    return made.decide(text, user, now).kind;
  };
  EXPECT_EQ(kind("/a", 0), Kind::run);
  const CommandDecision second = made.decide("/a", user, 100);
  EXPECT_EQ(second.kind, Kind::answer);
  EXPECT_EQ(second.text,
            "The command a was used a moment ago. It can be used again in 10 seconds.");
  EXPECT_EQ(kind("/a x", 100), Kind::run);
  EXPECT_EQ(kind("/a y", 100), Kind::run);
  EXPECT_EQ(kind("/a x", 200), Kind::answer);
  EXPECT_EQ(kind("/a", 9'999), Kind::answer);
  EXPECT_EQ(kind("/a", 10'000), Kind::run);
  user.id = "8";
  EXPECT_EQ(kind("/a", 10'000), Kind::run);
  user.permission = Permission::superadmin;
  EXPECT_EQ(kind("/a", 10'000), Kind::run);
}

TEST(CommandDispatch, ForgetsUsesThatAreOver) {
  CommandUses uses;
  for (int at = 0; at < 100'000; ++at) {
    EXPECT_FALSE(uses.use("a", std::to_string(at), 10, at * 10));
  }
  EXPECT_LT(uses.size(), 3000U);
  EXPECT_FALSE(uses.use("b", "1", 100, 1'000'000));
  // The clock was set back.
  EXPECT_EQ(uses.use("b", "1", 100, 0), 100);
}

TEST(CommandDispatch, WritesHelpOfWhatASenderMayUse) {
  const CommandDispatcher made = dispatcher();
  EXPECT_EQ(made.help(*made.registry.find("faq"), sender(Permission::everyone)),
            "/faq - FAQ desk\nUsage: /faq [ls|view|search|del]\nExample: /faq ls\nAliases: /f\n"
            "Subcommands:\n  ls - list\n  view <ID> - show one\n  search <word> - find\n"
            "See also /ping.");
  EXPECT_EQ(made.help_list(superadmin),
            "Commands:\n  /faq [ls|view|search|del] - FAQ desk\n  /ping - answers pong\n  /open\n"
            "Use /help <command> for details.");
}

TEST(CommandDispatch, TakesOtherSentences) {
  CommandDispatcher made = dispatcher(CommandTexts::compatible());
  EXPECT_TRUE(made.decide("/x", superadmin, 0).text.starts_with("❌ 未知命令: x"));
  EXPECT_EQ(made.failure("0123abcd"), "❌ 命令执行失败，请稍后重试（错误码: 0123abcd）");
  CommandTexts texts;
  texts.set(CommandText::failed, "{code} {other} {code");
  EXPECT_EQ(texts.format(CommandText::failed, {{"code", "{code}"}}), "{code} {other} {code");
}

}  // namespace
}  // namespace millrace::chat
