#include "encoder/sources.hpp"

#include <utility>

namespace millrace::encoder {

void Sources::add(const json::Value& citation) {
  if (citation.is_array()) {
    for (const json::Value item : citation.items()) add(item);
    return;
  }
  for (const json::Value query : citation["webSearchQueries"].items()) {
    const auto text = query.filled_string();
    if (!text || !known_queries_.emplace(*text).second) continue;
    queries_.emplace_back(*text);
    has_more_ = true;
  }
  for (const json::Value chunk : citation["groundingChunks"].items()) add_chunk(chunk);
  cite(citation["url_citation"].is_object() ? citation["url_citation"] : citation);
}

// The address of a web page is one of Google's that redirects: only `domain`, or the title, names
// the host of the page. Source: the Gemini API's and Vertex AI's GroundingChunk.Web (2026).
void Sources::add_chunk(const json::Value& chunk) {
  if (const json::Value web = chunk["web"]; web.is_object()) {
    const auto domain = web["domain"].filled_string();
    cite(web, domain ? *domain : web["title"].string());
  }
  for (const std::string_view kind : {"maps", "retrievedContext"}) {
    if (chunk[kind].is_object()) cite(chunk[kind]);
  }
}

// Bedrock's address is in a member of its own (AWS' CitationLocation and WebLocation).
void Sources::cite(const json::Value& source, std::string_view host) {
  Source found;
  if (source.is_string()) found.url = source.string();
  for (const std::string_view key : {"url", "uri", "link"}) {
    if (found.url.empty()) found.url = source[key].string();
  }
  if (found.url.empty()) found.url = source["location"]["web"]["url"].string();
  if (found.url.empty() || !addresses_.insert(found.url).second) return;
  found.title = source["title"].string();
  if (found.title.empty()) found.title = found.url;
  found.favicon = source["favicon"].filled_string().value_or(host);
  sources_.push_back(std::move(found));
  has_more_ = true;
}

void Sources::write(std::string& out) {
  has_more_ = false;
  out.append(R"({"citations":[)");
  for (const Source& source : sources_) {
    if (out.back() != '[') out.push_back(',');
    out.push_back('{');
    json::append_member(out, "title", source.title);
    json::append_member(out, "url", source.url);
    if (!source.favicon.empty()) json::append_member(out, "favicon", source.favicon);
    out.push_back('}');
  }
  out.push_back(']');
  if (!queries_.empty()) {
    std::string list = "[";
    for (const std::string& query : queries_) {
      if (list.size() > 1) list.push_back(',');
      json::append_string(list, query);
    }
    json::append_raw_member(out, "searchQueries", list + "]");
  }
  out.push_back('}');
}

}  // namespace millrace::encoder
