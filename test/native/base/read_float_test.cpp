#include "base/read_float.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <clocale>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <string_view>

using namespace millrace;

namespace {

using std::chars_format;
using std::errc;
constexpr double untouched = 42;

struct Row {
  std::string text;
  double value = untouched;
  errc error{};
  std::size_t size = 0;
  chars_format format = chars_format::general;
};

const Row rows[] = {
    {"0", 0, {}, 1},
    {"-0", -0.0, {}, 2},
    {"17", 17, {}, 2},
    {"-1.5e3,", -1500, {}, 6},
    {"1E+2", 100, {}, 4},
    {".5", 0.5, {}, 2},
    {"5.", 5, {}, 2},
    {"5,5", 5, {}, 1},
    {"1e", 1, {}, 1},
    {"1e+", 1, {}, 1},
    {"1e5", 1, {}, 1, chars_format::fixed},
    {"0x10", 0, {}, 1},
    {"0.1", 0.1, {}, 3},
    {"3.141592653589793116", 3.141592653589793, {}, 20},
    {"9007199254740993", 9007199254740992.0, {}, 16},
    {"0." + std::string(400, '0') + "1e401", 1, {}, 407},
    {"1" + std::string(400, '0') + "e-400", 1, {}, 406},
    {"1.7976931348623157e308", std::numeric_limits<double>::max(), {}, 22},
    {"2.2250738585072011e-308", 2.225073858507201e-308, {}, 23},
    {"4.9e-324", std::numeric_limits<double>::denorm_min(), {}, 8},
    {"0e99999999999999999999", 0, {}, 22},
    {"1e400", untouched, errc::result_out_of_range, 5},
    {"-1e400", untouched, errc::result_out_of_range, 6},
    {"1e-400", untouched, errc::result_out_of_range, 6},
    {"1e99999999999999999999", untouched, errc::result_out_of_range, 22},
    {"ff", 255, {}, 2, chars_format::hex},
    {"-1.8", -1.5, {}, 4, chars_format::hex},
    {"20000000000001", 9007199254740993.0, {}, 14, chars_format::hex},
    {"0x10", 0, {}, 1, chars_format::hex},
    {std::string(300, 'f'), untouched, errc::result_out_of_range, 300, chars_format::hex},
    {"", untouched, errc::invalid_argument},
    {"-", untouched, errc::invalid_argument},
    {".", untouched, errc::invalid_argument},
    {"-.e1", untouched, errc::invalid_argument},
    {"+1", untouched, errc::invalid_argument},
    {" 1", untouched, errc::invalid_argument},
    {"e1", untouched, errc::invalid_argument},
    {"inf", untouched, errc::invalid_argument},
    {"-Infinity", untouched, errc::invalid_argument},
    {"nan", untouched, errc::invalid_argument},
    {"-NaN", untouched, errc::invalid_argument},
};

// A zero's sign counts, too.
std::uint64_t bits(double value) {
  return std::bit_cast<std::uint64_t>(value);
}

template <class Read>
void expect_rows(Read read) {
  for (const Row& row : rows) {
    double value = untouched;
    const char* const first = row.text.data();
    const auto [end, error] = read(first, first + row.text.size(), value, row.format);
    EXPECT_EQ(bits(value), bits(row.value)) << row.text << " is " << value;
    EXPECT_EQ(error, row.error) << row.text;
    EXPECT_EQ(end - first, static_cast<std::ptrdiff_t>(row.size)) << row.text;
  }
}

// Lambdas, since each is the name of several functions.
constexpr auto by_library = [](auto&&... all) { return read_float(all...); };
constexpr auto portably = [](auto&&... all) { return read_float_portably(all...); };

std::string random_number(std::mt19937_64& random) {
  static constexpr std::string_view alphabet = "00112345678999..eE-+";
  std::string text;
  for (auto size = 1 + random() % 24; size > 0; --size)
    text += alphabet[random() % alphabet.size()];
  return text;
}

// With a comma for the point; empty when this machine has no such locale.
std::string comma_locale() {
  for (const char* name : {"de_DE.UTF-8", "tr_TR.UTF-8", "fr_FR.UTF-8"}) {
    if (std::setlocale(LC_ALL, name) && std::string_view(std::localeconv()->decimal_point) == ",") {
      return name;
    }
  }
  return {};
}

}  // namespace

TEST(ReadFloat, ReadsHardCases) {
  expect_rows(by_library);
}

TEST(ReadFloat, ReadsHardCasesPortably) {
  expect_rows(portably);
}

TEST(ReadFloat, BothWaysReadTheSame) {
  const auto seed = std::random_device{}();
  std::mt19937_64 random(seed);
  for (int count = 0; count < 20'000; ++count) {
    const std::string text = random_number(random);
    const char* const last = text.data() + text.size();
    for (const auto format : {chars_format::general, chars_format::fixed, chars_format::hex}) {
      double one = untouched;
      double other = untouched;
      const auto first = by_library(text.data(), last, one, format);
      const auto second = portably(text.data(), last, other, format);
      ASSERT_EQ(bits(one), bits(other)) << text << ", seed " << seed;
      ASSERT_EQ(first.ec, second.ec) << text << ", seed " << seed;
      ASSERT_EQ(first.ptr, second.ptr) << text << ", seed " << seed;
    }
  }
}

TEST(ReadFloat, ReadsEveryDoubleThatWasWritten) {
  const auto seed = std::random_device{}();
  std::mt19937_64 random(seed);
  for (int count = 0; count < 20'000; ++count) {
    const auto value = std::bit_cast<double>(random());
    if (value != value || value - value != 0) continue;
    std::array<char, 32> digits{};
    const char* const end = std::to_chars(digits.begin(), digits.end(), value).ptr;
    double read = untouched;
    const auto done = portably(digits.data(), end, read, chars_format::general);
    ASSERT_EQ(bits(read), bits(value)) << value << ", seed " << seed;
    ASSERT_EQ(done.ptr, end) << value << ", seed " << seed;
  }
}

TEST(ReadFloat, ReadsLongDoubles) {
  const std::string text = "12345678901234567.25e-3";
  const char* const last = text.data() + text.size();
  long double one = untouched;
  long double other = untouched;
  EXPECT_EQ(read_float(text.data(), last, one).ptr, last);
  EXPECT_EQ(portably(text.data(), last, other, chars_format::general).ptr, last);
  EXPECT_EQ(one, 12345678901234567.25e-3L);
  EXPECT_EQ(other, 12345678901234567.25e-3L);
}

TEST(ReadFloat, AsksNoLocale) {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  const std::string name = comma_locale();
  if (!name.empty()) {
    expect_rows(by_library);
    expect_rows(portably);
  }
  std::setlocale(LC_ALL, before.c_str());
  if (name.empty())
    GTEST_SKIP() << "no locale with a comma: localedef -i de_DE -f UTF-8 de_DE.UTF-8";
}
