// The tool `web_search`. Options: "provider": "searxng" | "tavily" | "brave", "url" of the service
// or of its endpoint, with or without a query (searxng has none of its own), "apiKey", "maxResults"
// (5), "timeoutMs" (20000), "approval".
//
// The service's address is the operator's word: it may be on a private network.
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/secret_filter.hpp"
#include "base/shown.hpp"
#include "base/shown_hosts.hpp"
#include "tool/builtin/builtin.hpp"
#include "tool/builtin/html_text.hpp"
#include "tool/fetch.hpp"
#include "tool/result_text.hpp"

namespace millrace::tool {
namespace {

using json::Tree;

struct Service {
  std::string url;    // of the endpoint
  std::string query;  // "?" and what every request says, each followed by "&"
  std::string key;
  std::int64_t most = 5;
  std::chrono::milliseconds timeout{20'000};
  std::shared_ptr<const SecretFilter> secrets;  // that the service may repeat; null: it gets none

  [[nodiscard]] std::string clean(const std::string& text) const {
    return secrets ? secrets->clean(text) : text;
  }
  [[nodiscard]] std::string clean_json(const std::string& json) const {
    return secrets ? secrets->clean_json(json) : json;
  }
};

// How a service is asked and where its answer keeps the results.
struct Provider {
  std::string_view name;
  std::string_view url;
  std::string_view path;  // of the endpoint
  net::Request (*make_request)(const Service& service, std::string_view query);
  const Tree& (*results)(const Tree& answer);
  std::string_view snippet;
  std::string_view date;
};

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '~';
    if (is_plain) {
      out.push_back(c);
    } else {
      out.append({'%', digits[byte >> 4U], digits[byte & 15U]});
    }
  }
  return out;
}

net::Request request_searxng(const Service& service, std::string_view query) {
  net::Request request;
  request.url = service.url + service.query + "format=json&q=" + percent_encoded(query);
  if (!service.key.empty()) request.headers.push_back({"Authorization", "Bearer " + service.key});
  return request;
}

net::Request request_tavily(const Service& service, std::string_view query) {
  Tree body = Tree::object();
  body.set("query", query);
  body.set("max_results", Tree::integer(service.most));
  net::Request request;
  request.method = "POST";
  request.url = service.url + service.query;
  request.url.pop_back();
  request.headers = {{"Authorization", "Bearer " + service.key},
                     {"Content-Type", "application/json"}};
  request.body = body.to_json();
  request.has_body = true;
  return request;
}

net::Request request_brave(const Service& service, std::string_view query) {
  net::Request request;
  request.url = service.url + service.query + "count=" + std::to_string(service.most) +
                "&q=" + percent_encoded(query);
  request.headers = {{"X-Subscription-Token", service.key}};
  return request;
}

const Tree& plain_results(const Tree& answer) {
  return answer["results"];
}
const Tree& web_results(const Tree& answer) {
  return answer["web"]["results"];
}

constexpr std::array providers{
    Provider{"searxng", "", "/search", request_searxng, plain_results, "content", "publishedDate"},
    Provider{"tavily", "https://api.tavily.com", "/search", request_tavily, plain_results,
             "content", "published_date"},
    Provider{"brave", "https://api.search.brave.com", "/res/v1/web/search", request_brave,
             web_results, "description", "page_age"}};

// Snippets come with the marks of what was found in them.
std::string plain(std::string_view html) {
  constexpr std::size_t snippet_limit = 2'000;
  HtmlText text(snippet_limit);
  text.feed(html);
  text.finish();
  return result_text(text.text());
}

ToolOutcome reported(const Provider& provider, const Service& service, const Fetched& got) {
  constexpr int first_error = 300;
  if (got.status >= first_error) {
    return {
        .content = "The search service answered with status " + std::to_string(got.status) + ".",
        .is_error = true,
        .code = "http_status"};
  }
  const auto answer = Tree::parse(service.clean_json(got.body));
  const Tree& results = answer ? provider.results(answer.value()) : Tree();
  if (!results.is_array()) {
    return {.content = "The search service's answer cannot be read.",
            .is_error = true,
            .code = "invalid_json"};
  }
  Tree citations = Tree::array();
  std::string content;
  for (const Tree& result : results.items()) {
    const auto count = static_cast<std::int64_t>(citations.items().size());
    const std::string_view url = result["url"].string();
    const bool is_web = url.starts_with("https://") || url.starts_with("http://");
    if (count >= service.most) break;
    if (!is_web) continue;
    Tree citation = Tree::object();
    citation.set("title", plain(result["title"].string()));
    citation.set("url", result_text(url));
    const std::string snippet = plain(result[provider.snippet].string());
    content.append(std::to_string(count + 1)).append(". ");
    content.append(citation["title"].string()).append("\n   ").append(citation["url"].string());
    if (result[provider.date].is_string()) {
      citation.set("date", result_text(result[provider.date].string()));
      content.append("\n   ").append(citation["date"].string());
    }
    if (!snippet.empty()) content.append("\n   ").append(snippet);
    content.push_back('\n');
    citation.set("snippet", snippet);
    citations.push(std::move(citation));
  }
  if (content.empty()) content = "Nothing was found.";
  return {.content = std::move(content), .details = {.citations = std::move(citations)}};
}

// The endpoint of an address that leads to it or to the root above it; a query stays, but for what
// is said anew with each search.
void read_url(std::string_view url, const Provider& provider, Service& service) {
  constexpr std::array<std::string_view, 3> own{"q", "format", "count"};
  url = url.substr(0, url.find('#'));
  const std::size_t mark = url.find('?');
  service.url = url.substr(0, mark);
  service.query = "?";
  service.url = endpoint_at(service.url, provider.path);
  std::string_view rest = mark == url.npos ? std::string_view() : url.substr(mark + 1);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('&'), rest.size());
    const std::string_view pair = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::string_view name = pair.substr(0, pair.find('='));
    const bool is_own = std::find(own.begin(), own.end(), name) != own.end();
    if (!pair.empty() && !is_own) service.query.append(pair).append("&");
  }
}

