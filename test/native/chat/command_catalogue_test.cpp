#include "chat/command_catalogue.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "chat/command_rig.hpp"

namespace millrace::chat {
namespace {

using json::Tree;

CommandRegistry registry() {
  CommandRegistry made;
  add_commands(made);
  return made;
}

CatalogueSettings settings() {
  CatalogueSettings made;
  made.permission_of = [](std::int64_t id) {
    return id == 10002 ? Permission::admin : Permission::everyone;
  };
  return made;
}

Tree catalogue(const CatalogueQuery& query) {
  return command_catalogue(registry(), query, settings());
}

std::string names_of(const CatalogueQuery& query) {
  const Tree answer = catalogue(query);
  std::string names;
  for (const Tree& command : answer["commands"].items()) {
    names += std::string(command["name"].string()) + " ";
  }
  return names;
}

TEST(CommandCatalogue, IsThatOfThePrivateSuperadminAtFirst) {
  EXPECT_TRUE(has_all(catalogue({}), parsed(R"({"scope":"webui","execution_scope":"private",
    "sender_id":10001,"user_id":42,"group_id":0,"count":3,"total":3,"aliases":2,
    "subcommands":6})")));
  EXPECT_EQ(names_of({}), "faq ping open ");
  CatalogueQuery query;
  query.scope = "galaxy";
  query.sender_id = "5";
  EXPECT_TRUE(has_all(catalogue(query), parsed(R"({"scope":"webui","sender_id":10001})")));
}

TEST(CommandCatalogue, HasTheScopesOfItsQuery) {
  CatalogueQuery query;
  query.scope = "private";
  query.sender_id = "5";
  EXPECT_TRUE(has_all(catalogue(query), parsed(R"({"scope":"private","sender_id":5,"user_id":5,
    "group_id":0})")));
  query.user_id = "6";
  EXPECT_EQ(catalogue(query)["user_id"].integer_or(0), 6);
  query.sender_id = "junk";
  EXPECT_EQ(catalogue(query)["sender_id"].integer_or(0), 10001);
  query.scope = "group";
  query.group_id = "9";
  query.sender_id = "10002";
  EXPECT_TRUE(has_all(catalogue(query), parsed(R"({"scope":"group","execution_scope":"group",
    "sender_id":10002,"user_id":null,"group_id":9})")));
  EXPECT_EQ(names_of(query), "faq ping bugfix open ");
}

TEST(CommandCatalogue, GivesReasons) {
  CatalogueQuery query;
  query.include_unavailable = "true";
  query.scope = "private";
  query.sender_id = "5";
  const Tree commands = catalogue(query)["commands"];
  std::string reasons;
  for (const Tree& command : commands.items()) {
    reasons += std::string(command["name"].string()) + ":" +
               std::string(command["unavailable_reason"].string()) + " ";
  }
  EXPECT_EQ(reasons,
            "faq: ping: bugfix:private_not_allowed root:private_not_allowed open:requires_admin ");
  query.scope = "group";
  query.sender_id = "10002";
  EXPECT_TRUE(has_all((*command_detail(registry(), "root", query, settings()))["command"],
                      parsed(R"({"available":false,"unavailable_reason":"requires_superadmin"})")));
}

TEST(CommandCatalogue, DropsSubcommandsThatCannotBeUsed) {
  CatalogueQuery query;
  query.scope = "private";
  query.sender_id = "5";
  const auto open = command_detail(registry(), "open", query, settings());
  ASSERT_TRUE(open);
  EXPECT_TRUE(has_all((*open)["command"], parsed(R"({"available":false,
    "unavailable_reason":"requires_admin","subcommands":[{"name":"all","available":true}]})")));
}

TEST(CommandCatalogue, WritesWholeItems) {
  const auto found = command_detail(registry(), "F", {}, settings());
  ASSERT_TRUE(found);
  EXPECT_EQ((*found)["requested_name"].string(), "f");
  EXPECT_EQ((*found)["count"].integer_or(0), 1);
  Tree item = (*found)["command"];
  std::string names;
  for (const Tree& one : item["subcommands"].items()) names += one["name"].string();
  EXPECT_EQ(names, "dellssearchview");
  EXPECT_EQ(item["subcommands"].items()[3].to_json(),
            R"({"name":"view","trigger":"/faq view","description":"show one","args":"<ID>",)"
            R"("usage":"/faq view <ID>","permission":"public","allow_in_private":true,)"
            R"("available":true,"unavailable_reason":null})");
  item.erase("subcommands");
  EXPECT_EQ(item.to_json(),
            R"({"name":"faq","trigger":"/faq","description":"FAQ desk",)"
            R"("usage":"/faq [ls|view|search|del]","example":"/faq ls","permission":"public",)"
            R"("allow_in_private":true,"show_in_help":true,"order":10,"aliases":["f"],)"
            R"("alias_triggers":["/f"],"inference":{"default":"ls","fallback":"search",)"
            R"("rules":[{"pattern":"^\\d{8}-\\d{3}$","subcommand":"view"}]},"available":true,)"
            R"("unavailable_reason":null})");
}

TEST(CommandCatalogue, FindsTexts) {
  CatalogueQuery query;
  for (const auto& [text, names] :
       std::initializer_list<std::pair<std::string_view, std::string>>{{"REMOVE", "faq "},
                                                                       {"pong", "ping "},
                                                                       {"pp", "ping "},
                                                                       {"<word>", "faq "},
                                                                       {"zzz", ""}}) {
    query.text = text;
    EXPECT_EQ(names_of(query), names) << text;
  }
  EXPECT_TRUE(has_all(catalogue(query), parsed(R"({"count":0,"total":0,"commands":[],"aliases":0,
    "subcommands":0})")));
}

TEST(CommandCatalogue, ShowsHiddenAndUnknownOnesOnlyOnRequest) {
  EXPECT_FALSE(command_detail(registry(), "ghost", {}, settings()));
  EXPECT_FALSE(command_detail(registry(), "bugfix", {}, settings()));
  EXPECT_FALSE(command_detail(registry(), "nope", {}, settings()));
  CatalogueQuery query;
  query.include_hidden = "1";
  EXPECT_TRUE(command_detail(registry(), "ghost", query, settings()));
  CatalogueSettings hidden = settings();
  hidden.policy = [](const Command& command, const CommandSender&) {
    return command.name != "ping";
  };
  query.include_unavailable = "yes";
  EXPECT_TRUE(has_all((*command_detail(registry(), "ping", query, hidden))["command"],
                      parsed(R"({"unavailable_reason":"policy_hidden"})")));
}

}  // namespace
}  // namespace millrace::chat
