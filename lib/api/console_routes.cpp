#include "api/console_routes.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <system_error>
#include <utility>

#include "api/api_answers.hpp"
#include "api/media_types.hpp"
#include "base/sha256.hpp"

namespace millrace::api {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view page_path = "/";
constexpr std::string_view files_path = "/console/";

// Pictures of conversations are read with the key of the user, and shown as blobs. Nothing is
// loaded from another origin, and no text of the page's own becomes a script.
constexpr std::string_view page_policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";

struct File {
  std::string bytes;
  std::string tag;
  http::Headers headers;
};

std::string read_bytes(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string content_type(const fs::path& path) {
  std::string type(media_type_of(path.filename().string()));
  const bool is_text = type.starts_with("text/");
  return is_text ? type + "; charset=utf-8" : type;
}

http::Route route_of(std::string path, const fs::path& from, bool is_page) {
  const auto file = std::make_shared<File>();
  file->bytes = read_bytes(from);
  file->tag = "\"" + sha256_hex(file->bytes) + "\"";
  // The name of a file changes with its content; that of the page does not.
  file->headers = {{"Content-Type", content_type(from)},
                   {"ETag", file->tag},
                   {"Cache-Control", is_page ? "no-cache" : "public, max-age=31536000, immutable"},
                   {"X-Content-Type-Options", "nosniff"},
                   {"Cross-Origin-Resource-Policy", "same-origin"}};
  if (is_page) {
    file->headers.add("Content-Security-Policy", std::string(page_policy));
    file->headers.add("Referrer-Policy", "no-referrer");
    file->headers.add("Cross-Origin-Opener-Policy", "same-origin");
  }
  return {
      "GET", std::move(path),
      [file](const http::Request& request, const std::shared_ptr<http::ResponseStream>& response) {
        if (is_known(request, file->tag)) return (void)response->send(304, file->headers, {});
        (void)response->send(200, file->headers, file->bytes);
      }};
}

}  // namespace

std::vector<http::Route> console_routes(const std::string& folder) {
  std::vector<http::Route> routes;
  std::error_code failed;
  const fs::path page = fs::path(folder) / "index.html";
  if (folder.empty() || !fs::is_regular_file(page, failed)) return routes;
  routes.push_back(route_of(std::string(page_path), page, true));
  for (fs::directory_iterator at(fs::path(folder) / "console", failed), end; !failed && at != end;
       at.increment(failed)) {
    if (!at->is_regular_file(failed)) continue;
    const fs::path& path = at->path();
    routes.push_back(route_of(std::string(files_path) + path.filename().string(), path, false));
  }
  return routes;
}

bool is_console_path(std::string_view path) {
  return path == page_path || path.starts_with(files_path);
}

}  // namespace millrace::api
