// The commands of the black-box fixture of this API.
#pragma once

#include <string_view>
#include <utility>

#include "chat/command_registry.hpp"
#include "chat/job_rig.hpp"

namespace millrace::chat {

inline constexpr std::string_view command_declarations = R"json([
  {"name":"faq","description":"FAQ desk","usage":"/faq [ls|view|search|del]","example":"/faq ls",
   "permission":"public","allow_in_private":true,"aliases":["f"],"order":10,
   "rate_limit":{"user":0,"admin":0,"superadmin":0},
   "subcommands":{"ls":{"description":"list"},"view":{"description":"show one","args":"<ID>"},
     "search":{"description":"find","args":"<word>"},
     "del":{"description":"remove","permission":"admin","args":"<ID>"}},
   "inference":{"default":"ls","rules":[{"pattern":"^\\d{8}-\\d{3}$","subcommand":"view"}],
     "fallback":"search"},"help_footer":["See also /ping."]},
  {"name":"Ping","description":"answers pong","allow_in_private":true,"aliases":["pp"],"order":20,
   "rate_limit":"none"},
  {"name":"bugfix","description":"group only report","permission":"admin","order":40,
   "subcommands":{"run":{"description":"run it"}}},
  {"name":"root","permission":"superadmin","order":50},
  {"name":"open","permission":"admin","allow_in_private":true,"order":55,
   "subcommands":{"all":{"permission":"public"},"few":{}}},
  {"name":"ghost","allow_in_private":true,"show_in_help":false,"order":60}])json";

inline void add_commands(CommandRegistry& registry) {
  const json::Tree list = parsed(command_declarations);
  for (const json::Tree& declaration : list.items()) {
    registry.add(std::move(read_command(declaration)).value());
  }
}

}  // namespace millrace::chat
