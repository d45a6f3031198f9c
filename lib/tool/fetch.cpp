#include "tool/fetch.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/ascii.hpp"
#include "tool/charset.hpp"

namespace millrace::tool {
namespace {

std::string header(const net::ResponseHead& head, std::string_view name) {
  for (const net::Header& one : head.headers) {
    if (lowered(one.name) == name) return lowered(one.value);
  }
  return {};
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\"'");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\"'") - first + 1);
}

class Fetch final : public net::TransferHandler {
 public:
  Fetch(net::Client& client, FetchOptions options, std::function<void(Result<Fetched>)> done)
      : client_(client), options_(std::move(options)), done_(std::move(done)) {}

  void start(net::Request request, std::shared_ptr<Fetch> self) {
    id_ = client_.start(std::move(request), std::move(self));
    if (id_ == 0) done_ = nullptr;
  }

  void on_head(net::ResponseHead head) override {
    got_.status = head.status;
    got_.url = std::move(head.url);
    const std::string type = header(head, "content-type");
    got_.content_type = trimmed(std::string_view(type).substr(0, type.find(';')));
    decoder_ = TextDecoder(type);
    const bool is_rejected =
        options_.text_only && !got_.content_type.empty() && !is_text_type(got_.content_type);
    if (!is_rejected) return;
    end(make_error(Errc::unsupported_media_type,
                   "The answer is " + got_.content_type + ", which is not text."));
  }

  void on_data(std::string_view decoded) override {
    if (!done_) return;
    const std::size_t room = options_.max_bytes - taken_;
    got_.is_cut = decoded.size() > room;
    decoded = decoded.substr(0, room);
    taken_ += decoded.size();
    take(decoded);
    if (got_.is_cut) end(std::nullopt);
  }

  void on_done(std::optional<Error> error) override {
    is_over_ = true;
    end(std::move(error));
  }

  void cancel() {
    done_ = nullptr;
    if (!std::exchange(is_over_, true)) client_.cancel(id_);
  }

 private:
  void take(std::string_view bytes) {
    std::string text;
    auto read = decoder_.feed(bytes, text);
    if (read) {
      give(text);
    } else {
      end(std::move(read).error());
    }
  }

  void give(std::string_view text) {
    if (options_.sink) {
      options_.sink(got_, text);
    } else {
      got_.body.append(text);
    }
  }

  void end(std::optional<Error> error) {
    const auto done = std::exchange(done_, nullptr);
    if (!done) return;
    if (!std::exchange(is_over_, true)) client_.cancel(id_);
    if (error) {
      done(std::move(*error));
      return;
    }
    std::string rest;
    auto read = decoder_.finish(rest);
    if (!read) {
      done(std::move(read).error());
      return;
    }
    give(rest);
    done(std::move(got_));
  }

  net::Client& client_;
  FetchOptions options_;
  std::function<void(Result<Fetched>)> done_;
  net::TransferId id_ = 0;
  Fetched got_;
  TextDecoder decoder_{""};
  std::size_t taken_ = 0;
  bool is_over_ = false;  // the transfer
};

class RunningFetch final : public RunningTool {
 public:
  explicit RunningFetch(std::shared_ptr<Fetch> fetch) : fetch_(std::move(fetch)) {}
  ~RunningFetch() override { fetch_->cancel(); }
  RunningFetch(const RunningFetch&) = delete;
  RunningFetch& operator=(const RunningFetch&) = delete;
  void cancel() override { fetch_->cancel(); }

 private:
  std::shared_ptr<Fetch> fetch_;
};

}  // namespace

bool is_text_type(std::string_view content_type) {
  constexpr std::array<std::string_view, 12> types{
      "application/json",       "application/xml",          "application/javascript",
      "application/ecmascript", "application/x-javascript", "application/x-ndjson",
      "application/x-yaml",     "application/yaml",         "application/toml",
      "application/graphql",    "application/sql",          "application/x-www-form-urlencoded"};
  return content_type.starts_with("text/") || content_type.ends_with("+json") ||
         content_type.ends_with("+xml") ||
         std::find(types.begin(), types.end(), content_type) != types.end();
}

std::unique_ptr<RunningTool> fetch(net::Client& client, net::Request request, FetchOptions options,
                                   std::function<void(Result<Fetched>)> done) {
  auto made = std::make_shared<Fetch>(client, std::move(options), std::move(done));
  made->start(std::move(request), made);
  return std::make_unique<RunningFetch>(std::move(made));
}

ToolOutcome failed(const Error& error) {
  return {.content = error.message, .is_error = true, .code = std::string(error.code_name())};
}

}  // namespace millrace::tool
