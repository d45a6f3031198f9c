#include "tool/builtin/calculator.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numbers>
#include <optional>
#include <vector>

#include "base/read_float.hpp"
#include "base/shown.hpp"
#include "base/utf8.hpp"

namespace millrace::tool {
namespace {

// 64 bits of mantissa where the machine has them: whole numbers stay exact for longer.
using Number = long double;

constexpr std::size_t expression_limit = 1'000;
constexpr int depth_limit = 64;

using Arguments = std::vector<Number>;

struct Function {
  std::string_view name;
  std::size_t least;
  std::size_t most;
  Number (*apply)(const Arguments& arguments);
};

template <Number (*F)(Number)>
Number of_one(const Arguments& arguments) {
  return F(arguments[0]);
}

constexpr std::size_t any_number = 100;
constexpr std::array functions{
    Function{"abs", 1, 1, of_one<std::fabs>},
    Function{"acos", 1, 1, of_one<std::acos>},
    Function{"asin", 1, 1, of_one<std::asin>},
    Function{"atan", 1, 1, of_one<std::atan>},
    Function{"atan2", 2, 2, [](const Arguments& a) { return std::atan2(a[0], a[1]); }},
    Function{"cbrt", 1, 1, of_one<std::cbrt>},
    Function{"ceil", 1, 1, of_one<std::ceil>},
    Function{"cos", 1, 1, of_one<std::cos>},
    Function{"exp", 1, 1, of_one<std::exp>},
    Function{"floor", 1, 1, of_one<std::floor>},
    Function{"hypot", 2, 2, [](const Arguments& a) { return std::hypot(a[0], a[1]); }},
    Function{"ln", 1, 1, of_one<std::log>},
    Function{"log", 1, 2,
             [](const Arguments& a) {
               return a.size() == 1 ? std::log10(a[0]) : std::log(a[0]) / std::log(a[1]);
             }},
    Function{"log10", 1, 1, of_one<std::log10>},
    Function{"log2", 1, 1, of_one<std::log2>},
    Function{"max", 1, any_number,
             [](const Arguments& a) { return *std::max_element(a.begin(), a.end()); }},
    Function{"min", 1, any_number,
             [](const Arguments& a) { return *std::min_element(a.begin(), a.end()); }},
    Function{"round", 1, 2,
             [](const Arguments& a) {
               const Number scale = a.size() == 1 ? 1 : std::pow(Number{10}, std::trunc(a[1]));
               return std::round(a[0] * scale) / scale;
             }},
    Function{"sin", 1, 1, of_one<std::sin>},
    Function{"sqrt", 1, 1, of_one<std::sqrt>},
    Function{"tan", 1, 1, of_one<std::tan>},
    Function{"trunc", 1, 1, of_one<std::trunc>}};

struct Constant {
  std::string_view name;
  Number value;
};
constexpr std::array constants{Constant{"e", std::numbers::e_v<Number>},
                               Constant{"pi", std::numbers::pi_v<Number>},
                               Constant{"tau", 2 * std::numbers::pi_v<Number>}};

// Signs as people and models print them.
constexpr std::string_view times = "\xC3\x97";
constexpr std::string_view division = "\xC3\xB7";
constexpr std::string_view dot = "\xC2\xB7";
constexpr std::string_view minus = "\xE2\x88\x92";
constexpr std::string_view root = "\xE2\x88\x9A";
constexpr std::string_view pi_sign = "\xCF\x80";

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool begins_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// Reads from left to right; the first error ends everything.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Result<Number> read() {
    const Number value = sum();
    skip_blanks();
    if (!error_ && at_ < text_.size()) fail_here();
    if (error_) return *error_;
    if (!std::isfinite(value)) {
      return make_error(Errc::invalid_argument,
                        "The result of " + shown_text(text_) + " is not a finite number.");
    }
    return value;
  }

 private:
  void fail(const std::string& what) {
    if (error_) return;
    error_ =
        make_error(Errc::invalid_argument, "The expression cannot be calculated: " + what +
                                               " at character " + std::to_string(at_ + 1) + ".");
  }

