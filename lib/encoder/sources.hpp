// The sources of an answer in LobeHub's shape, from the citations that providers give each in its
// own. The only reader of those shapes: JavaScript asks it as well.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/json.hpp"

namespace millrace::encoder {

// Thread: any, one at a time.
class Sources {
 public:
  // Reads one source, a list of them, or what a provider knows about a search. A source without an
  // address and one that is known add nothing.
  void add(const json::Value& citation);

  // True when something was added since the last write.
  [[nodiscard]] bool has_more() const { return has_more_; }

  // Appends all of them.
  // Shape: {"citations": [{"title", "url", "favicon"?}], "searchQueries"?: [string]}.
  void write(std::string& out);

 private:
  struct Source {
    std::string url;
    std::string title;
    std::string favicon;  // an address, or the name of a host
  };

  void add_chunk(const json::Value& chunk);
  void cite(const json::Value& source, std::string_view host = {});

  std::vector<Source> sources_;
  std::vector<std::string> queries_;
  // Addresses and queries that are known: an answer may have ever new ones.
  std::unordered_set<std::string> addresses_;
  std::unordered_set<std::string> known_queries_;
  bool has_more_ = false;
};

}  // namespace millrace::encoder
