// Who may use the Runtime API: keys, foreign pages, and how refusals read before a route is found.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "api/api_keys.hpp"
#include "api/api_options.hpp"
#include "api/metrics.hpp"
#include "api/sessions.hpp"
#include "http/zone.hpp"

namespace millrace::api {

// Needs no key: it is where one is sent.
inline constexpr std::string_view session_path = "/api/v1/session";

// Whether a request for this path may have its key as a bearer token.
[[nodiscard]] bool takes_bearer(std::string_view path);

class ApiZone final : public http::Zone {
 public:
  explicit ApiZone(const ApiOptions& options)
      : ApiZone(options, std::make_shared<ApiKeys>(options)) {}
  ApiZone(const ApiOptions& options, std::shared_ptr<ApiKeys> keys);

  // Pages that may use the routes, in place of those of the options.
  void set_origins(std::vector<std::string> origins) { origins_ = std::move(origins); }

  [[nodiscard]] const AdmissionCounts& counts() const { return counts_; }
  [[nodiscard]] ApiKeys& keys() { return *keys_; }
  [[nodiscard]] Sessions& sessions() { return sessions_; }
  // The key of a session. A session whose key is gone, or whose password is another one now, ends.
  [[nodiscard]] ApiKeys::Found find_session(std::string_view token, bool counts);
  // Counts an attempt to log in as a failure. False where there were too many. `who` is an address,
  // or what stands for a user where no address is known; "" is not counted.
  [[nodiscard]] bool may_try(std::string_view who);
  // The last attempt was none.
  void forgive(std::string_view who);
  // Whether one more password may be checked now; end_check() gives the place back.
  [[nodiscard]] bool begin_check();
  void end_check() { --checks_; }

  [[nodiscard]] bool has(std::string_view path) const override;
  [[nodiscard]] http::Headers fields(const http::RequestHead& head) const override;
  [[nodiscard]] Admission admit(const http::RequestHead& head, std::string_view remote_address,
                                bool counts = true) override;
  [[nodiscard]] http::Answer unknown(std::string_view allow) const override;
  [[nodiscard]] http::ErrorBody error_body(std::string_view path) const override;

 private:
  using Clock = std::chrono::steady_clock;
  struct Failures {
    Clock::time_point since;
    int count = 0;
  };

  [[nodiscard]] bool trusts(std::string_view given) const;
  [[nodiscard]] Admission admit_without_keys(const http::RequestHead& head,
                                             std::string_view remote_address) const;
  // What becomes of a request with this key; nothing where it is wrong.
  [[nodiscard]] std::optional<Admission> admit_with(std::string_view key,
                                                    const http::RequestHead& head,
                                                    std::string_view remote_address, bool counts);
  // What becomes of a request from an address that has failed too often: a key that was right from
  // there before, and a session, are let in.
  [[nodiscard]] Admission admit_in_spite(const http::RequestHead& head,
                                         std::string_view remote_address, bool counts);
  void remember(std::string_view remote_address, const http::Caller& caller);
  // What becomes of a request with the cookie of a session; nothing where there is none.
  [[nodiscard]] std::optional<Admission> admit_session(const http::RequestHead& head, bool counts);
  [[nodiscard]] Admission admitted(ApiKeys::Found found, std::string_view path);
  [[nodiscard]] bool has_failed_too_often(std::string_view who);
  void count_failure(std::string_view who);

  std::shared_ptr<ApiKeys> keys_;
  Sessions sessions_;
  std::vector<std::string> origins_;
  std::string principal_;
  AdmissionCounts counts_;
  std::map<std::string, Failures, std::less<>> failures_;  // by address, or user
  // Addresses with the names of keys that were right from there, and when that was last.
  std::unordered_map<std::string, Clock::time_point> known_;
  int checks_ = 0;  // of passwords, at work
};

}  // namespace millrace::api
