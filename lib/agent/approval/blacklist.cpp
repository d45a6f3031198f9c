#include "agent/approval/blacklist.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "agent/approval/places.hpp"
#include "agent/approval/secret_files.hpp"
#include "base/ascii.hpp"

namespace millrace::agent {
namespace {

bool is_recursive_rm(const ShellCommand& command) {
  const std::string_view program = command.program();
  return (program == "rm" || program == "grm") &&
         (command.has_option('r', "recursive") || command.has_option('R', "recursive"));
}

template <class Test>
bool removes(Commands commands, Test test) {
  return any_command(commands, [&](const ShellCommand& command) {
    if (!is_recursive_rm(command)) return false;
    const auto operands = command.operands();
    return std::any_of(operands.begin(), operands.end(), [&](std::string_view operand) {
      return test(command, place_of(operand, command.directory), operand);
    });
  });
}

bool removes_home(Commands commands, std::string_view) {
  return removes(commands, [](const ShellCommand&, const std::string& place, std::string_view) {
    return is_home(place);
  });
}

bool removes_root(Commands commands, std::string_view) {
  return removes(commands, [](const ShellCommand&, const std::string& place, std::string_view) {
    static constexpr std::array<std::string_view, 9> parts{"/",    "/etc",  "/usr", "/bin", "/sbin",
                                                           "/lib", "/boot", "/dev", "/var"};
    return names_one_of(parts, place);
  });
}

bool removes_current(Commands commands, std::string_view) {
  return removes(
      commands, [](const ShellCommand& command, const std::string& place, std::string_view word) {
        return command.has_option('f', "force") && (place == "." || place == ".." || word == "*" ||
                                                    word == "$PWD" || word == "./*" || word == "~");
      });
}

// True when a command uses one of the paths, also as a target of a redirection.
template <class Test>
bool uses_path(const ShellCommand& command, Test test) {
  const auto matches = [&](std::string_view word) {
    return test(place_of(path_in(word), command.directory));
  };
  for (std::size_t i = 1; i < command.words.size(); ++i) {
    if (matches(command.words[i])) return true;
  }
  return std::any_of(command.redirects.begin(), command.redirects.end(),
                     [&](const Redirect& redirect) { return matches(redirect.target); });
}

bool touches_passwd(Commands commands, std::string_view) {
  return any_command(commands, [](const ShellCommand& command) {
    return uses_path(command, [](std::string_view place) {
      static constexpr std::array<std::string_view, 5> files{
          "/etc/passwd", "/etc/shadow", "/etc/gshadow", "/etc/passwd-", "/etc/shadow-"};
      return names_one_of(files, place);
    });
  });
}

bool touches_sudoers(Commands commands, std::string_view) {
  return any_command(commands, [](const ShellCommand& command) {
    return command.program() == "visudo" || uses_path(command, [](std::string_view place) {
             return place == "/etc/sudoers" || place.starts_with("/etc/sudoers.d");
           });
  });
}

// name(){ name|name& };name with any name and spacing.
bool is_fork_bomb(Commands, std::string_view text) {
  std::string tight;
  for (const char c : text) {
    if (!is_ascii_space(c)) tight.push_back(c);
  }
  for (std::size_t at = tight.find("(){"); at != std::string::npos;
       at = tight.find("(){", at + 1)) {
    std::size_t start = at;
    while (start > 0 && std::string_view(";&|{}()").find(tight[start - 1]) == std::string::npos) {
      --start;
    }
    const std::string name = tight.substr(start, at - start);
    const std::size_t end = tight.find('}', at);
    if (name.empty() || end == std::string::npos) continue;
    const std::string body = tight.substr(at + 3, end - at - 3);
    const std::string plain = name.starts_with("function") ? name.substr(8) : name;
    std::string pipe = plain;
    pipe.append("|").append(plain);
    if (body.find(pipe) != std::string::npos && body.find('&') != std::string::npos) return true;
  }
  return false;
}

bool is_disk(std::string_view place) {
  static constexpr std::array<std::string_view, 11> prefixes{
      "/dev/sd",   "/dev/hd",    "/dev/vd",      "/dev/xvd", "/dev/nvme", "/dev/mmcblk",
      "/dev/disk", "/dev/rdisk", "/dev/mapper/", "/dev/dm-", "/dev/md"};
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return place.starts_with(prefix); });
}

