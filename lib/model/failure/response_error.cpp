#include "model/failure/response_error.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/ascii.hpp"
#include "base/error_classes.hpp"
#include "base/json.hpp"
#include "model/call/retry_after.hpp"
#include "model/failure/html_page.hpp"
#include "model/failure/missing_model.hpp"
#include "model/failure/provider_report.hpp"

namespace millrace::model {
namespace {

constexpr std::size_t id_bytes = 128;

enum class Where : std::uint8_t { code, code_part, text, finish };

struct Rule {
  Where where;
  std::string_view needle;  // a whole word of the codes, or part of the sentence
  Errc code;
  int status = 0;                  // only with this status; 0 is any
  std::string_view provider = {};  // only of this provider
};

// clang deduces the type of no more than 256 elements.
constexpr auto rules = std::to_array<Rule>({
#define BY_CODE(needle, errc) Rule{Where::code, needle, Errc::errc},
#define BY_CODE_PART(needle, errc) Rule{Where::code_part, needle, Errc::errc},
#define BY_TEXT(needle, errc) Rule{Where::text, needle, Errc::errc},
#define BY_FINISH(needle, errc) Rule{Where::finish, needle, Errc::errc},
#define BY_CODE_ONLY(needle, errc, status, provider) \
  Rule{Where::code, needle, Errc::errc, status, provider},
#define BY_TEXT_ONLY(needle, errc, status, provider) \
  Rule{Where::text, needle, Errc::errc, status, provider},
#include "model/failure/response_rules.def"
#undef BY_CODE
#undef BY_CODE_PART
#undef BY_TEXT
#undef BY_FINISH
#undef BY_CODE_ONLY
#undef BY_TEXT_ONLY
});

bool has_word(std::string_view words, std::string_view word) {
  for (std::size_t at = words.find(word); at != std::string_view::npos;
       at = words.find(word, at + 1)) {
    const bool starts = at == 0 || words[at - 1] == ' ';
    if (starts && words[at + word.size()] == ' ') return true;
  }
  return false;
}

// Providers that share the codes of another.
std::string_view codes_of(std::string_view provider) {
  struct Row {
    std::string_view provider;
    std::string_view as;
  };
  constexpr std::array<Row, 3> rows{
      {{"zai", "zhipu"}, {"glmcodingplan", "zhipu"}, {"minimaxcodingplan", "minimax"}}};
  const auto* row =
      std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return r.provider == provider; });
  return row == rows.end() ? provider : row->as;
}

bool fits(const Rule& rule, const ProviderReport& report, std::string_view provider) {
  if (rule.status != 0 && rule.status != report.status) return false;
  if (!rule.provider.empty() && rule.provider != provider) return false;
  // Limits on the tokens of a minute are told in the same words.
  const bool speaks_of_length =
      rule.where == Where::text && rule.code == Errc::context_window_exceeded;
  if (speaks_of_length && report.status == 429) return false;
  if (rule.needle.empty()) return true;
  if (rule.where == Where::finish) return report.finished && has_word(report.codes, rule.needle);
  if (rule.where == Where::code_part) return report.codes.find(rule.needle) != std::string::npos;
  return rule.where == Where::code ? has_word(report.codes, rule.needle)
                                   : report.sentence.find(rule.needle) != std::string::npos;
}

