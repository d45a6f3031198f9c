#include "tool/builtin/html_text.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/ascii.hpp"
#include "base/utf8.hpp"
#include "tool/builtin/html_references.hpp"

namespace millrace::tool {
namespace {

constexpr std::size_t tag_limit = std::size_t{64} << 10U;
constexpr std::size_t link_limit = 500;
constexpr std::string_view blanks = " \t\r\n\f";

// Elements whose content is not for readers, and is not HTML either.
constexpr std::array<std::string_view, 9> hidden{"script", "style",  "noscript", "template", "svg",
                                                 "iframe", "object", "textarea", "math"};

struct Element {
  std::string_view name;
  std::size_t breaks;       // line ends before and behind
  std::string_view prefix;  // of the element's first line
};
constexpr std::array elements{
    Element{"address", 1, ""},    Element{"article", 2, ""},  Element{"aside", 2, ""},
    Element{"blockquote", 2, ""}, Element{"br", 1, ""},       Element{"caption", 1, ""},
    Element{"dd", 1, ""},         Element{"div", 1, ""},      Element{"dl", 2, ""},
    Element{"dt", 1, ""},         Element{"fieldset", 1, ""}, Element{"figcaption", 1, ""},
    Element{"figure", 2, ""},     Element{"footer", 2, ""},   Element{"form", 1, ""},
    Element{"h1", 2, "# "},       Element{"h2", 2, "## "},    Element{"h3", 2, "### "},
    Element{"h4", 2, "#### "},    Element{"h5", 2, "##### "}, Element{"h6", 2, "###### "},
    Element{"header", 2, ""},     Element{"hr", 2, ""},       Element{"li", 1, "- "},
    Element{"main", 2, ""},       Element{"nav", 2, ""},      Element{"ol", 2, ""},
    Element{"option", 1, ""},     Element{"p", 2, ""},        Element{"pre", 2, ""},
    Element{"section", 2, ""},    Element{"summary", 1, ""},  Element{"table", 2, ""},
    Element{"tr", 1, ""},         Element{"ul", 2, ""}};

bool is_letter(char c) {
  return to_lower(c) >= 'a' && to_lower(c) <= 'z';
}
bool is_blank(char c) {
  return blanks.find(c) != std::string_view::npos;
}

const Element* find_element(std::string_view name) {
  const auto found = std::find_if(elements.begin(), elements.end(),
                                  [&](const Element& row) { return row.name == name; });
  return found == elements.end() ? nullptr : &*found;
}

// The value of an attribute, or "".
std::string attribute(std::string_view text, std::string_view wanted) {
  while (!text.empty()) {
    const std::size_t first = text.find_first_not_of(" \t\r\n\f/");
    if (first == std::string_view::npos) break;
    text.remove_prefix(first);
    const std::size_t name_end = std::min(text.find_first_of(" \t\r\n\f/=", 1), text.size());
    const std::string name = lowered(text.substr(0, name_end));
    text.remove_prefix(name_end);
    const std::size_t sign = text.find_first_not_of(blanks);
    std::string_view value;
    if (sign != std::string_view::npos && text[sign] == '=') {
      text.remove_prefix(sign + 1);
      text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
      const bool is_quoted = text.starts_with('"') || text.starts_with('\'');
      const std::size_t end = is_quoted ? text.find(text.front(), 1) : text.find_first_of(blanks);
      value = is_quoted ? text.substr(1, end == std::string_view::npos ? end : end - 1)
                        : text.substr(0, end);
      text.remove_prefix(std::min(end == std::string_view::npos ? end : end + 1, text.size()));
    }
    if (name == wanted) return with_characters(value);
  }
  return {};
}

// Where the tag that opens at 0 ends: the place of its ">", outside of quotes.
std::size_t tag_end(std::string_view html) {
  char quote = 0;
  for (std::size_t at = 1; at < html.size(); ++at) {
    const char c = html[at];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '>') {
      return at;
    } else if ((c == '"' || c == '\'') && html[at - 1] == '=') {
      quote = c;
    }
  }
  return std::string_view::npos;
}

// The charset of a value such as "text/html; charset=gbk", or "".
std::string charset_in(std::string_view content) {
  const std::string lower = lowered(content);
  for (std::size_t at = lower.find("charset"); at != std::string::npos;
       at = lower.find("charset", at)) {
    at = std::min(lower.find_first_not_of(blanks, at + std::string_view("charset").size()),
                  lower.size());
    if (at == lower.size() || lower[at] != '=') continue;
    const std::string charset = attribute("charset" + lower.substr(at), "charset");
    return charset.substr(0, charset.find(';'));
  }
  return {};
}

constexpr std::string_view meta = "<meta";

bool is_meta(std::string_view tag) {
  return equal_ignoring_case(tag.substr(0, meta.size()), meta) &&
         tag.find_first_of(" \t\r\n\f/") == meta.size();
}

std::string charset_of_meta(std::string_view attributes) {
  std::string charset = attribute(attributes, "charset");
  if (!charset.empty()) return charset;
  const bool is_type = equal_ignoring_case(attribute(attributes, "http-equiv"), "content-type");
  return is_type ? charset_in(attribute(attributes, "content")) : std::string();
}

}  // namespace