// Programs that write to the paths they are given.
bool writes_to_operands(std::string_view program) {
  static constexpr std::array<std::string_view, 8> writers{"tee",     "cp",       "mv",     "shred",
                                                           "install", "truncate", "dcfldd", "ln"};
  return is_one_of(writers, program);
}

template <class Test>
bool writes_path(const ShellCommand& command, Test test) {
  for (const Redirect& redirect : command.redirects) {
    if (redirect.writes && test(place_of(redirect.target, command.directory))) return true;
  }
  const bool any_word = writes_to_operands(command.program());
  return std::any_of(command.words.begin(), command.words.end(), [&](std::string_view word) {
    return (any_word || word.starts_with("of=")) && test(place_of(path_in(word)));
  });
}

bool writes_disk(Commands commands, std::string_view) {
  return any_command(commands,
                     [](const ShellCommand& command) { return writes_path(command, is_disk); });
}

bool changes_partitions(Commands commands, std::string_view) {
  static constexpr std::array<std::string_view, 10> programs{
      "fdisk",  "parted", "sfdisk", "cfdisk", "gdisk",
      "sgdisk", "wipefs", "mkswap", "mke2fs", "blkdiscard"};
  return any_command(commands, [](const ShellCommand& command) {
    const std::string_view program = command.program();
    if (!program.starts_with("mkfs") && !is_one_of(programs, program)) return false;
    return uses_path(command, [](std::string_view place) { return place.starts_with("/dev/"); });
  });
}

bool writes_kernel(Commands commands, std::string_view) {
  return any_command(commands, [](const ShellCommand& command) {
    if (command.program() == "sysctl") {
      const auto operands = command.operands();
      return std::any_of(operands.begin(), operands.end(), [](std::string_view operand) {
        return operand.find('=') != std::string_view::npos;
      });
    }
    return writes_path(command, [](std::string_view place) {
      return place == "/proc/sys" || place.starts_with("/proc/sys/") ||
             place.starts_with("/proc/sysrq");
    });
  });
}

bool reads_memory(Commands commands, std::string_view) {
  return any_command(commands, [](const ShellCommand& command) {
    return uses_path(command, [](std::string_view place) {
      return place == "/dev/mem" || place == "/dev/kmem" || place == "/dev/port";
    });
  });
}

bool owns_system(Commands commands, std::string_view) {
  static constexpr std::array<std::string_view, 10> whole{
      "/", "/usr", "/var", "/home", "/root", "/opt", "/lib64", "/dev", "/run", "/Users"};
  static constexpr std::array<std::string_view, 7> trees{"/etc",  "/bin",  "/sbin", "/sys",
                                                         "/proc", "/boot", "/lib"};
  return any_command(commands, [](const ShellCommand& command) {
    const std::string_view program = command.program();
    if (program != "chown" && program != "chgrp" && program != "chmod") return false;
    if (!command.has_option('R', "recursive")) return false;
    const auto operands = command.operands();
    return std::any_of(operands.begin(), operands.end(), [&](std::string_view operand) {
      const std::string place = place_of(operand, command.directory);
      return is_home(place) || is_one_of(whole, place) ||
             std::any_of(trees.begin(), trees.end(), [&](std::string_view tree) {
               return place == tree || place.starts_with(std::string(tree) + '/');
             });
    });
  });
}

bool gives_capability(std::string_view word) {
  return word.find("setuid") != std::string_view::npos ||
         word.find("setgid") != std::string_view::npos ||
         word.find("sys_admin") != std::string_view::npos || word.starts_with("all");
}

bool sets_suid(std::string_view mode) {
  if (mode.starts_with("--mode=")) mode.remove_prefix(7);
  if (mode.starts_with("-m")) mode.remove_prefix(2);
  if (!mode.empty() && is_ascii_digit(mode[0])) {
    while (mode.size() > 4 && mode[0] == '0') mode.remove_prefix(1);
    return mode.size() == 4 && mode[0] >= '2' && mode[0] <= '7';
  }
  const std::size_t plus = mode.find_first_of("+=");
  return plus != std::string_view::npos && mode.find('s', plus) != std::string_view::npos;
}

