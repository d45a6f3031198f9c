// The readable text of an HTML page, while it arrives. A scan of tags, not a tree: its time grows
// with the length of the page alone, it has no recursion, and what it keeps is the text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace millrace::tool {

// Thread: any, one at a time.
class HtmlText {
 public:
  // What is longer than `limit` bytes of text is left out.
  explicit HtmlText(std::size_t limit) : limit_(limit) {}

  void feed(std::string_view html);
  // Ends the page. Blocks stand on lines of their own, headings begin with #, items with -, the
  // address of a link stands behind it in parentheses.
  void finish();

  [[nodiscard]] const std::string& title() const { return title_; }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] bool is_cut() const { return is_cut_; }

 private:
  // Takes what is complete; gives how many bytes that was.
  std::size_t scan(std::string_view html, bool is_last);
  std::size_t skip(std::string_view html, bool is_last);
  std::size_t markup(std::string_view html, bool is_last);
  std::size_t reference(std::string_view html, bool is_last);
  void tag(std::string_view inside);
  void open(std::string_view name, std::string_view attributes);
  void close(std::string_view name);
  void characters(std::string_view decoded);
  void append(std::string_view piece);
  void wish_breaks(std::size_t breaks);

  std::size_t limit_;
  std::string held_;  // may still become a tag or a reference
  std::string title_;
  std::string text_;
  std::string skip_until_;  // what ends the part that is not shown, or ""
  std::string link_;        // the address of the open link
  std::size_t link_at_ = 0;
  std::size_t wanted_breaks_ = 0;
  bool wants_blank_ = false;
  bool is_title_ = false;
  bool is_pre_ = false;
  bool is_cut_ = false;
};

// The label of the charset that the first bytes of a page declare in an XML declaration, <meta
// charset> or <meta http-equiv="Content-Type">, or "".
std::string declared_charset(std::string_view html);

}  // namespace millrace::tool