std::string declared_charset(std::string_view html) {
  if (html.starts_with("<?xml")) {
    std::string encoding = attribute(html.substr(0, html.find("?>")), "encoding");
    if (!encoding.empty()) return encoding;
  }
  std::size_t at = html.find('<');
  while (at != std::string_view::npos) {
    html.remove_prefix(at);
    if (html.starts_with("<!--")) {
      at = html.find('<', std::min(html.find("-->", 2), html.size()));
      continue;
    }
    const std::size_t end = tag_end(html);
    if (end != std::string_view::npos && is_meta(html)) {
      std::string charset = charset_of_meta(html.substr(meta.size(), end - meta.size()));
      if (!charset.empty()) return charset;
    }
    at = html.find('<', 1);
  }
  return {};
}

void HtmlText::feed(std::string_view html) {
  if (held_.empty()) {
    held_ = html.substr(scan(html, false));
    return;
  }
  held_.append(html);
  const std::string joined = std::move(held_);
  held_ = joined.substr(scan(joined, false));
}

void HtmlText::finish() {
  const std::string rest = std::exchange(held_, {});
  scan(rest, true);
  title_.erase(title_.find_last_not_of(' ') + 1);
}

std::size_t HtmlText::scan(std::string_view html, bool is_last) {
  std::size_t at = 0;
  while (at < html.size()) {
    const std::string_view rest = html.substr(at);
    std::size_t taken = 0;
    if (!skip_until_.empty()) {
      taken = skip(rest, is_last);
    } else if (rest.front() == '<') {
      taken = markup(rest, is_last);
    } else if (rest.front() == '&') {
      taken = reference(rest, is_last);
    } else {
      taken = std::min(rest.find_first_of("<&"), rest.size());
      characters(rest.substr(0, taken));
    }
    if (taken == 0) break;
    at += taken;
  }
  return at;
}

std::size_t HtmlText::skip(std::string_view html, bool is_last) {
  for (std::size_t at = html.find(skip_until_.front()); at != std::string_view::npos;
       at = html.find(skip_until_.front(), at + 1)) {
    const std::string_view found = html.substr(at, skip_until_.size());
    if (found.size() == skip_until_.size() && lowered(found) == skip_until_) {
      const bool is_comment = skip_until_ == "-->";
      const std::size_t taken = is_comment ? at + skip_until_.size() : at;
      skip_until_.clear();
      // An end tag is read like any other; it may be the first thing that is left.
      return taken == 0 ? markup(html, is_last) : taken;
    }
  }
  if (is_last) return html.size();
  return html.size() - std::min(html.size(), skip_until_.size() - 1);
}

std::size_t HtmlText::markup(std::string_view html, bool is_last) {
  if (html.starts_with("<!--")) {
    skip_until_ = "-->";
    return 4;
  }
  const bool may_be_comment = std::string_view("<!--").starts_with(html) || html == "</";
  if (may_be_comment && !is_last) return 0;
  const char next = html.size() > 1 ? html[1] : '\0';
  const bool is_end = next == '/' && html.size() > 2 && is_letter(html[2]);
  if (!is_letter(next) && !is_end && next != '!' && next != '?') {
    characters(html.substr(0, 1));
    return 1;
  }
  const std::size_t end = tag_end(html);
  if (end == std::string_view::npos) {
    if (!is_last && html.size() < tag_limit) return 0;
    if (is_last) return html.size();  // a tag that never ends is not text
    characters(html.substr(0, 1));
    return 1;
  }
  if (next != '!' && next != '?') tag(html.substr(1, end - 1));
  return end + 1;
}