bool gives_suid_shell(Commands commands, std::string_view) {
  static constexpr std::array<std::string_view, 22> programs{
      "sh",   "bash", "zsh", "dash", "ksh", "fish", "csh", "tcsh", "python", "perl", "ruby",
      "node", "php",  "lua", "vim",  "vi",  "find", "env", "awk",  "nano",   "less", "busybox"};
  return any_command(commands, [](const ShellCommand& command) {
    const std::string_view changer = command.program();
    if (changer != "chmod" && changer != "install" && changer != "setcap") return false;
    const bool mode = std::any_of(command.words.begin() + 1, command.words.end(),
                                  changer == "setcap" ? gives_capability : sets_suid);
    if (!mode) return false;
    return std::any_of(command.words.begin() + 1, command.words.end(), [](std::string_view word) {
      std::string_view name = last_part(word);
      while (!name.empty() && (is_ascii_digit(name.back()) || name.back() == '.')) {
        name.remove_suffix(1);
      }
      return is_one_of(programs, name);
    });
  });
}

bool has_word(const ShellCommand& command, Names names) {
  return std::any_of(command.words.begin(), command.words.end(),
                     [&](std::string_view word) { return is_one_of(names, word); });
}

bool turns_firewall_off(Commands commands, std::string_view) {
  static constexpr std::array<std::string_view, 12> services{
      "firewalld",         "ufw",         "iptables",         "ip6tables",        "nftables",
      "firewalld.service", "ufw.service", "nftables.service", "iptables.service", "apparmor",
      "fail2ban",          "pf"};
  static constexpr std::array<std::string_view, 5> stops{"stop", "disable", "mask", "kill", "off"};
  static constexpr std::array<std::string_view, 2> flushes{"-F", "--flush"};
  static constexpr std::array<std::string_view, 2> ufw{"disable", "reset"};
  static constexpr std::array<std::string_view, 1> flush{"flush"};
  static constexpr std::array<std::string_view, 1> pf{"-d"};
  return any_command(commands, [](const ShellCommand& command) {
    const std::string_view program = command.program();
    if (program == "ufw") return has_word(command, ufw);
    if (program == "iptables" || program == "ip6tables") return has_word(command, flushes);
    if (program == "nft") return has_word(command, flush);
    if (program == "pfctl") return has_word(command, pf);
    const bool service = program == "systemctl" || program == "service" ||
                         program == "rc-service" || program == "launchctl" ||
                         program == "chkconfig";
    return service && has_word(command, services) && has_word(command, stops);
  });
}

bool changes_sshd(Commands commands, std::string_view) {
  return any_command(commands, [](const ShellCommand& command) {
    return uses_path(
        command, [](std::string_view place) { return place.starts_with("/etc/ssh/sshd_config"); });
  });
}

bool is_core_package(std::string_view word) {
  static constexpr std::array<std::string_view, 20> names{
      "systemd", "kernel", "glibc",      "libc6", "bash", "coreutils", "init",
      "sudo",    "dpkg",   "apt",        "rpm",   "yum",  "dnf",       "pacman",
      "openssh", "linux",  "util-linux", "udev",  "grub", "libc-bin"};
  static constexpr std::array<std::string_view, 6> prefixes{
      "linux-image", "linux-kernel", "kernel-", "grub-", "systemd-", "glibc-"};
  return is_one_of(names, word) ||
         std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return word.starts_with(prefix); });
}

bool removes_core_package(Commands commands, std::string_view) {
  static constexpr std::array<std::string_view, 12> managers{
      "apt",    "apt-get", "aptitude", "yum", "dnf",  "pacman",
      "zypper", "apk",     "dpkg",     "rpm", "brew", "emerge"};
  static constexpr std::array<std::string_view, 14> verbs{
      "remove",   "purge",   "erase", "autoremove", "del", "delete",  "uninstall",
      "--remove", "--purge", "-r",    "-P",         "-e",  "--erase", "rm"};
  return any_command(commands, [](const ShellCommand& command) {
    if (!is_one_of(managers, command.program())) return false;
    const bool pacman = command.program() == "pacman" &&
                        std::any_of(command.words.begin() + 1, command.words.end(),
                                    [](std::string_view word) { return word.starts_with("-R"); });
    if (!pacman && !has_word(command, verbs)) return false;
    return std::any_of(command.words.begin() + 1, command.words.end(), is_core_package);
  });
}

constexpr bool hard = true;
constexpr bool soft = false;

