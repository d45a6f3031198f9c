#include "store/sqlite/file_size.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <set>

namespace millrace::store::sqlite {
namespace {

// Source: "Database File Format" of SQLite, 1.3 (header) and 4.1 (write-ahead log).
constexpr std::size_t header_size = 100;
constexpr std::size_t page_size_at = 16;
constexpr std::size_t changes_at = 24;
constexpr std::size_t page_count_at = 28;
constexpr std::size_t count_valid_for_at = 92;
constexpr std::uint32_t largest_page = 65536;  // written as 1
constexpr std::size_t log_header_size = 32;
constexpr std::size_t frame_header_size = 24;
constexpr std::size_t log_salt_at = 16;
constexpr std::size_t frame_salt_at = 8;

template <std::size_t size>
std::uint32_t number_at(const std::array<char, size>& bytes, std::size_t at, std::size_t length) {
  std::uint32_t number = 0;
  for (std::size_t next = at; next < at + length; ++next) {
    number = (number << 8U) | static_cast<unsigned char>(bytes.at(next));
  }
  return number;
}

template <std::size_t size>
bool read_into(std::ifstream& file, std::array<char, size>& bytes) {
  file.read(bytes.data(), static_cast<std::streamsize>(size));
  return file.gcount() == static_cast<std::streamsize>(size);
}

// The numbers of the pages that the log has, which a checkpoint may be writing.
std::set<std::uint32_t> pages_in_log(const std::string& path, std::uint32_t page_size) {
  std::set<std::uint32_t> pages;
  std::ifstream log(path + "-wal", std::ios::binary);
  std::array<char, log_header_size> header{};
  if (!log || !read_into(log, header)) return pages;
  const std::uint32_t first_salt = number_at(header, log_salt_at, 4);
  const std::uint32_t second_salt = number_at(header, log_salt_at + 4, 4);
  std::array<char, frame_header_size> frame{};
  while (read_into(log, frame)) {
    // What is behind it was left by an earlier use of the file.
    if (number_at(frame, frame_salt_at, 4) != first_salt ||
        number_at(frame, frame_salt_at + 4, 4) != second_salt) {
      break;
    }
    pages.insert(number_at(frame, 0, 4));
    log.seekg(page_size, std::ios::cur);
  }
  return pages;
}

std::optional<std::string> look(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::array<char, header_size> header{};
  if (!file || !read_into(file, header)) return std::nullopt;
  std::uint32_t page_size = number_at(header, page_size_at, 2);
  if (page_size == 1) page_size = largest_page;
  if (page_size == 0) return std::nullopt;
  // The log first: what a checkpoint takes out of it meanwhile is in the file then.
  const std::set<std::uint32_t> in_log = pages_in_log(path, page_size);
  file.seekg(0);
  if (!read_into(file, header)) return std::nullopt;
  const std::uint64_t count = number_at(header, page_count_at, 4);
  const bool is_valid =
      number_at(header, changes_at, 4) == number_at(header, count_valid_for_at, 4);
  file.seekg(0, std::ios::end);
  const auto bytes = static_cast<std::uint64_t>(file.tellg());
  const std::uint64_t whole = bytes / page_size;
  const std::uint64_t needed = is_valid ? count : (bytes + page_size - 1) / page_size;
  for (std::uint64_t page = whole + 1; page <= needed; ++page) {
    if (in_log.contains(static_cast<std::uint32_t>(page))) continue;
    return "The file is cut: it has " + std::to_string(bytes) + " bytes, and its " +
           std::to_string(needed) + " pages need " + std::to_string(needed * page_size) + ".";
  }
  return std::nullopt;
}

}  // namespace

// A checkpoint that began between the two parts of one look is over, or in the log, at the next.
std::optional<std::string> cut_of(const std::string& path) {
  return look(path) ? look(path) : std::nullopt;
}

}  // namespace millrace::store::sqlite