  // What stands here has no place here, as a whole character.
  void fail_here() {
    const std::string_view rest = text_.substr(at_);
    const std::size_t size = std::max(utf8::sequence_length(rest), std::size_t{1});
    fail("'" + std::string(rest.substr(0, size)) + "' is not expected");
  }

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) {
      ++at_;
    }
  }

  bool take(std::string_view sign) {
    skip_blanks();
    if (!text_.substr(at_).starts_with(sign)) return false;
    at_ += sign.size();
    return true;
  }

  bool take_minus() { return take("-") || take(minus); }

  Number sum() {
    if (++depth_ > depth_limit) {
      fail("it is nested too deep");
      return 0;
    }
    Number value = product();
    while (!error_) {
      if (take("+")) {
        value += product();
      } else if (take_minus()) {
        value -= product();
      } else {
        break;
      }
    }
    --depth_;
    return value;
  }

  Number product() {
    Number value = signed_power();
    while (!error_) {
      skip_blanks();
      if (text_.substr(at_).starts_with("**")) break;
      const bool is_product = take("*") || take(times) || take(dot);
      const bool is_quotient = !is_product && (take("/") || take(division));
      if (!is_product && !is_quotient && !take_remainder()) break;
      const Number right = signed_power();
      if (!is_product && right == 0) fail("a division by zero");
      if (error_) break;
      value = is_product ? value * right : is_quotient ? value / right : std::fmod(value, right);
    }
    return value;
  }

  bool take_remainder() {
    if (take("%")) {
      // A percentage would be one thing in a product and another in a sum.
      skip_blanks();
      if (at_ >= text_.size() || std::string_view("),*/%^").find(text_[at_]) != text_.npos) {
        fail(
            "% is the remainder of a division and needs a second number; write 5 percent as 5/100");
      }
      return true;
    }
    const std::string_view rest = text_.substr(at_);
    constexpr std::string_view word = "mod";
    const bool is_word = rest.starts_with(word) &&
                         (rest.size() == word.size() ||
                          (!begins_name(rest[word.size()]) && !is_digit(rest[word.size()])));
    if (is_word) at_ += word.size();
    return is_word;
  }

  Number signed_power() {
    bool is_negative = false;
    for (;;) {
      if (take_minus()) {
        is_negative = !is_negative;
      } else if (!take("+")) {
        break;
      }
    }
    const Number value = power();
    return is_negative ? -value : value;
  }

  Number power() {
    const Number base = atom();
    if (!take("^") && !take("**")) return base;
    if (++depth_ > depth_limit) {
      fail("it is nested too deep");
      return 0;
    }
    const Number exponent = signed_power();
    --depth_;
    return std::pow(base, exponent);
  }

  Number atom() {
    skip_blanks();
    if (error_ || at_ >= text_.size()) {
      fail("a number is missing");
      return 0;
    }
    if (take("(")) {
      const Number value = sum();
      if (!take(")")) fail("a closing parenthesis is missing");
      return value;
    }
    if (take(pi_sign)) return std::numbers::pi_v<Number>;
    if (take(root)) return root_of();
    const char c = text_[at_];
    if (is_digit(c) || c == '.') return number();
    if (begins_name(c)) return named();
    fail_here();
    return 0;
  }

  // The sign stands before one number, or before a sum in parentheses.
  Number root_of() {
    if (++depth_ > depth_limit) {
      fail("it is nested too deep");
      return 0;
    }
    const Number value = std::sqrt(atom());
    --depth_;
    return value;
  }

  std::size_t digits() {
    const std::size_t first = at_;
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    return at_ - first;
  }

  Number number() {
    std::size_t first = at_;
    auto format = std::chars_format::general;
    if (text_.substr(at_).starts_with("0x") || text_.substr(at_).starts_with("0X")) {
      first = at_ += 2;
      format = std::chars_format::hex;
      const std::size_t end = text_.find_first_not_of("0123456789abcdefABCDEF", at_);
      const std::size_t count = std::min(end, text_.size()) - at_;
      at_ += count;
      if (count == 0) fail("hexadecimal digits are missing");
    } else {
      std::size_t count = digits();
      if (at_ < text_.size() && text_[at_] == '.') {
        ++at_;
        count += digits();
      }
      if (count == 0) fail("a digit is missing");
      exponent();
    }
    if (error_) return 0;
    Number value = 0;
    const auto read = read_float(text_.data() + first, text_.data() + at_, value, format);
    if (read.ec != std::errc{}) fail("a number is too large or too small");
    return value;
  }

  // An e that no digits follow is a name, as in "2e".
  void exponent() {
    if (at_ >= text_.size() || (text_[at_] != 'e' && text_[at_] != 'E')) return;
    const std::size_t before = at_++;
    if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
    if (digits() == 0) at_ = before;
  }

  Number named() {
    const std::size_t first = at_;
    while (at_ < text_.size() && (begins_name(text_[at_]) || is_digit(text_[at_]))) ++at_;
    std::string name(text_.substr(first, at_ - first));
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    const auto constant = std::find_if(constants.begin(), constants.end(),
                                       [&](const Constant& row) { return row.name == name; });
    if (constant != constants.end()) return constant->value;
    const auto function = std::find_if(functions.begin(), functions.end(),
                                       [&](const Function& row) { return row.name == name; });
    if (function == functions.end()) {
      at_ = first;
      fail("'" + name + "' is neither a constant nor a function");
      return 0;
    }
    return call(*function);
  }

  Number call(const Function& function) {
    if (!take("(")) {
      fail("'(' is missing");
      return 0;
    }
    Arguments arguments;
    do {
      arguments.push_back(sum());
    } while (!error_ && take(",") && arguments.size() < any_number);
    if (!take(")")) fail("a closing parenthesis is missing");
    if (arguments.size() < function.least || arguments.size() > function.most) {
      fail("the number of arguments of " + std::string(function.name) + " is wrong");
    }
    return error_ ? 0 : function.apply(arguments);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::optional<Error> error_;
};

}  // namespace

Result<std::string> calculate(std::string_view expression) {
  if (expression.size() > expression_limit) {
    return make_error(Errc::invalid_argument,
                      "The expression is longer than 1,000 bytes; split it.");
  }
  const auto value = Reader(expression).read();
  if (!value) return value.error();
  constexpr Number exact_limit = 9.2e18L;
  std::array<char, 64> text{};
  const auto write = [&](Number number, std::chars_format format, int digits) {
    const auto end = std::to_chars(text.begin(), text.end(), number, format, digits).ptr;
    return std::string(text.begin(), end);
  };
  const bool is_whole =
      std::fabs(value.value()) < exact_limit && std::trunc(value.value()) == value.value();
  // Adding zero turns -0 into 0.
  constexpr int significant = 15;
  return is_whole ? write(value.value() + 0, std::chars_format::fixed, 0)
                  : write(value.value(), std::chars_format::general, significant);
}

}  // namespace millrace::tool