// What a status means when nothing else was said.
Errc code_of_status(int status) {
  struct Row {
    int status;
    Errc code;
  };
  constexpr std::array<Row, 25> rows{
      {{400, Errc::provider_bad_request}, {401, Errc::authentication_failed},
       {402, Errc::insufficient_quota},   {403, Errc::permission_denied},
       {404, Errc::model_not_found},      {405, Errc::model_not_found},
       {406, Errc::provider_bad_request}, {408, Errc::first_byte_timeout},
       {410, Errc::model_not_found},      {413, Errc::provider_bad_request},
       {415, Errc::provider_bad_request}, {422, Errc::provider_bad_request},
       {424, Errc::provider_error},       {429, Errc::rate_limited},
       {451, Errc::content_filtered},     {501, Errc::capability_not_supported},
       {502, Errc::connection_lost},      {503, Errc::provider_overloaded},
       {504, Errc::first_byte_timeout},   {520, Errc::connection_lost},
       {521, Errc::connection_lost},      {522, Errc::first_byte_timeout},
       {523, Errc::connection_lost},      {524, Errc::first_byte_timeout},
       {529, Errc::provider_overloaded}}};
  const auto* row =
      std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return r.status == status; });
  if (row != rows.end()) return row->code;
  const bool rejected = status >= 300 && status < 500 && status != 408 && status != 409 &&
                        status != 425 && status != 499;
  return rejected ? Errc::provider_bad_request : Errc::provider_error;
}

// Google calls both a minute's limit and an empty account "exceeded your current quota": only the
// former says when to come again.
bool is_empty_quota(const ProviderReport& report) {
  return report.sentence.find("exceeded your current quota") != std::string::npos &&
         !report.retry_after;
}

Errc classify(const ProviderReport& report, std::string_view provider) {
  const Errc by_status = code_of_status(report.status);
  if (is_empty_quota(report)) return Errc::insufficient_quota;
  const auto* rule = std::find_if(
      rules.begin(), rules.end(),
      [&, vendor = codes_of(provider)](const Rule& r) { return fits(r, report, vendor); });
  const bool found = rule != rules.end();
  const bool is_plain = !found || rule->code == Errc::provider_bad_request;
  if (is_plain && report.status < 500 && report.status != 401 &&
      names_missing_model(report.sentence)) {
    return Errc::model_not_found;
  }
  // Whatever it says besides, a 401 is a matter of the key, unless the account is gone.
  if (report.status == 401) {
    return found && rule->code == Errc::account_deactivated ? rule->code : by_status;
  }
  // A server that fails may speak of anything in its sentence.
  const bool vague = found && rule->code == Errc::provider_bad_request && report.status >= 500;
  if (found && !vague) return rule->code;
  return report.status == 0 ? Errc::provider_error : by_status;
}

Error finish(ProviderReport& report, Errc code, std::string_view lead, std::string_view provider,
             std::string_view detail) {
  constexpr std::size_t shown_bytes = 1024;
  std::string message(lead);
  // A page is described, not copied.
  if (report.page.empty()) report.page = html_page(report.message);
  if (!report.page.empty()) {
    if (lead.empty()) message = "The provider answered";
    message.append(" with ").append(report.page);
    // It is the answer of a web server that knows nothing of models.
    if (code == Errc::model_not_found) {
      message.append(". Check `baseURL`: there are web pages at this address, and no API");
    }
    lead = message;
    report.message.clear();
  }
  if (report.message.empty() && lead.empty()) {
    message = row_of(code).sentence;
  } else if (lead.empty()) {
    message = redacted(report.message, shown_bytes);
  } else if (report.message.empty()) {
    message.append(". ").append(row_of(code).sentence);
  } else {
    message.append(": ").append(redacted(report.message, shown_bytes));
  }
  Error error = make_error(code, std::move(message), detail);
  if (report.status != 0) error.upstream_status = report.status;
  error.request_id = redacted(report.request_id, id_bytes);
  error.should_retry = report.should_retry;
  if (error.retry() != RetryClass::no) {
    error.retry_after = report.retry_after ? report.retry_after : retry_after_in(report.sentence);
  }
  return error_of_provider(std::move(error), provider);
}

}  // namespace

std::string request_id_of(const std::vector<net::Header>& headers) {
  ProviderReport report;
  read_report_headers(headers, report);
  return redacted(report.request_id, id_bytes);
}

