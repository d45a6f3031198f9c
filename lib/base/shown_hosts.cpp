#include "base/shown_hosts.hpp"

namespace millrace {
namespace {

constexpr std::string_view mark = "://";
// As the error of a lookup has it.
constexpr std::string_view name_mark = "The host name ";

// Where the next host of a text begins.
std::size_t next_host(std::string_view text) {
  const std::size_t url = text.find(mark);
  const std::size_t name = text.find(name_mark);
  if (name < url) return name + name_mark.size();
  return url == text.npos ? url : url + mark.size();
}

// What begins with an authority, without the user and password.
std::string_view host_at(std::string_view text) {
  text = text.substr(0, text.find_first_of("/?#'\"`,; \t\r\n)"));
  if (const std::size_t at = text.rfind('@'); at != text.npos) text.remove_prefix(at + 1);
  const std::size_t bracket = text.starts_with('[') ? text.find(']') : text.npos;
  if (bracket != text.npos) return text.substr(0, bracket + 1);
  std::string_view host = text.substr(0, text.find(':'));
  // The end of the sentence.
  while (host.ends_with('.')) host.remove_suffix(1);
  return host;
}

}  // namespace

std::string masked_host(std::string_view host) {
  const std::size_t dot = host.find('.');
  const bool has_domain = dot != host.npos && host.find('.', dot + 1) != host.npos &&
                          host.find_first_not_of("0123456789.") != host.npos &&
                          !host.starts_with('[');
  return "***" + std::string(has_domain ? host.substr(dot) : std::string_view());
}

std::string_view host_in(std::string_view url) {
  const std::size_t scheme = url.find(mark);
  return scheme == url.npos ? std::string_view() : host_at(url.substr(scheme + mark.size()));
}

std::string without_hosts(std::string_view text, std::string_view only) {
  std::string out;
  for (std::size_t at = next_host(text); at != text.npos; at = next_host(text)) {
    out.append(text.substr(0, at));
    text.remove_prefix(at);
    const std::string_view host = host_at(text);
    if (host.empty() || (!only.empty() && host != only)) continue;
    // What is before the host proves who asks.
    text.remove_prefix(static_cast<std::size_t>(host.data() - text.data()) + host.size());
    out.append(masked_host(host));
  }
  return out.append(text);
}

}  // namespace millrace
