#include "api/metrics.hpp"

#include <algorithm>
#include <chrono>
#include <initializer_list>
#include <utility>

#include "base/json_tree.hpp"
#include "journal/facts.hpp"

namespace millrace::api {
namespace {

// The last one stands for all others.
constexpr std::array<std::string_view, 8> method_names{"GET",   "HEAD",   "POST",    "PUT",
                                                       "PATCH", "DELETE", "OPTIONS", "other"};
constexpr std::array<std::string_view, 6> class_names{"none", "1xx", "2xx", "3xx", "4xx", "5xx"};
constexpr int class_size = 100;

void append_head(std::string& text, std::string_view name, std::string_view type,
                 std::string_view help) {
  text.append("# HELP ").append(name).append(" ").append(help).append("\n# TYPE ");
  text.append(name).append(" ").append(type).append("\n");
}

std::string number_text(double value) {
  return json::Tree::number(value).to_json();
}

struct Label {
  std::string_view name;
  std::string_view value;
};

void append_escaped(std::string& text, std::string_view value) {
  for (const char c : value) {
    if (c == '\\' || c == '"') text.push_back('\\');
    if (c == '\n') {
      text.append("\\n");
    } else {
      text.push_back(c);
    }
  }
}

void append_sample(std::string& text, std::string_view name, std::initializer_list<Label> labels,
                   double value) {
  text.append(name);
  char before = '{';
  for (const Label& label : labels) {
    text.push_back(std::exchange(before, ','));
    text.append(label.name).append("=\"");
    append_escaped(text, label.value);
    text.push_back('"');
  }
  if (labels.size() > 0) text.push_back('}');
  text.append(" ").append(number_text(value)).append("\n");
}

double as_number(std::uint64_t count) {
  return static_cast<double>(count);
}

class CountedRequests final : public http::RequestObserver {
 public:
  CountedRequests(std::shared_ptr<http::RequestObserver> observer, std::shared_ptr<Metrics> metrics)
      : observer_(std::move(observer)), metrics_(std::move(metrics)) {}

  [[nodiscard]] http::RequestIdentity identify(const http::Headers& headers,
                                               std::string_view peer) override {
    return observer_->identify(headers, peer);
  }
  void report(const http::RequestReport& report) override {
    metrics_->add(report);
    observer_->report(report);
  }
  void count_stream(int change) override { metrics_->add_stream(change); }

 private:
  std::shared_ptr<http::RequestObserver> observer_;
  std::shared_ptr<Metrics> metrics_;
};

}  // namespace

void Metrics::add(const http::RequestReport& report) {
  Row& row = routes_[report.route.empty() ? "unknown" : report.route];
  const auto* method =
      std::find(method_names.begin(), method_names.end() - 1, std::string_view(report.method));
  const int status_class = std::clamp(report.status / class_size, 0, 5);
  ++row.requests.at(static_cast<std::size_t>(method - method_names.begin()))
        .at(static_cast<std::size_t>(status_class));
  const double seconds = std::chrono::duration<double>(report.took).count();
  const auto* bound = std::lower_bound(bounds.begin(), bounds.end(), seconds);
  ++row.durations.at(static_cast<std::size_t>(bound - bounds.begin()));
  row.seconds += seconds;
}

void Metrics::append(std::string& text) const {
  append_requests(text);
  append_durations(text);
  append_metric(text, "millrace_readers", "gauge", "Answers that are being sent as streams.",
                static_cast<double>(streams_));
  constexpr std::string_view name = "millrace_webhook_deliveries_total";
  append_head(text, name, "counter", "Tries to send messages to webhooks.");
  append_sample(text, name, {{"outcome", "delivered"}}, as_number(webhooks.delivered));
  append_sample(text, name, {{"outcome", "failed"}}, as_number(webhooks.failed));
  append_sample(text, name, {{"outcome", "given_up"}}, as_number(webhooks.given_up));
}

void Metrics::append_requests(std::string& text) const {
  constexpr std::string_view name = "millrace_http_requests_total";
  append_head(text, name, "counter", "Requests that were answered.");
  for (const auto& [route, row] : routes_) {
    for (std::size_t method = 0; method < method_count; ++method) {
      for (std::size_t status = 0; status < class_count; ++status) {
        const std::uint64_t count = row.requests.at(method).at(status);
        if (count == 0) continue;
        append_sample(text, name,
                      {{"route", route},
                       {"method", method_names.at(method)},
                       {"status", class_names.at(status)}},
                      as_number(count));
      }
    }
  }
}

void Metrics::append_durations(std::string& text) const {
  constexpr std::string_view name = "millrace_http_request_duration_seconds";
  append_head(text, name, "histogram", "Time from the head of a request to the end of its answer.");
  const std::string bucket = std::string(name) + "_bucket";
  for (const auto& [route, row] : routes_) {
    std::uint64_t count = 0;
    for (std::size_t at = 0; at < row.durations.size(); ++at) {
      count += row.durations.at(at);
      const std::string bound = at < bounds.size() ? number_text(bounds.at(at)) : "+Inf";
      append_sample(text, bucket, {{"route", route}, {"le", bound}}, as_number(count));
    }
    append_sample(text, std::string(name) + "_sum", {{"route", route}}, row.seconds);
    append_sample(text, std::string(name) + "_count", {{"route", route}}, as_number(count));
  }
}

void append_admissions(std::string& text, const AdmissionCounts& counts) {
  append_metric(text, "millrace_rejected_keys_total", "counter", "Requests without a valid key.",
                as_number(counts.rejected_keys));
  constexpr std::string_view name = "millrace_rate_limited_total";
  append_head(text, name, "counter", "Requests that were beyond a limit.");
  append_sample(text, name, {{"limit", "key"}}, as_number(counts.limited_keys));
  append_sample(text, name, {{"limit", "address"}}, as_number(counts.limited_addresses));
}

void append_runs(std::string& text, const run::RunCounts& counts) {
  append_metric(text, "millrace_runs_started_total", "counter", "Runs that were accepted.",
                as_number(counts.accepted));
  constexpr std::string_view ended = "millrace_runs_ended_total";
  append_head(text, ended, "counter", "Runs that this process ended.");
  for (const journal::RunState state : journal::run_states) {
    if (!journal::is_over(state)) continue;
    append_sample(text, ended, {{"status", journal::name_of(state)}},
                  as_number(counts.ended.at(static_cast<std::size_t>(state))));
  }
  constexpr std::string_view requests = "millrace_model_requests_total";
  append_head(text, requests, "counter", "Steps of agents for which a model was asked.");
  for (const auto& [provider, count] : counts.requests) {
    append_sample(text, requests, {{"provider", provider}}, as_number(count));
  }
  constexpr std::string_view tokens = "millrace_model_tokens_total";
  append_head(text, tokens, "counter", "Tokens that runs had used when they ended.");
  append_sample(text, tokens, {{"kind", "input"}}, counts.input_tokens);
  append_sample(text, tokens, {{"kind", "output"}}, counts.output_tokens);
}

void append_metric(std::string& text, std::string_view name, std::string_view type,
                   std::string_view help, double value) {
  append_head(text, name, type, help);
  append_sample(text, name, {}, value);
}

std::shared_ptr<http::RequestObserver> counted(std::shared_ptr<http::RequestObserver> observer,
                                               std::shared_ptr<Metrics> metrics) {
  if (observer == nullptr) return nullptr;
  return std::make_shared<CountedRequests>(std::move(observer), std::move(metrics));
}

}  // namespace millrace::api