Error error_from_response(const net::ResponseHead& head, std::string_view body,
                          std::string_view provider, std::chrono::system_clock::time_point now) {
  ProviderReport report;
  report.status = head.status;
  report.retry_after = retry_after_of(head.headers, now);
  report.should_retry = should_retry_of(head.headers);
  report.page = html_page(body);
  json::Document document;
  if (auto parsed = document.parse(body)) read_report_body(parsed.value(), report);
  read_report_headers(head.headers, report);
  report.sentence = lowered(report.message);
  const Errc code = classify(report, provider);
  return finish(report, code, "The provider answered " + std::to_string(head.status), provider,
                body);
}

Error error_from_stream(std::string_view code, std::string_view message,
                        std::string_view provider) {
  const Errc own = code_of(code);
  const bool is_own = row_of(own).code == code && own != Errc::provider_error;
  if (is_own) return error_of_provider(make_error(own, std::string(message)), provider);
  ProviderReport report;
  report.add_code(code);
  report.message = message;
  report.sentence = lowered(message);
  // A number may be a status.
  int status = 0;
  for (const char c : code)
    status = c >= '0' && c <= '9' && status < 1000 ? status * 10 + c - '0' : 0;
  const bool is_status = code.size() == 3 && status >= 400 && status < 600;
  if (is_status) report.status = status;
  const Errc found = classify(report, provider);
  Error error = finish(report, found, {}, provider, {});
  if (code != error.code_name()) error.detail = redacted(code, 128);
  return error;
}

Error error_from_finish(std::string_view reason, std::string_view message,
                        std::string_view provider) {
  ProviderReport report;
  report.finished = true;
  report.add_code(reason);
  report.message = message;
  report.sentence = lowered(message);
  const Errc found = classify(report, provider);
  Error error = finish(report, found, {}, provider, {});
  if (reason != error.code_name()) error.detail = redacted(reason, 128);
  return error;
}

Error error_of_provider(Error error, std::string_view provider) {
  struct Row {
    std::string_view provider;
    Errc from;
    Errc to;
  };
  constexpr std::array<Row, 8> rows{{
      {"github", Errc::authentication_failed, Errc::invalid_github_token},
      {"githubcopilot", Errc::authentication_failed, Errc::invalid_copilot_token},
      {"bedrock", Errc::authentication_failed, Errc::invalid_bedrock_credentials},
      {"bedrock", Errc::missing_api_key, Errc::invalid_bedrock_credentials},
      {"vertexai", Errc::authentication_failed, Errc::invalid_vertex_credentials},
      {"vertexai", Errc::missing_api_key, Errc::invalid_vertex_credentials},
      {"ollama", Errc::connect_failed, Errc::ollama_unavailable},
      {"ollama", Errc::provider_bad_request, Errc::ollama_error},
  }};
  const auto* row = std::find_if(rows.begin(), rows.end(), [&](const Row& r) {
    return r.provider == provider && r.from == error.code;
  });
  if (row != rows.end()) error.code = row->to;
  return error;
}

std::optional<Errc> code_of_type(std::string_view error_type) {
  // What a provider says stands for a class before what the engine itself says.
  struct Row {
    ErrorType type;
    Errc code;
  };
  constexpr std::array<Row, 6> preferred{{
      {ErrorType::InvalidProviderAPIKey, Errc::authentication_failed},
      {ErrorType::ProviderNetworkError, Errc::connection_lost},
      {ErrorType::ProviderServiceUnavailable, Errc::provider_overloaded},
      {ErrorType::InvalidRequestFormat, Errc::provider_bad_request},
      {ErrorType::StreamChunkError, Errc::stream_truncated},
      {ErrorType::AgentRuntimeError, Errc::internal},
  }};
  const std::optional<ErrorType> type = error_type_of(error_type);
  const auto* row = std::find_if(preferred.begin(), preferred.end(),
                                 [&](const Row& r) { return r.type == type; });
  if (row != preferred.end()) return row->code;
  for (unsigned at = 0; at <= static_cast<unsigned>(Errc::internal); ++at) {
    const auto code = static_cast<Errc>(at);
    if (row_of(code).type == type) return code;
  }
  return std::nullopt;
}

}  // namespace millrace::model
