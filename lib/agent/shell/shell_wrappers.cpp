#include "agent/shell/shell_wrappers.hpp"

#include <algorithm>
#include <array>

#include "base/ascii.hpp"

namespace millrace::agent {
namespace {

constexpr std::array wrappers{Wrapper{"sudo", "ughpCTUrtDR", 0},
                              Wrapper{"doas", "uC", 0},
                              Wrapper{"env", "uCS", 0},
                              Wrapper{"nohup", "", 0},
                              Wrapper{"command", "", 0},
                              Wrapper{"builtin", "", 0},
                              Wrapper{"exec", "a", 0},
                              Wrapper{"time", "fo", 0},
                              Wrapper{"nice", "n", 0},
                              Wrapper{"ionice", "cnpPu", 0},
                              Wrapper{"timeout", "ks", 1},
                              Wrapper{"stdbuf", "ioe", 0},
                              Wrapper{"setsid", "", 0},
                              Wrapper{"xargs", "IiLlnPsdEea", 0},
                              Wrapper{"busybox", "", 0},
                              Wrapper{"toybox", "", 0},
                              Wrapper{"chroot", "", 1},
                              Wrapper{"unshare", "", 0},
                              Wrapper{"strace", "eopPsuaE", 0},
                              Wrapper{"ltrace", "eopsu", 0},
                              Wrapper{"watch", "n", 0},
                              Wrapper{"caffeinate", "tw", 0},
                              Wrapper{"su-exec", "", 1},
                              Wrapper{"gosu", "", 1},
                              Wrapper{"runuser", "ugG", 0},
                              Wrapper{"taskset", "", 1},
                              Wrapper{"flock", "wE", 1},
                              Wrapper{"then", "", 0},
                              Wrapper{"do", "", 0},
                              Wrapper{"else", "", 0},
                              Wrapper{"if", "", 0},
                              Wrapper{"while", "", 0},
                              Wrapper{"until", "", 0},
                              Wrapper{"!", "", 0},
                              Wrapper{"{", "", 0},
                              Wrapper{"parallel", "jIaN", 0},
                              Wrapper{"script", "", 0},
                              Wrapper{"systemd-run", "pEuM", 0},
                              Wrapper{"nsenter", "tSG", 0},
                              Wrapper{"fakeroot", "lfis", 0},
                              Wrapper{"proot", "rbmwq", 0},
                              Wrapper{"unbuffer", "", 0},
                              Wrapper{"firejail", "", 0},
                              Wrapper{"torsocks", "", 0},
                              Wrapper{"proxychains4", "f", 0},
                              Wrapper{"numactl", "NmiC", 0},
                              Wrapper{"chrt", "", 1},
                              Wrapper{"prlimit", "", 0},
                              Wrapper{"setpriv", "", 0},
                              Wrapper{"coproc", "", 0},
                              Wrapper{"pkexec", "", 0}};

}  // namespace

const Wrapper* find_wrapper(std::string_view name) {
  const auto* found = std::find_if(wrappers.begin(), wrappers.end(),
                                   [&](const Wrapper& w) { return w.name == name; });
  return found == wrappers.end() ? nullptr : found;
}

bool is_assignment(std::string_view word) {
  const std::size_t equals = word.find('=');
  return equals != 0 && equals != std::string_view::npos &&
         std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals),
                     [](char c) { return is_ascii_alphanumeric(c) || c == '_'; });
}

void strip_wrapper(std::vector<std::string>& words, const Wrapper& wrapper) {
  std::size_t at = 1;
  while (at < words.size() && words[at].size() > 1 && words[at][0] == '-') {
    const std::string& option = words[at++];
    if (option == "--") break;
    const bool takes_value =
        option.size() == 2 && wrapper.options_with_value.find(option[1]) != std::string::npos;
    if (takes_value) ++at;
  }
  while (at < words.size() && wrapper.name == "env" && is_assignment(words[at])) ++at;
  at += static_cast<std::size_t>(wrapper.operands);
  at = std::min(at, words.size());
  words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(at));
}

}  // namespace millrace::agent
