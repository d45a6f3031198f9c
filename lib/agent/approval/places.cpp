#include "agent/approval/places.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "agent/approval/glob.hpp"
#include "agent/shell/shell.hpp"

namespace millrace::agent {

bool is_one_of(Names names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string_view last_part(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);
}

std::string_view path_in(std::string_view word) {
  const std::size_t at = word.find_last_of("=@");
  return at == std::string_view::npos ? word : word.substr(at + 1);
}

std::string place_of(std::string_view path, std::string_view directory) {
  std::string whole(path);
  if (!path.starts_with('/') && !path.starts_with('~') && !path.starts_with('$') &&
      !directory.empty()) {
    whole = std::string(directory) + '/' + whole;
  }
  for (const std::string_view home : {"${HOME}", "$HOME"}) {
    if (whole.starts_with(home)) whole.replace(0, home.size(), "~");
  }
  const bool in_home = whole.starts_with("~/");
  std::string normal = normal_path(in_home ? std::string_view(whole).substr(2) : whole);
  if (in_home) normal = normal == "." ? "~" : "~/" + normal;
  // Everything inside a folder is the folder.
  while (normal.ends_with("/*") || normal.ends_with("/.*")) {
    normal.resize(normal.find_last_of('/'));
  }
  return normal.empty() ? "/" : normal;
}

bool is_glob(std::string_view place) {
  return place.find_first_of("*?[") != std::string_view::npos;
}

bool fits_file(std::string_view place, std::string_view file) {
  return glob_matches(GlobKind::path, place, file);
}

bool names_one_of(Names files, std::string_view place) {
  return is_glob(place) ? std::any_of(files.begin(), files.end(),
                                      [&](std::string_view file) { return fits_file(place, file); })
                        : is_one_of(files, place);
}

bool is_home(std::string_view place) {
  static constexpr std::array<std::string_view, 3> homes{"/root", "/home", "/Users"};
  if (names_one_of(homes, place)) return true;
  if (place.starts_with('~')) return place.find('/') == std::string_view::npos;
  for (const std::string_view parent : {"/home/", "/Users/"}) {
    if (place.starts_with(parent)) {
      return place.size() > parent.size() &&
             place.find('/', parent.size()) == std::string_view::npos;
    }
  }
  return false;
}

bool ends_with_path(std::string_view place, std::string_view tail) {
  return place == tail || (place.ends_with(tail) && place[place.size() - tail.size() - 1] == '/');
}

}  // namespace millrace::agent
