#include "api/api_keys.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <ios>
#include <iterator>
#include <utility>

#include "base/sha256.hpp"
#include "os/file_place.hpp"
#include "store/backend.hpp"

namespace millrace::api {
namespace {

using json::Tree;

constexpr std::chrono::milliseconds look_every{500};
constexpr std::streamsize most_file_bytes = std::streamsize{4} << 20U;
constexpr std::size_t hash_digits = 64;

Error wrong_file() {
  return make_error(Errc::invalid_option,
                    "The file of keys is not one that `millrace keys` wrote.");
}

std::optional<std::string> text_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return std::nullopt;
  std::string text(static_cast<std::size_t>(most_file_bytes) + 1, '\0');
  in.read(text.data(), most_file_bytes + 1);
  if (in.bad() || in.gcount() > most_file_bytes) return std::nullopt;
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

}  // namespace

Result<std::vector<ApiKey>> read_key_file(std::string_view text) {
  auto parsed = Tree::parse(text);
  if (!parsed || !parsed.value()["keys"].is_array()) return wrong_file();
  ApiOptions read;
  for (Tree& item : parsed.value().at("keys").items()) {
    // What a key is known by in the file alone.
    for (const std::string_view of_file : {"id", "createdAt"}) item.erase(of_file);
    if (!item.is_object() || !item["principal"].is_string() || !item["key"].is_null()) {
      return wrong_file();
    }
  }
  if (!read_api_keys(read, "keys", parsed.value()["keys"])) return wrong_file();
  return std::move(read.keys);
}

ApiKeys::ApiKeys(const ApiOptions& options) : fixed_(options.keys), file_(options.keys_file) {}

void ApiKeys::set(const ApiOptions& options) {
  fixed_ = options.keys;
  if (options.keys_file == file_) return;
  file_ = options.keys_file;
  stored_.clear();
  stamp_.reset();
  looked_ = {};
}

bool ApiKeys::are_needed() {
  refresh();
  return !fixed_.empty() || has_file_;
}

ApiKeys::Found ApiKeys::find(std::string_view key, bool counts) {
  return find_hash(sha256_hex(key), counts);
}

const ApiKey* ApiKeys::by_name(std::string_view name) {
  refresh();
  for (const auto* keys : {&fixed_, &stored_}) {
    for (const ApiKey& known : *keys) {
      if (!name.empty() && known.name == name) return &known;
    }
  }
  return nullptr;
}

ApiKeys::Found ApiKeys::find_hash(std::string_view hash, bool counts) {
  refresh();
  const std::int64_t now = store::system_clock()();
  const ApiKey* found = nullptr;
  for (const auto* keys : {&fixed_, &stored_}) {
    for (const ApiKey& known : *keys) {
      if (equal_in_constant_time(hash, known.sha256)) found = &known;
    }
  }
  if (found == nullptr || (found->expires_ms != 0 && found->expires_ms <= now)) return {};
  Found answer;
  answer.caller = std::make_shared<const http::Caller>(
      http::Caller{found->principal, found->scopes, found->name});
  answer.password = found->password;
  if (found->limits.per_minute > 0 || found->limits.per_day > 0) {
    answer.wait = uses_->take(found->sha256, found->limits, now, counts);
  }
  return answer;
}

std::optional<ApiKeys::Stamp> ApiKeys::stamp_of(const std::string& file) {
  struct stat found {};
  if (::stat(file.c_str(), &found) != 0) return std::nullopt;
  return Stamp{os::changed_ns(found), static_cast<std::int64_t>(found.st_size),
               static_cast<std::uint64_t>(found.st_ino)};
}

// A file that is there makes keys necessary until the process ends: removing it opens nothing.
void ApiKeys::refresh() {
  if (file_.empty()) return;
  const auto now = std::chrono::steady_clock::now();
  if (looked_ != std::chrono::steady_clock::time_point{} && now - looked_ < look_every) return;
  looked_ = now;
  const auto stamp = stamp_of(file_);
  if (!stamp && has_file_) stored_.clear();
  if (!stamp || stamp == stamp_) {
    stamp_ = stamp;
    return;
  }
  has_file_ = true;
  const auto text = text_of(file_);
  auto keys = text ? read_key_file(*text) : Result<std::vector<ApiKey>>(wrong_file());
  if (!keys) return;  // it is looked at again
  stamp_ = stamp;
  stored_ = std::move(keys).value();
}

}  // namespace millrace::api
