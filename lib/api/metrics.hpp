// What a process counts of its routes, as text for Prometheus.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "http/request_observer.hpp"
#include "run/durable/run_counts.hpp"

namespace millrace::api {

// Requests that were turned away before their route was looked for.
struct AdmissionCounts {
  std::uint64_t rejected_keys = 0;
  std::uint64_t limited_keys = 0;       // beyond the limits of their key
  std::uint64_t limited_addresses = 0;  // of addresses that sent too many wrong keys
};

// What became of messages to webhooks.
struct WebhookCounts {
  std::uint64_t delivered = 0;
  std::uint64_t failed = 0;  // tries that are made again
  std::uint64_t given_up = 0;
};

// The label of a route is its path in the table, never that of a request, so that there are as many
// rows as routes.
// Thread: engine thread.
class Metrics {
 public:
  WebhookCounts webhooks;

  void add(const http::RequestReport& report);
  void add_stream(int change) { streams_ += change; }

  // The text format of Prometheus, version 0.0.4.
  void append(std::string& text) const;

 private:
  // Units: seconds.
  static constexpr std::array<double, 8> bounds{0.005, 0.025, 0.1, 0.5, 2.5, 10, 60, 300};
  static constexpr std::size_t method_count = 8;
  static constexpr std::size_t class_count = 6;  // 0: nothing was sent
  struct Row {
    std::array<std::array<std::uint64_t, class_count>, method_count> requests{};
    std::array<std::uint64_t, bounds.size() + 1> durations{};  // the last one is beyond all bounds
    double seconds = 0;
  };

  void append_requests(std::string& text) const;
  void append_durations(std::string& text) const;

  std::map<std::string, Row, std::less<>> routes_;
  std::int64_t streams_ = 0;
};

void append_admissions(std::string& text, const AdmissionCounts& counts);
void append_runs(std::string& text, const run::RunCounts& counts);
// The lines of a metric that has one value.
void append_metric(std::string& text, std::string_view name, std::string_view type,
                   std::string_view help, double value);

// Counts what another observer reports. Null where there is no other one.
std::shared_ptr<http::RequestObserver> counted(std::shared_ptr<http::RequestObserver> observer,
                                               std::shared_ptr<Metrics> metrics);

}  // namespace millrace::api
