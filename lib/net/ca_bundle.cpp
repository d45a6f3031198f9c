#include "net/ca_bundle.hpp"

#include <curl/curl.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <iterator>

namespace millrace::net {
namespace {

// Where the distributions keep their roots.
constexpr std::array system_files{
    "/etc/ssl/certs/ca-certificates.crt",                 // Debian, Ubuntu, Alpine, Arch
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // Fedora, RHEL
    "/etc/ssl/ca-bundle.pem",                             // openSUSE
    "/etc/ssl/cert.pem",                                  // BSD, macOS
};

bool is_readable(const char* path) {
  return path != nullptr && access(path, R_OK) == 0;
}

std::string system_file() {
  const char* built_in = curl_version_info(CURLVERSION_NOW)->cainfo;
  if (is_readable(built_in)) return built_in;
  for (const char* path : system_files) {
    if (is_readable(path)) return path;
  }
  return {};
}

}  // namespace

CaBundle::CaBundle(const ClientOptions& options)
    : file_(options.ca_file.empty() ? system_file() : options.ca_file) {
  if (options.extra_ca_files.empty() && options.extra_ca_texts.empty()) return;
  for (const std::string& path : options.extra_ca_files) append_file(path);
  for (const std::string& pem : options.extra_ca_texts) text_.append(pem).append("\n");
  if (text_.empty()) return;
  if (!file_.empty()) append_file(file_);
  store();
}

void CaBundle::append_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string pem{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (pem.empty()) {
    problem_.append(" The CA file ").append(path).append(" cannot be read and was skipped.");
    return;
  }
  text_.append(pem).append("\n");
}

void CaBundle::store() {
  joined_ = os::MemoryFile::make("millrace-ca", text_);
  if (!joined_) return;
  file_ = joined_->path();
  text_.clear();
  text_.shrink_to_fit();
}

}  // namespace millrace::net
