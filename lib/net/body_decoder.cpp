#include "net/body_decoder.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/shown.hpp"
#include "net/request_rules.hpp"

namespace millrace::net {
namespace {

enum class Coding { identity, gzip, deflate };

struct CodingRow {
  std::string_view name;
  Coding coding;
};
constexpr std::array codings{CodingRow{"", Coding::identity},
                             CodingRow{"identity", Coding::identity},
                             CodingRow{"gzip", Coding::gzip}, CodingRow{"x-gzip", Coding::gzip},
                             CodingRow{"deflate", Coding::deflate}};

constexpr int zlib_window = 15;
constexpr int gzip_window = 15 + 16;
constexpr int raw_window = -15;

class Inflater final : public BodyDecoder {
 public:
  explicit Inflater(Coding coding) : coding_(coding) {}
  ~Inflater() override {
    if (is_open_) inflateEnd(&stream_);
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  Result<std::string_view> next(std::string_view& input, std::span<char> buffer) override;
  Result<void> finish() override;

 private:
  Result<void> open(char first);
  bool begin_member(std::string_view& input);
  [[nodiscard]] Error corrupt(std::string_view what) const;

  Coding coding_;
  z_stream stream_{};
  bool is_open_ = false;
  bool is_member_ended_ = false;
};

// Servers disagree on what deflate means; a zlib header has the method in its low bits.
Result<void> Inflater::open(char first) {
  const bool has_zlib_header = (first & 0x0F) == 0x08;
  const int window = coding_ == Coding::gzip ? gzip_window
                     : has_zlib_header       ? zlib_window
                                             : raw_window;
  if (inflateInit2(&stream_, window) != Z_OK) {
    return make_error(Errc::internal, "No memory to decompress the response.");
  }
  is_open_ = true;
  return {};
}

Error Inflater::corrupt(std::string_view what) const {
  const std::string name = coding_ == Coding::gzip ? "gzip" : "deflate";
  return make_error(
      Errc::decompression_failed,
      "The compressed body (" + name + ") could not be decoded: " + std::string(what) + ".", what);
}

// After a member another may follow; anything else there is padding and ignored.
bool Inflater::begin_member(std::string_view& input) {
  constexpr char gzip_magic = 0x1F;
  if (input.empty() || coding_ != Coding::gzip || input.front() != gzip_magic) {
    input = {};
    return false;
  }
  inflateReset(&stream_);
  is_member_ended_ = false;
  return true;
}

Result<std::string_view> Inflater::next(std::string_view& input, std::span<char> buffer) {
  if (!is_open_) {
    if (input.empty()) return std::string_view{};
    MILLRACE_TRY(open(input.front()));
  }
  std::size_t produced = 0;
  while (produced == 0) {
    if (is_member_ended_ && !begin_member(input)) break;
    constexpr std::size_t most = std::numeric_limits<uInt>::max();
    const std::size_t offered = std::min(input.size(), most);
    // zlib's interface is older than const; it does not write here.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input.data()));
    stream_.avail_in = static_cast<uInt>(offered);
    stream_.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream_.avail_out = static_cast<uInt>(std::min(buffer.size(), most));
    const int state = inflate(&stream_, Z_SYNC_FLUSH);
    input.remove_prefix(offered - stream_.avail_in);
    produced = buffer.size() - stream_.avail_out;
    if (state == Z_STREAM_END) {
      is_member_ended_ = true;
    } else if (state != Z_OK && !(state == Z_BUF_ERROR && input.empty())) {
      return corrupt(stream_.msg != nullptr ? stream_.msg : "corrupt data");
    } else if (input.empty()) {
      break;
    }
  }
  return std::string_view(buffer.data(), produced);
}

Result<void> Inflater::finish() {
  if (!is_open_ || is_member_ended_) return {};
  return make_error(Errc::stream_truncated,
                    "The compressed body ended early; the answer is not complete.");
}

}  // namespace

Result<std::unique_ptr<BodyDecoder>> BodyDecoder::for_encoding(std::string_view content_encoding) {
  const auto row = std::find_if(codings.begin(), codings.end(), [&](const CodingRow& candidate) {
    return same_name(candidate.name, content_encoding);
  });
  if (row == codings.end()) {
    return make_error(Errc::unsupported_encoding,
                      "The body has the content encoding " + shown_text(content_encoding) +
                          "; request gzip or deflate in Accept-Encoding.",
                      content_encoding);
  }
  if (row->coding == Coding::identity) return std::unique_ptr<BodyDecoder>();
  return std::unique_ptr<BodyDecoder>(std::make_unique<Inflater>(row->coding));
}

}  // namespace millrace::net
