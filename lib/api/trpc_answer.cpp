#include "api/trpc_answer.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace millrace::api {

using json::Tree;

namespace {

struct TrpcCode {
  int status;
  std::string_view name;
  std::int64_t number;
};
constexpr std::array<TrpcCode, 11> trpc_codes{{
    {400, "BAD_REQUEST", -32600},
    {401, "UNAUTHORIZED", -32001},
    {403, "FORBIDDEN", -32003},
    {404, "NOT_FOUND", -32004},
    {405, "METHOD_NOT_SUPPORTED", -32005},
    {408, "TIMEOUT", -32008},
    {409, "CONFLICT", -32009},
    {413, "PAYLOAD_TOO_LARGE", -32013},
    {422, "UNPROCESSABLE_CONTENT", -32022},
    {429, "TOO_MANY_REQUESTS", -32029},
    {503, "SERVICE_UNAVAILABLE", -32603},
}};
constexpr TrpcCode other_trpc_code{500, "INTERNAL_SERVER_ERROR", -32603};

const TrpcCode& trpc_code_of(int status) {
  const auto* row = std::find_if(trpc_codes.begin(), trpc_codes.end(),
                                 [&](const TrpcCode& one) { return one.status == status; });
  return row == trpc_codes.end() ? other_trpc_code : *row;
}

Tree superjson_of(const TrpcCall& call, Tree value) {
  if (!call.has_superjson) return value;
  Tree wrapper = Tree::object();
  wrapper.set("json", std::move(value));
  return wrapper;
}

}  // namespace

Tree trpc_error(const TrpcCall& call, int status, std::string_view message,
                std::string_view error_code) {
  const TrpcCode& code = trpc_code_of(status);
  Tree error = Tree::object();
  error.set("message", message);
  error.set("code", Tree::integer(code.number));
  Tree& data = error.set("data", Tree::object());
  data.set("code", code.name);
  data.set("httpStatus", Tree::integer(status));
  data.set("path", call.path);
  if (!error_code.empty()) data.set("errorCode", error_code);
  Tree body = Tree::object();
  body.set("error", superjson_of(call, std::move(error)));
  return body;
}

std::string trpc_error_body(const Error& error, std::string_view path) {
  TrpcCall call;
  call.path = path.substr(std::min(path.size(), trpc_prefix.size()));
  const int status = row_of(error.code).http_status;
  return trpc_error(call, status, error.message, error.code_name())
      .to_json(json::Surrogates::replace);
}

// The response of one call.
class TrpcPart final : public http::ResponseStream {
 public:
  TrpcPart(std::shared_ptr<TrpcAnswer> whole, std::size_t at, TrpcCall call)
      : whole_(std::move(whole)), at_(at), call_(std::move(call)) {}
  TrpcPart(const TrpcPart&) = delete;
  TrpcPart& operator=(const TrpcPart&) = delete;
  ~TrpcPart() override {
    if (call_) (void)send(500, {}, R"({"error":"The request was not answered."})");
  }

  Result<void> send(int status, const http::Headers& headers, std::string_view body) override {
    static_cast<void>(headers);
    if (!call_) return make_error(Errc::internal, "A call was answered twice.");
    TrpcCall call = *std::exchange(call_, std::nullopt);
    whole_->take(at_, std::move(call), status, body);
    return {};
  }
  Result<void> send_error(const Error& error, const http::Headers& headers) override {
    return send(row_of(error.code).http_status, headers, api_error_body(error, {}));
  }
  // The calls have answers in one piece.
  Result<void> start(int status, const http::Headers& headers) override {
    static_cast<void>(status);
    static_cast<void>(headers);
    return make_error(Errc::internal, "A call has no stream.");
  }
  Result<void> start_sized(int status, const http::Headers& headers, std::uint64_t size) override {
    static_cast<void>(size);
    return start(status, headers);
  }
  bool write(std::string_view bytes) override {
    static_cast<void>(bytes);
    return false;
  }
  void end() override {}
  void on_drain(std::function<void()> callback) override { static_cast<void>(callback); }
  void on_close(std::function<void()> callback) override { static_cast<void>(callback); }
  void on_expedite(std::function<void()> callback) override { static_cast<void>(callback); }
  [[nodiscard]] bool is_open() const override { return whole_->is_open(); }

 private:
  std::shared_ptr<TrpcAnswer> whole_;
  std::size_t at_;
  std::optional<TrpcCall> call_;
};

ResponsePtr TrpcAnswer::part(std::size_t at, TrpcCall call) {
  return std::make_shared<TrpcPart>(shared_from_this(), at, std::move(call));
}

void TrpcAnswer::reject(std::size_t at, const TrpcCall& call, int status,
                        std::string_view message) {
  set(at, {status, trpc_error(call, status, message)});
}

void TrpcAnswer::take(std::size_t at, const TrpcCall& call, int status, std::string_view body) {
  auto parsed = Tree::parse(body);
  Tree answer = parsed ? std::move(parsed).value() : Tree();
  constexpr int first_failure = 400;
  if (status >= first_failure) {
    const std::string_view message = answer["error"].string();
    return set(at, {status, trpc_error(call, status, message, answer["code"].string())});
  }
  if (call.shape != nullptr) answer = call.shape(std::move(answer), call.input);
  Tree result = Tree::object();
  result.set("data", superjson_of(call, std::move(answer)));
  Tree whole = Tree::object();
  whole.set("result", std::move(result));
  set(at, {status, std::move(whole)});
}

void TrpcAnswer::set(std::size_t at, Outcome outcome) {
  outcomes_.at(at) = std::move(outcome);
  if (--left_ > 0) return;
  const int first = outcomes_.front().status;
  if (!is_batch_) return send_json(response_, first, outcomes_.front().body);
  constexpr int several_statuses = 207;
  const bool is_one = std::all_of(outcomes_.begin(), outcomes_.end(),
                                  [first](const Outcome& one) { return one.status == first; });
  Tree list = Tree::array();
  for (Outcome& one : outcomes_) list.push(std::move(one.body));
  send_json(response_, is_one ? first : several_statuses, list);
}

}  // namespace millrace::api
