// The roots that TLS connections trust, as one file that libcurl can name.
#pragma once

#include <optional>
#include <string>

#include "net/client.hpp"
#include "os/memory_file.hpp"

namespace millrace::net {

// Joins the system's roots and the caller's extra ones. libcurl parses a CA file once and shares
// the result between connections, but not a blob (about 20 ms and 1 MB a connection), so the joined
// text lives in an anonymous file. Lifetime: file() stays readable as long as the bundle lives.
class CaBundle {
 public:
  explicit CaBundle(const ClientOptions& options);
  CaBundle(const CaBundle&) = delete;
  CaBundle& operator=(const CaBundle&) = delete;

  // Empty: libcurl's own default.
  [[nodiscard]] const std::string& file() const { return file_; }
  // The joined PEM text where the system has no anonymous files; empty otherwise.
  [[nodiscard]] const std::string& text() const { return text_; }
  // A sentence about files that could not be read; empty when there are none.
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  void append_file(const std::string& path);
  void store();

  std::string file_;
  std::string text_;
  std::string problem_;
  std::optional<os::MemoryFile> joined_;
};

}  // namespace millrace::net
