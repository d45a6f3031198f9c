#include "agent/approval/secret_files.hpp"

#include <array>

namespace millrace::agent {

bool is_env_file(std::string_view place) {
  const std::string_view name = last_part(place);
  // A pattern has to name the dot: no other one finds such a file.
  return name.starts_with(".env") ||
         (name.starts_with('.') && is_glob(name) && fits_file(name, ".env"));
}

// Everything inside the folder is the folder.
bool is_ssh_key(std::string_view place) {
  if (ends_with_path(place, ".ssh")) return true;
  const std::string_view name = last_part(place);
  const bool key = (name.starts_with("id_") || (is_glob(name) && fits_file(name, "id_rsa"))) &&
                   !name.ends_with(".pub");
  return key && place.find(".ssh/") != std::string_view::npos;
}

bool is_aws(std::string_view place) {
  return ends_with_path(place, ".aws/credentials") || ends_with_path(place, ".aws/config");
}
bool is_docker(std::string_view place) {
  return ends_with_path(place, ".docker/config.json");
}
bool is_kube(std::string_view place) {
  return ends_with_path(place, ".kube/config") ||
         ends_with_path(place, "etc/kubernetes/admin.conf");
}
bool is_git(std::string_view place) {
  return ends_with_path(place, ".git-credentials") ||
         ends_with_path(place, ".config/git/credentials");
}
bool is_npmrc(std::string_view place) {
  return ends_with_path(place, ".npmrc");
}
bool is_history(std::string_view place) {
  const std::string_view name = last_part(place);
  return name == ".history" || name == ".python_history" || name == ".lesshst" ||
         name == "fish_history" || (name.starts_with('.') && name.ends_with("_history"));
}
bool is_gcp(std::string_view place) {
  return place.find(".config/gcloud/") != std::string_view::npos && place.ends_with(".json");
}

bool is_reader(std::string_view program) {
  static constexpr std::array<std::string_view, 56> programs{
      "cat",  "less",    "more",   "head",   "tail", "vim",     "vi",      "nvim",
      "nano", "emacs",   "code",   "subl",   "bat",  "batcat",  "strings", "xxd",
      "od",   "hexdump", "base64", "base32", "grep", "egrep",   "fgrep",   "rg",
      "awk",  "gawk",    "sed",    "cut",    "sort", "uniq",    "cp",      "mv",
      "scp",  "rsync",   "curl",   "wget",   "tar",  "zip",     "gzip",    "7z",
      "nc",   "ncat",    "source", ".",      "diff", "paste",   "tac",     "nl",
      "rev",  "view",    "open",   "dd",     "jq",   "openssl", "pr",      "install"};
  return is_one_of(programs, program);
}

// Such paths contain blanks that are often not quoted, so the whole command is looked at.
bool reads_browser(Commands commands, std::string_view) {
  static constexpr std::array<std::string_view, 12> browsers{
      "Google/Chrome",  "google-chrome",  "chromium",         "Chromium",
      "BraveSoftware",  "Brave-Browser",  "Firefox/Profiles", ".mozilla/firefox",
      "Microsoft Edge", "microsoft-edge", "Safari",           "Opera"};
  static constexpr std::array<std::string_view, 7> stores{
      "Cookies", "Login Data",           "Web Data", "cookies.sqlite", "logins.json",
      "key4.db", "Cookies.binarycookies"};
  return any_command(commands, [](const ShellCommand& command) {
    if (!is_reader(command.program()) && command.program() != "sqlite3") return false;
    std::string joined;
    for (const std::string& word : command.words) joined.append(word).push_back(' ');
    const auto found = [&](std::string_view part) {
      return joined.find(part) != std::string::npos;
    };
    return std::any_of(browsers.begin(), browsers.end(), found) &&
           std::any_of(stores.begin(), stores.end(), found);
  });
}

}  // namespace millrace::agent