std::size_t HtmlText::reference(std::string_view html, bool is_last) {
  std::size_t end = 1;
  while (end < html.size() && end <= html_reference_limit &&
         (is_letter(html[end]) || html[end] == '#' || (html[end] >= '0' && html[end] <= '9'))) {
    ++end;
  }
  if (end == html.size() && end <= html_reference_limit && !is_last) return 0;
  const bool is_ended = end < html.size() && html[end] == ';';
  const char32_t code_point = code_point_of(html.substr(1, end - 1));
  const bool is_known = code_point != 0 && (is_ended || html[1] == '#');
  if (!is_known) {
    characters("&");
    return 1;
  }
  std::string text;
  utf8::append_code_point(text, code_point == 0xA0 ? U' ' : code_point);
  characters(text);
  return end + (is_ended ? 1 : 0);
}

void HtmlText::tag(std::string_view inside) {
  const bool is_end = inside.starts_with('/');
  if (is_end) inside.remove_prefix(1);
  const std::size_t name_end = std::min(inside.find_first_of(" \t\r\n\f/"), inside.size());
  const std::string name = lowered(inside.substr(0, name_end));
  if (is_end) {
    close(name);
  } else {
    open(name, inside.substr(name_end));
  }
}

void HtmlText::open(std::string_view name, std::string_view attributes) {
  if (std::find(hidden.begin(), hidden.end(), name) != hidden.end()) {
    if (!attributes.ends_with('/')) skip_until_ = "</" + std::string(name);
    return;
  }
  if (const Element* element = find_element(name)) {
    wish_breaks(element->breaks);
    if (!element->prefix.empty()) append(element->prefix);
  }
  if (name == "title") is_title_ = title_.empty();
  if (name == "pre") is_pre_ = true;
  if (name == "td" || name == "th") wants_blank_ = true;
  if (name == "a") {
    link_ = attribute(attributes, "href");
    link_at_ = text_.size();
    const bool is_web = link_.starts_with("http://") || link_.starts_with("https://");
    if (!is_web || link_.size() > link_limit) link_.clear();
  }
  if (name == "img") characters(attribute(attributes, "alt"));
}

void HtmlText::close(std::string_view name) {
  if (name == "title") is_title_ = false;
  if (name == "pre") is_pre_ = false;
  if (name == "a" && !link_.empty()) {
    const std::string target = std::exchange(link_, {});
    if (text_.size() > link_at_) append(" (" + target + ")");
  }
  if (const Element* element = find_element(name)) wish_breaks(element->breaks);
}

void HtmlText::characters(std::string_view decoded) {
  if (is_title_) {
    constexpr std::size_t title_limit = 300;
    for (const char c : decoded) {
      if (is_blank(c) && (title_.empty() || title_.back() == ' ')) continue;
      if (title_.size() < title_limit) title_.push_back(is_blank(c) ? ' ' : c);
    }
    return;
  }
  if (is_pre_) {
    append(decoded);
    return;
  }
  while (!decoded.empty()) {
    const std::size_t first = std::min(decoded.find_first_not_of(blanks), decoded.size());
    wants_blank_ = wants_blank_ || first > 0;
    decoded.remove_prefix(first);
    const std::size_t end = std::min(decoded.find_first_of(blanks), decoded.size());
    if (end > 0) append(decoded.substr(0, end));
    decoded.remove_prefix(end);
  }
}

void HtmlText::append(std::string_view piece) {
  if (is_cut_) return;
  if (text_.size() + piece.size() + 2 > limit_) {
    is_cut_ = true;
    return;
  }
  if (!text_.empty() && wanted_breaks_ > 0) {
    text_.append(wanted_breaks_, '\n');
  } else if (wants_blank_ && !text_.empty() && !is_blank(text_.back())) {
    text_.push_back(' ');
  }
  wanted_breaks_ = 0;
  wants_blank_ = false;
  text_.append(piece);
}

void HtmlText::wish_breaks(std::size_t breaks) {
  wanted_breaks_ = std::max(wanted_breaks_, breaks);
  wants_blank_ = false;
}

}  // namespace millrace::tool