// Models, readers and the journal get what the service answers.
std::vector<std::string> secrets_of(const Service& service) {
  std::vector<std::string> secrets;
  if (!service.key.empty()) secrets.push_back(service.key);
  add_query_secrets(secrets, std::string_view(service.query).substr(1));
  return secrets;
}

Result<Service> read_service(const Tree& options, const Provider& provider) {
  Service service;
  const auto url = read_text(options, "url", provider.url);
  if (!url) return url.error();
  read_url(url.value(), provider, service);
  if (!net::parse_url(service.url)) {
    return make_error(Errc::invalid_option,
                      "`url` must be the address of the search service, such as "
                      "http://localhost:8888, not " +
                          shown_address(url.value()) + ".");
  }
  auto key = read_text(options, "apiKey");
  if (!key) return std::move(key).error();
  service.key = std::move(key).value();
  if (service.key.empty() && provider.name != "searxng") {
    return make_error(Errc::invalid_option, "`apiKey` is missing: give the API key of " +
                                                std::string(provider.name) + ".");
  }
  constexpr std::int64_t most_results = 20;
  const auto most = read_number(options, "maxResults", {service.most, most_results});
  if (!most) return most.error();
  service.most = most.value();
  const auto timeout = read_number(options, "timeoutMs", {service.timeout.count(), longest_time});
  if (!timeout) return timeout.error();
  service.timeout = std::chrono::milliseconds(timeout.value());
  const auto secrets = secrets_of(service);
  if (!secrets.empty()) service.secrets = std::make_shared<const SecretFilter>(secrets);
  return service;
}

}  // namespace

// The host may have the name that the path has.
std::string endpoint_at(std::string_view url, std::string_view path) {
  while (url.ends_with('/')) url.remove_suffix(1);
  const std::size_t scheme = url.find("://");
  const std::size_t root = url.find('/', scheme == url.npos ? 0 : scheme + 3);
  std::string whole(url);
  const bool is_named = root != url.npos && url.substr(root).ends_with(path);
  if (!is_named) whole.append(path);
  return whole;
}

Result<Tools> make_web_search(const Tree& options, const Surroundings& around) {
  const auto named = read_text(options, "provider", "searxng");
  if (!named) return named.error();
  const std::string_view name = named.value();
  const auto* provider = std::find_if(providers.begin(), providers.end(),
                                      [&](const Provider& row) { return row.name == name; });
  if (provider == providers.end()) {
    return make_error(Errc::invalid_option,
                      "`provider` must be searxng, tavily or brave, not " + shown_text(name) + ".");
  }
  auto service = read_service(options, *provider);
  if (!service) return std::move(service).error();
  Spec spec;
  spec.name = "web_search";
  spec.description = "Searches the web and gives titles, addresses and extracts of what is found.";
  spec.parameters = R"({"type":"object","properties":{"query":{"type":"string","minLength":1,)"
                    R"("maxLength":400}},"required":["query"],"additionalProperties":false})";
  spec.effect = Effect::read;
  spec.timeout = service.value().timeout + std::chrono::seconds(1);
  MILLRACE_TRY(read_approval(options, spec));
  const auto start = [provider, service = std::move(service).value(), &client = around.client](
                         const Tree& arguments, std::shared_ptr<ToolHost> host) {
    net::Request request = provider->make_request(service, arguments["query"].string());
    request.headers.push_back({"Accept", "application/json"});
    request.timeouts.total = service.timeout;
    return fetch(client, std::move(request), {.max_bytes = std::size_t{4} << 20U, .sink = {}},
                 [host = std::move(host), provider, service](const Result<Fetched>& got) {
                   if (got) return host->finished(reported(*provider, service, got.value()));
                   ToolOutcome outcome = failed(got.error());
                   // The address is one of the host's, and models and clients read the result.
                   outcome.content = service.clean(without_hosts(outcome.content));
                   host->finished(std::move(outcome));
                 });
  };
  return Tools{std::make_shared<FetchingTool>(std::move(spec), start)};
}

}  // namespace millrace::tool
