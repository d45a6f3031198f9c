// The tools `http_fetch` and `read_page`. Options of both: those of read_guard, "maxBytes" of the
// answer (1 MiB), "timeoutMs" (30000), "userAgent", "approval"; of http_fetch: "methods" (["GET"]).
#include <algorithm>
#include <array>
#include <utility>

#include "base/shown.hpp"
#include "tool/builtin/builtin.hpp"
#include "tool/builtin/html_text.hpp"
#include "tool/fetch.hpp"
#include "tool/result_text.hpp"

namespace millrace::tool {
namespace {

using json::Tree;

// What both tools need of their options.
struct Web {
  net::Client& client;
  std::shared_ptr<const net::AddressGuard> guard;
  std::size_t max_bytes;
  std::chrono::milliseconds timeout;
  std::string user_agent;
};

Result<Web> read_web(const Tree& options, const Surroundings& around) {
  auto guard = read_guard(options);
  if (!guard) return std::move(guard).error();
  constexpr std::int64_t standard_bytes = 1 << 20;
  constexpr std::int64_t most_bytes = 64 << 20;
  constexpr std::int64_t standard_timeout = 30'000;
  const auto bytes = read_number(options, "maxBytes", {standard_bytes, most_bytes + 1});
  if (!bytes) return bytes.error();
  if (bytes.value() > most_bytes) {
    return make_error(Errc::invalid_option, "`maxBytes` must be from 1 to 67108864 (64 MiB), not " +
                                                shown_value(options["maxBytes"]) + ".");
  }
  const auto timeout = read_number(options, "timeoutMs", {standard_timeout, longest_time});
  if (!timeout) return timeout.error();
  auto user_agent = read_text(options, "userAgent");
  if (!user_agent) return std::move(user_agent).error();
  return Web{around.client, std::move(guard).value(), static_cast<std::size_t>(bytes.value()),
             std::chrono::milliseconds(timeout.value()), std::move(user_agent).value()};
}

net::Request request_to(const Web& web, std::string_view method, std::string_view url) {
  net::Request request;
  request.method = method;
  request.url = url;
  request.guard = web.guard;
  request.max_redirects = 5;
  request.timeouts.total = web.timeout;
  request.limits.decoded_bytes = 0;  // the answer is cut instead
  if (!web.user_agent.empty()) request.headers.push_back({"User-Agent", web.user_agent});
  return request;
}

Tree citation(std::string_view title, std::string_view url) {
  Tree one = Tree::object();
  one.set("title", title.empty() ? url : title);
  one.set("url", url);
  Tree list = Tree::array();
  list.push(std::move(one));
  return list;
}

// A first line with the source of the text, and the text. The caller makes it safe.
ToolOutcome reported(const Fetched& got, std::string_view title, std::string_view text,
                     bool is_cut) {
  constexpr int first_error = 400;
  std::string content = std::to_string(got.status) + " " + got.url;
  if (!title.empty()) content.append("\n").append(title);
  content.append("\n\n").append(text);
  if (is_cut) content.append("\n[cut here: the answer is longer]");
  ToolOutcome outcome{.content = std::move(content)};
  outcome.is_error = got.status >= first_error;
  if (outcome.is_error) {
    outcome.code = "http_status";
  } else {
    outcome.details.citations = citation(result_text(title), got.url);
  }
  return outcome;
}

std::string method_list(const std::vector<std::string>& methods) {
  std::string list;
  for (const std::string& method : methods) {
    list.append(list.empty() ? "\"" : ",\"").append(method).append("\"");
  }
  return "[" + list + "]";
}

Result<std::vector<std::string>> read_methods(const Tree& options) {
  constexpr std::array<std::string_view, 6> known{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"};
  auto methods = read_names(options, "methods");
  if (!methods) return methods;
  for (const std::string& method : methods.value()) {
    if (std::find(known.begin(), known.end(), method) == known.end()) {
      return make_error(Errc::invalid_option,
                        "`methods` must be a list of GET, HEAD, POST, PUT, PATCH or DELETE; " +
                            shown_text(method) + " is none of them.");
    }
  }
  if (methods.value().empty()) methods.value().emplace_back("GET");
  return methods;
}

Spec fetch_spec(const std::vector<std::string>& methods) {
  Spec spec;
  spec.name = "http_fetch";
  spec.description = "Requests a URL of the public internet and gives the answer's text as it is.";
  const bool only_reads =
      std::all_of(methods.begin(), methods.end(),
                  [](const std::string& method) { return method == "GET" || method == "HEAD"; });
  spec.parameters = R"({"type":"object","properties":{"url":{"type":"string","maxLength":8000})";
  if (methods.size() > 1 || !only_reads) {
    spec.parameters += R"(,"method":{"enum":)" + method_list(methods) + "}";
  }
  if (!only_reads) {
    spec.parameters += R"(,"body":{"type":"string"},"contentType":{"type":"string","pattern":)"
                       R"("^[a-zA-Z0-9.+/; =_-]{1,100}$"})";
  }
  spec.parameters += R"(},"required":["url"],"additionalProperties":false})";
  spec.effect = only_reads ? Effect::read : Effect::once;
  if (!only_reads) spec.approval = R"("required")";
  return spec;
}

}  // namespace

Result<Tools> make_http_fetch(const Tree& options, const Surroundings& around) {
  auto web = read_web(options, around);
  if (!web) return std::move(web).error();
  auto methods = read_methods(options);
  if (!methods) return std::move(methods).error();
  Spec spec = fetch_spec(methods.value());
  spec.timeout = web.value().timeout + std::chrono::seconds(1);
  MILLRACE_TRY(read_approval(options, spec));
  const auto start = [web = std::move(web).value(), standard = methods.value().front()](
                         const Tree& arguments, std::shared_ptr<ToolHost> host) {
    const Tree& method = arguments["method"];
    net::Request request =
        request_to(web, method.is_string() ? method.string() : standard, arguments["url"].string());
    if (arguments["body"].is_string()) {
      request.body = arguments["body"].string();
      request.has_body = true;
      const Tree& type = arguments["contentType"];
      request.headers.push_back(
          {"Content-Type", std::string(type.is_string() ? type.string() : "application/json")});
    }
    return fetch(
        web.client, std::move(request), {.max_bytes = web.max_bytes, .sink = {}},
        [host = std::move(host)](const Result<Fetched>& got) {
          host->finished(got ? reported(got.value(), "", got.value().body, got.value().is_cut)
                             : failed(got.error()));
        });
  };
  return Tools{std::make_shared<FetchingTool>(std::move(spec), start)};
}

Result<Tools> make_read_page(const Tree& options, const Surroundings& around) {
  auto web = read_web(options, around);
  if (!web) return std::move(web).error();
  Spec spec;
  spec.name = "read_page";
  spec.description = "Reads a web page of the public internet and gives its title and its text.";
  spec.parameters = R"({"type":"object","properties":{"url":{"type":"string","maxLength":8000}},)"
                    R"("required":["url"],"additionalProperties":false})";
  spec.effect = Effect::read;
  spec.timeout = web.value().timeout + std::chrono::seconds(1);
  MILLRACE_TRY(read_approval(options, spec));
  const auto start = [web = std::move(web).value()](const Tree& arguments,
                                                    std::shared_ptr<ToolHost> host) {
    struct Page {
      explicit Page(std::size_t limit) : html(limit) {}
      HtmlText html;
      std::string plain;
    };
    const auto page = std::make_shared<Page>(web.max_bytes);
    FetchOptions wanted{.max_bytes = web.max_bytes, .sink = {}};
    wanted.sink = [page](const Fetched& head, std::string_view text) {
      const bool is_html = head.content_type.empty() || head.content_type == "text/html" ||
                           head.content_type == "application/xhtml+xml";
      if (is_html) {
        page->html.feed(text);
      } else {
        page->plain.append(text);
      }
    };
    net::Request request = request_to(web, "GET", arguments["url"].string());
    request.headers.push_back({"Accept", "text/html, text/plain;q=0.9, */*;q=0.5"});
    return fetch(
        web.client, std::move(request), std::move(wanted),
        [host = std::move(host), page](const Result<Fetched>& got) {
          if (!got) {
            host->finished(failed(got.error()));
            return;
          }
          page->html.finish();
          host->finished(reported(got.value(), page->html.title(), page->html.text() + page->plain,
                                  got.value().is_cut || page->html.is_cut()));
        });
  };
  return Tools{std::make_shared<FetchingTool>(std::move(spec), start)};
}

}  // namespace millrace::tool