constexpr std::array default_rows{
    BlacklistRow{"rmHomeDir", hard, removes_home, nullptr},
    BlacklistRow{"rmRootDir", hard, removes_root, nullptr},
    BlacklistRow{"rmForceRecursive", hard, removes_current, nullptr},
    BlacklistRow{"etcPasswd", hard, touches_passwd, nullptr},
    BlacklistRow{"sudoers", hard, touches_sudoers, nullptr},
    BlacklistRow{"forkBomb", hard, is_fork_bomb, nullptr},
    BlacklistRow{"ddDiskWrite", hard, writes_disk, nullptr},
    BlacklistRow{"formatPartition", hard, changes_partitions, nullptr},
    BlacklistRow{"kernelParams", hard, writes_kernel, nullptr},
    BlacklistRow{"directMemoryAccess", hard, reads_memory, nullptr},
    BlacklistRow{"chownSystemDirs", hard, owns_system, nullptr},
    BlacklistRow{"suidShells", hard, gives_suid_shell, nullptr},
    BlacklistRow{"disableFirewall", soft, turns_firewall_off, nullptr},
    BlacklistRow{"sshConfig", soft, changes_sshd, nullptr},
    BlacklistRow{"removeSystemPackages", soft, removes_core_package, nullptr},
    BlacklistRow{"envFiles", soft, reads<is_env_file>, is_path_of<is_env_file>},
    BlacklistRow{"sshPrivateKeys", soft, reads<is_ssh_key>, is_path_of<is_ssh_key>},
    BlacklistRow{"awsCredentials", soft, reads<is_aws>, is_path_of<is_aws>},
    BlacklistRow{"dockerConfig", soft, reads<is_docker>, is_path_of<is_docker>},
    BlacklistRow{"kubeConfig", soft, reads<is_kube>, is_path_of<is_kube>},
    BlacklistRow{"gitCredentials", soft, reads<is_git>, is_path_of<is_git>},
    BlacklistRow{"npmrc", soft, reads<is_npmrc>, is_path_of<is_npmrc>},
    BlacklistRow{"historyFiles", soft, reads<is_history>, is_path_of<is_history>},
    BlacklistRow{"browserCredentials", soft, reads_browser, nullptr},
    BlacklistRow{"gcpCredentials", soft, reads<is_gcp>, is_path_of<is_gcp>}};

struct PredicateRow {
  std::string_view predicate;
  std::string_view row;
};

// Other names of rows, as stored rules have them.
// Source: LobeHub's default blacklist, 2026-06.
constexpr std::array predicates{PredicateRow{"rmRecursiveHomeTarget", "rmHomeDir"},
                                PredicateRow{"rmRecursiveRootTarget", "rmRootDir"},
                                PredicateRow{"rmForceDotTarget", "rmForceRecursive"}};

void append_rule(std::string& out, const BlacklistRow& row, std::string_view argument,
                 std::string_view type) {
  if (out.size() > 1) out.push_back(',');
  out.append(R"({"description":"securityBlacklist.)").append(row.name);
  out.append(R"(","match":{")").append(argument);
  out.append(R"(":{"type":")").append(type);
  out.append(R"(","pattern":")").append(row.name).append(R"("}})");
  if (!row.hard) out.append(R"(,"policy":"required")");
  out.push_back('}');
}

}  // namespace

std::span<const BlacklistRow> blacklist_rows() {
  return default_rows;
}

const BlacklistRow* find_blacklist_row(std::string_view name) {
  const auto* other = std::find_if(predicates.begin(), predicates.end(),
                                   [&](const PredicateRow& r) { return r.predicate == name; });
  if (other != predicates.end()) name = other->row;
  const auto* row = std::find_if(default_rows.begin(), default_rows.end(),
                                 [&](const BlacklistRow& r) { return r.name == name; });
  return row == default_rows.end() ? nullptr : row;
}

std::string_view default_blacklist_json() {
  // Never destroyed: at the end of a process the engine's thread may still read it.
  static const std::string& json = *new std::string([] {
    std::string out = "[";
    for (const BlacklistRow& row : default_rows) {
      append_rule(out, row, "command", "semanticShell");
      if (row.path != nullptr) append_rule(out, row, "path", "sensitivePath");
    }
    out.push_back(']');
    return out;
  }());
  return json;
}

}  // namespace millrace::agent
