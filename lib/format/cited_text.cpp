#include "format/cited_text.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/text_hash.hpp"
#include "format/further_members.hpp"
#include "format/support.hpp"

namespace millrace::format {
namespace {

struct Cited {
  std::size_t begin;
  std::size_t size;
  std::size_t citations;
  std::string members;
};

std::optional<Cited> read_cited(std::string_view json, std::string_view text, std::size_t at) {
  json::Document document(message::depth_limit);
  const auto value = document.parse(json);
  if (!value) return std::nullopt;
  const auto number = [&](std::string_view member) {
    return static_cast<std::size_t>(
        std::max<std::int64_t>(value.value()[member].integer().value_or(0), 0));
  };
  const json::Value members = value.value()[further_kind];
  Cited cited{number("begin"), number("size"), number("citations"), {}};
  if (members.size() > 0) cited.members = members.to_json(json::Surrogates::keep);
  if (cited.size == 0 || (cited.citations == 0 && cited.members.empty()) || cited.begin < at ||
      cited.begin > text.size() || cited.size > text.size() - cited.begin) {
    return std::nullopt;
  }
  const std::string_view piece = text.substr(cited.begin, cited.size);
  if (!TextHash::fits(piece, value.value()["hash"].string())) return std::nullopt;
  return cited;
}

}  // namespace

std::vector<TextPiece> cited_pieces(const message::Message& message, std::string_view provider,
                                    std::string_view text) {
  std::vector<TextPiece> pieces;
  std::size_t at = 0;
  std::size_t citation = 0;
  for (const message::ProviderState& state : message.metadata.provider_state) {
    if (state.provider != provider || state.kind != "cited_text") continue;
    auto cited = read_cited(state.json, text, at);
    if (!cited) return {};
    std::size_t begin = cited->begin;
    if (const auto gap = text.substr(at, begin - at); is_blank(gap)) {
      begin = at;
    } else {
      pieces.push_back({gap});
    }
    at = cited->begin + cited->size;
    pieces.push_back({text.substr(begin, at - begin), citation, citation + cited->citations,
                      std::move(cited->members)});
    citation += cited->citations;
  }
  if (pieces.empty() || citation != message.metadata.citations.size()) return {};
  if (const auto rest = text.substr(at); !is_blank(rest)) pieces.push_back({rest});
  return pieces;
}

}  // namespace millrace::format
