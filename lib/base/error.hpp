// The one error type of the engine. Codes, HTTP statuses and sentences come from errors.def.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millrace {

enum class Errc : std::uint8_t {
#define MILLRACE_ERROR(code, http_status, retry_class, error_type, sentence, fix) code,
#include "base/errors.def"
};

// The classes that LobeHub's clients tell errors by.
enum class ErrorType : std::uint8_t {
#define MILLRACE_ERROR_TYPE(error_type, id, http_status, retryable) error_type,
#include "base/errors.def"
};

enum class RetryClass : std::uint8_t { no, yes, later };

// One row of errors.def. `fix`: what to do about it, one sentence.
struct ErrorRow {
  std::string_view code;
  int http_status;
  RetryClass retry;
  ErrorType type;
  std::string_view sentence;
  std::string_view fix;
};

// One class of errors.def. `id` is 0 where it has no number.
struct ErrorTypeRow {
  std::string_view name;
  int id;
  int http_status;
};

// Lifetime: the row is static.
const ErrorRow& row_of(Errc code);
const ErrorTypeRow& row_of(ErrorType type);

// The code of this name; `internal` when there is none.
Errc code_of(std::string_view name);

// A failure as a value: what went wrong, whether to try again, and what the peer said.
struct Error {
  Errc code = Errc::internal;
  std::string message;  // one or two sentences that name the cause and the fix
  std::optional<std::chrono::milliseconds> retry_after;
  std::optional<int> upstream_status;
  std::string detail;      // the peer's own words, capped and redacted by make_error
  std::string request_id;  // the peer's name of the request; may be empty
  // The peer's own word on another attempt, which counts more than the code's row.
  std::optional<bool> should_retry;

  [[nodiscard]] std::string_view code_name() const { return row_of(code).code; }
  [[nodiscard]] RetryClass retry() const {
    const RetryClass by_code = row_of(code).retry;
    if (!should_retry || *should_retry == (by_code != RetryClass::no)) return by_code;
    return *should_retry ? RetryClass::yes : RetryClass::no;
  }
  [[nodiscard]] std::string_view type_name() const { return row_of(row_of(code).type).name; }
};

// Builds an error; an empty message becomes the sentence of the code's row. Message and detail are
// without what controls terminals or hides text.
Error make_error(Errc code, std::string message = {}, std::string_view detail = {});

// Cuts `text` to at most `limit` bytes at a UTF-8 boundary and replaces what looks like a
// credential, in the visible text alone.
std::string redacted(std::string_view text, std::size_t limit);

}  // namespace millrace
