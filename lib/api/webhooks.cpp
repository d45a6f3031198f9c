#include "api/webhooks.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "api/api_answers.hpp"
#include "api/callback_address.hpp"
#include "api/tool_invocations.hpp"
#include "api/webhook_signature.hpp"
#include "base/ascii.hpp"

namespace millrace::api {
namespace {

using json::Tree;
using std::chrono::milliseconds;

constexpr std::size_t most_at_once = 16;
// Rows that make messages, of one look.
constexpr std::size_t most_open = 1000;
constexpr std::size_t most_answer_bytes = 64 * 1024;
// How often runs are looked at whose messages wait for their ends.
constexpr milliseconds run_poll{1000};
constexpr std::int64_t second_ms = 1000;
constexpr int first_error = 300;
constexpr int gone = 410;

// What only this side sets.
bool is_own_field(std::string_view name) {
  constexpr std::array<std::string_view, 6> own{"webhook-id",        "webhook-timestamp",
                                                "webhook-signature", "content-type",
                                                "traceparent",       "host"};
  return std::any_of(own.begin(), own.end(),
                     [&](std::string_view one) { return equal_ignoring_case(one, name); });
}

// Whether the store may have the run at the next try.
bool may_pass(const Error& error) {
  return error.code != Errc::run_not_found && error.code != Errc::store_damaged;
}

// A message brings its payload, or reports the end of its call.
// Thread: the store's.
Result<std::string> payload_of(store::StorageBackend& backend, const store::OutboxRow& row) {
  auto body = Tree::parse(row.body);
  if (!body) return std::move(body).error();
  const Tree& given = body.value()["payload"];
  if (!given.is_null()) return given.to_json(json::Surrogates::replace);
  auto call = load_invocation(backend, row.run, std::nullopt);
  if (!call) return std::move(call).error();
  return invocation_report(call.value()).to_json(json::Surrogates::replace);
}

// Without what may be a secret: the path and the query.
std::string shown_receiver(const std::string& url) {
  const auto parsed = net::parse_url(url);
  if (!parsed) return "its address";
  return parsed.value().origin();
}

}  // namespace

Result<store::OutboxRow> webhook_of(const store::RunId& run, const Tree& callback,
                                    std::string_view trace, CallbackSecrets& secrets) {
  const std::string id = "msg_" + hex_id();
  Tree body = Tree::object();
  if (callback["headers"].is_object() && !callback["headers"].members().empty()) {
    auto sealed = secrets.seal(callback["headers"], id);
    if (!sealed) return std::move(sealed).error();
    body.set("sealed", std::move(sealed).value());
  }
  if (!trace.empty()) body.set("traceparent", trace);
  store::OutboxRow row;
  row.id = id;
  row.run = run;
  row.url = callback["url"].string();
  row.body = body.to_json(json::Surrogates::replace);
  row.next_at = store::after_run;
  return row;
}

Webhooks::Webhooks(ApiContextPtr context, std::shared_ptr<CallbackSecrets> secrets)
    : context_(std::move(context)),
      secrets_(std::move(secrets)),
      timer_(context_->loop, [this] { look(); }) {}

Webhooks::~Webhooks() = default;

void Webhooks::close() {
  is_closed_ = true;
  timer_.cancel();
  sending_.clear();
}

// One look at a time: each takes what is due.
void Webhooks::look() {
  if (is_closed_) return;
  if (is_looking_) {
    looks_again_ = true;
    return;
  }
  if (sending_.size() >= most_at_once) return;  // the end of one looks again
  is_looking_ = true;
  Terms terms{most_at_once - sending_.size(), context_->options.tools.callback_timeout,
              context_->options.webhook_delays};
  context_->with_store<Look>(
      [terms = std::move(terms)](store::StorageBackend& backend) { return take(backend, terms); },
      [weak = weak_from_this()](Look look) {
        if (const auto found = weak.lock()) found->looked(std::move(look));
      });
}

// Thread: the store's. Takes messages with their next time, which begins behind the time limit of
// this try: other processes with the store open leave them alone until then.
Webhooks::Look Webhooks::take(store::StorageBackend& backend, const Terms& terms) {
  Look look;
  look.now = backend.now();
  // What a store cannot do now it may do soon, unless it is open for reading only.
  const auto failed = [&look](const Error& error) {
    if (error.code != Errc::invalid_state) look.next = look.now + run_poll.count();
    return look;
  };
  auto rows = backend.outbox(terms.most);
  if (!rows) return failed(rows.error());
  for (store::OutboxRow& row : rows.value()) {
    const auto at = std::min(static_cast<std::size_t>(std::max<std::int64_t>(row.tries, 0)),
                             terms.delays.size() - 1);
    const milliseconds wait = terms.timeout + terms.delays[at];
    const auto taken = backend.settle_outbox(row.id, look.now + wait.count());
    if (!taken) return failed(taken.error());
    if (row.url.empty()) {
      take_open(backend, std::move(row), look);
      continue;
    }
    auto payload = payload_of(backend, row);
    if (!payload && may_pass(payload.error())) continue;
    look.due.push_back({std::move(row), std::move(payload)});
  }
  auto open = backend.open_outbox(most_open);
  if (!open) return failed(open.error());
  for (store::OutboxRow& row : open.value()) take_open(backend, std::move(row), look);
  auto next = backend.next_outbox();
  if (next) look.next = next.value();
  return look;
}

void Webhooks::take_open(store::StorageBackend& backend, store::OutboxRow row, Look& look) {
  const auto run = backend.run(row.run);
  if (run && run.value()) look.open.emplace_back(std::move(row), run.value()->last);
}

void Webhooks::looked(Look look) {
  is_looking_ = false;
  if (is_closed_) return;
  if (look.next) {
    const bool is_known = *look.next != store::after_run;
    const milliseconds wait =
        is_known ? milliseconds(std::max<std::int64_t>(*look.next - look.now, 1)) : run_poll;
    timer_.start_at(os::Timer::Clock::now() + std::min(wait, run_poll));
  }
  for (Due& due : look.due) send(std::move(due));
  if (open_) {
    for (const auto& [row, last] : look.open) open_(row, last);
  }
  if (std::exchange(looks_again_, false)) this->look();
}

Result<net::Request> Webhooks::request_of(const Due& due) const {
  if (!due.payload) return due.payload.error();
  const std::string& payload = due.payload.value();
  const ApiOptions& options = context_->options;
  const auto url = net::parse_url(due.row.url);
  if (!url) return url.error();
  auto guard = net::AddressGuard::make(callback_guard(url.value(), options.tools.callback_allow));
  if (!guard) return guard.error();
  auto about = Tree::parse(due.row.body);
  if (!about) return about.error();
  net::Request request;
  request.method = "POST";
  request.url = url.value().text;
  // Earlier versions stored headers as they are.
  Tree headers = about.value()["headers"];
  if (const std::string_view sealed = about.value()["sealed"].string(); !sealed.empty()) {
    auto opened = secrets_->open(sealed, due.row.id);
    if (!opened) return std::move(opened).error();
    headers = std::move(opened).value();
  }
  for (const auto& [name, value] : headers.members()) {
    if (!value.is_string() || is_own_field(name.view())) continue;
    request.headers.push_back({std::string(name.view()), std::string(value.string())});
  }
  const std::int64_t timestamp = store::system_clock()() / second_ms;
  request.headers.push_back({"Content-Type", "application/json"});
  request.headers.push_back({"webhook-id", due.row.id});
  request.headers.push_back({"webhook-timestamp", std::to_string(timestamp)});
  if (!options.webhook_secrets.empty()) {
    request.headers.push_back(
        {"webhook-signature",
         webhook_signature(options.webhook_secrets, due.row.id, timestamp, payload)});
  }
  const std::string_view trace = about.value()["traceparent"].string();
  if (!trace.empty()) request.headers.push_back({"traceparent", std::string(trace)});
  request.body = payload;
  request.has_body = true;
  request.timeouts.total = options.tools.callback_timeout;
  // What another address would get was for this one.
  request.redirects = net::Redirects::report;
  request.guard = std::make_shared<const net::AddressGuard>(std::move(guard).value());
  return request;
}

void Webhooks::send(Due due) {
  auto request = request_of(due);
  if (!request) return answered(due.row, request.error().message, true);
  tool::FetchOptions fetching;
  fetching.max_bytes = most_answer_bytes;
  fetching.text_only = false;
  auto& sending = sending_[due.row.id];
  sending = tool::fetch(context_->client, std::move(request).value(), std::move(fetching),
                        [this, row = due.row](const Result<tool::Fetched>& answer) {
                          if (!answer) return answered(row, answer.error().message, false);
                          const int status = answer.value().status;
                          if (status < first_error) return answered(row, {}, false);
                          answered(row, "It answered with " + std::to_string(status) + ".",
                                   status == gone);
                        });
}

void Webhooks::answered(const store::OutboxRow& row, const std::string& failure, bool is_gone) {
  // It reports from within: it ends behind that.
  if (auto ended = sending_.extract(row.id); !ended.empty()) {
    context_->loop.post([held = std::shared_ptr<tool::RunningTool>(std::move(ended.mapped()))] {});
  }
  WebhookCounts& counts = context_->metrics->webhooks;
  if (failure.empty()) {
    ++counts.delivered;
    return settle(row);
  }
  const auto tries = static_cast<std::size_t>(row.tries) + 1;
  if (!is_gone && tries <= context_->options.webhook_delays.size()) {
    ++counts.failed;
    return look();
  }
  ++counts.given_up;
  context_->ask("callback_failed",
                Tree::text(row.id + " to " + shown_receiver(row.url) + " is given up after " +
                           std::to_string(tries) + (tries == 1 ? " try: " : " tries: ") + failure),
                [](const Result<Tree>&) {});
  settle(row);
}

void Webhooks::settle(const store::OutboxRow& row) {
  context_->with_store<bool>(
      [id = row.id](store::StorageBackend& backend) {
        return backend.settle_outbox(id, std::nullopt).ok();
      },
      [weak = weak_from_this()](bool) {
        if (const auto self = weak.lock()) self->look();
      });
}

}  // namespace millrace::api
