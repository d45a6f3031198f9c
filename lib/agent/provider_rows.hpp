// The rows of a conversation as a provider takes them: every call has one result behind it, names
// can be sent, the user speaks first.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/json_tree.hpp"

namespace millrace::agent {

// Gives every call one result right behind its row, if there is none behind it one that came before
// any call of its id; drops results of no call, gives calls that share an id fresh ones. A valid
// list is not changed.
json::Tree repair_messages(const json::Tree& messages, IdSource& ids);

// Results by the ids of their calls, which are still to come.
using EarlyResults = std::map<std::string, json::Tree, std::less<>>;

// The rows as a provider takes them: repaired, begun by the user, calls with names that can be
// sent, summaries of earlier rows told by the user, and rows that hold others, as LobeHub shows
// them, one by one. LobeHub's placeholder of an answer that is still to come is left out.
json::Tree provider_messages(const json::Tree& messages, IdSource& ids);

// The same for a conversation that grows: rows that are the same as the last time are not converted
// again. A row that was changed, taken out or put in before the end makes it begin anew.
// Thread: any, one at a time.
class ProviderMessages {
 public:
  json::Tree take(const json::Tree& messages, IdSource& ids);

 private:
  void begin_anew();

  // Rows before a place that no call and no result reaches over: what follows changes nothing about
  // them.
  std::vector<json::Tree> settled_;
  std::size_t settled_rows_ = 0;  // what became of them, at the beginning of messages_
  bool begun_ = false;            // one of them is no prompt
  std::set<std::string> ids_;     // of their calls
  EarlyResults early_;            // among them
  json::Tree messages_ = json::Tree::array();
};

}  // namespace millrace::agent
