// Which hosts a request may name and which origins may call: the guard against DNS rebinding and
// against foreign pages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "http/options.hpp"

namespace millrace::http {

// Thread: immutable.
class AccessList {
 public:
  // Builds the list of a server that listens on `port`.
  // Errors: invalid_option, naming the entry that cannot be used.
  static Result<AccessList> make(const ServerOptions& options, std::uint16_t port);

  // Errors: host_not_allowed.
  [[nodiscard]] Result<void> check_host(std::string_view host) const;
  // Decides about the Origin header of a request to `host`.
  // Shape: true when the answer must carry CORS headers, false for the server's own origin.
  // Errors: origin_not_allowed.
  [[nodiscard]] Result<bool> check_origin(std::string_view origin, std::string_view host) const;
  // Decides about the Sec-Fetch-Site header of a request without an Origin: browsers leave the
  // latter out of what an image, a link or a form of another site asks for.
  // Errors: origin_not_allowed.
  [[nodiscard]] Result<void> check_site(std::string_view site) const;

  // The entries a Host header is compared with, for people to read.
  [[nodiscard]] const std::vector<std::string>& hosts() const { return hosts_; }

 private:
  std::vector<std::string> hosts_;
  std::vector<std::string> origins_;
  std::string port_;
};

}  // namespace millrace::http
