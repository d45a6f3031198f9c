#include "schema/unicode.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace millrace::schema {
namespace {

enum class C : std::uint8_t {
  Lu,
  Ll,
  Lt,
  Lm,
  Lo,
  Mn,
  Mc,
  Me,
  Nd,
  Nl,
  No,
  Pc,
  Pd,
  Ps,
  Pe,
  Pi,
  Pf,
  Po,
  Sm,
  Sc,
  Sk,
  So,
  Zs,
  Zl,
  Zp,
  Cc,
  Cf,
  Cs,
  Co
};

struct Row {
  char32_t first;
  char32_t last;
  C category;
};
constexpr Row rows[] = {
#include "schema/unicode_categories.inc"
};

using Mask = std::uint32_t;

constexpr Mask up_to(C last) {
  return (Mask{2} << static_cast<unsigned>(last)) - 1;
}
constexpr Mask mask(C first, C last) {
  return up_to(last) & ~(up_to(first) >> 1U);
}
constexpr Mask mask(C one) {
  return mask(one, one);
}

struct Name {
  std::string_view brief;
  std::string_view whole;
  Mask mask;
};
constexpr std::array names{
    Name{"L", "Letter", mask(C::Lu, C::Lo)}, Name{"LC", "Cased_Letter", mask(C::Lu, C::Lt)},
    Name{"Lu", "Uppercase_Letter", mask(C::Lu)}, Name{"Ll", "Lowercase_Letter", mask(C::Ll)},
    Name{"Lt", "Titlecase_Letter", mask(C::Lt)}, Name{"Lm", "Modifier_Letter", mask(C::Lm)},
    Name{"Lo", "Other_Letter", mask(C::Lo)}, Name{"M", "Mark", mask(C::Mn, C::Me)},
    Name{"Mn", "Nonspacing_Mark", mask(C::Mn)}, Name{"Mc", "Spacing_Mark", mask(C::Mc)},
    Name{"Me", "Enclosing_Mark", mask(C::Me)}, Name{"N", "Number", mask(C::Nd, C::No)},
    Name{"Nd", "Decimal_Number", mask(C::Nd)}, Name{"Nl", "Letter_Number", mask(C::Nl)},
    Name{"No", "Other_Number", mask(C::No)}, Name{"P", "Punctuation", mask(C::Pc, C::Po)},
    Name{"Pc", "Connector_Punctuation", mask(C::Pc)}, Name{"Pd", "Dash_Punctuation", mask(C::Pd)},
    Name{"Ps", "Open_Punctuation", mask(C::Ps)}, Name{"Pe", "Close_Punctuation", mask(C::Pe)},
    Name{"Pi", "Initial_Punctuation", mask(C::Pi)}, Name{"Pf", "Final_Punctuation", mask(C::Pf)},
    Name{"Po", "Other_Punctuation", mask(C::Po)}, Name{"S", "Symbol", mask(C::Sm, C::So)},
    Name{"Sm", "Math_Symbol", mask(C::Sm)}, Name{"Sc", "Currency_Symbol", mask(C::Sc)},
    Name{"Sk", "Modifier_Symbol", mask(C::Sk)}, Name{"So", "Other_Symbol", mask(C::So)},
    Name{"Z", "Separator", mask(C::Zs, C::Zp)}, Name{"Zs", "Space_Separator", mask(C::Zs)},
    Name{"Zl", "Line_Separator", mask(C::Zl)}, Name{"Zp", "Paragraph_Separator", mask(C::Zp)},
    Name{"Cc", "Control", mask(C::Cc)}, Name{"Cf", "Format", mask(C::Cf)},
    Name{"Cs", "Surrogate", mask(C::Cs)}, Name{"Co", "Private_Use", mask(C::Co)},
    // Other names of the same.
    Name{"digit", "digit", mask(C::Nd)}, Name{"punct", "punct", mask(C::Pc, C::Po)},
    Name{"Combining_Mark", "Combining_Mark", mask(C::Mn, C::Me)},
    Name{"cntrl", "cntrl", mask(C::Cc)}};

constexpr char32_t last_ascii = 0x7F;
constexpr char32_t last_point = 0x10FFFF;

std::vector<CodePoints> inverted(const std::vector<CodePoints>& ranges) {
  std::vector<CodePoints> others;
  char32_t next = 0;
  for (const CodePoints& range : ranges) {
    if (range.first > next) others.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next <= last_point) others.push_back({next, last_point});
  return others;
}

std::optional<std::vector<CodePoints>> find_property(std::string_view property) {
  for (const std::string_view prefix : {"General_Category=", "gc="}) {
    if (property.starts_with(prefix)) property.remove_prefix(prefix.size());
  }
  if (property == "Any") return std::vector<CodePoints>{{0, last_point}};
  if (property == "ASCII") return std::vector<CodePoints>{{0, last_ascii}};
  const auto* name = std::find_if(names.begin(), names.end(), [&](const Name& one) {
    return one.brief == property || one.whole == property;
  });
  if (name == names.end()) return std::nullopt;
  std::vector<CodePoints> ranges;
  for (const Row& row : rows) {
    if ((name->mask & mask(row.category)) == 0) continue;
    if (!ranges.empty() && ranges.back().last + 1 == row.first) {
      ranges.back().last = row.last;
    } else {
      ranges.push_back({row.first, row.last});
    }
  }
  return ranges;
}

}  // namespace

std::optional<std::vector<CodePoints>> code_points_of(std::string_view property, bool others) {
  auto found = find_property(property);
  return found && others ? std::optional(inverted(*found)) : std::move(found);
}

}  // namespace millrace::schema
