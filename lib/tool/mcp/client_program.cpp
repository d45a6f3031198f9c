// A Client's program: started, ended, and started again for the next call.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "tool/mcp/client_parts.hpp"
#include "tool/result_text.hpp"

namespace millrace::mcp {
namespace {

using Clock = std::chrono::steady_clock;

// A program that has ended its output ends itself within this time, or is given up.
constexpr std::chrono::milliseconds end_grace_period{500};

// The end of a text, from the beginning of a character on.
std::string_view last_words(std::string_view text, std::size_t size) {
  text.remove_prefix(text.size() - size);
  while (!text.empty() && (static_cast<unsigned char>(text.front()) & 0xC0U) == 0x80U) {
    text.remove_prefix(1);
  }
  return text;
}

// Why a program opened no connection, and its last words, which mostly say it best.
Error with_words(Error error, const std::string& error_text) {
  // Terminals are written to by whoever prints the message.
  const std::string words = tool::result_text(json::trim(error_text));
  if (words.empty()) return error;
  constexpr std::size_t shown = 2000;
  // Before it is cut: the end of a key alone is not known as one.
  const std::string clean = redacted(words, words.size() + shown);
  error.message += " It wrote: ";
  error.message += clean.size() > shown ? last_words(clean, shown) : clean;
  if (error.detail.empty()) error.detail = make_error(error.code, {}, error_text).detail;
  return error;
}

Error exit_error(const os::ProcessExit& exit, bool was_open) {
  std::string what = "The MCP server's program ended";
  if (exit.code) what += " with exit code " + std::to_string(*exit.code);
  if (exit.signal) what += " by signal " + std::to_string(*exit.signal);
  Error error = end_error(std::move(what), was_open, exit.error_text);
  return was_open ? error : with_words(std::move(error), exit.error_text);
}

}  // namespace

// The end of a connection that a program has, or of one that it did not open.
Error end_error(std::string what, bool was_open, std::string_view error_text) {
  what += was_open ? "." : " before it opened the connection.";
  return make_error(was_open ? Errc::mcp_session_lost : Errc::mcp_connection_failed,
                    std::move(what), error_text);
}

void Client::on_error_line(std::string_view line) {
  if (host_ != nullptr && !is_paused_) host_->wrote(line);
}

// Opens the connection now, or when the program may be started again.
void Client::connect() {
  if (is_closing_ || is_closed_) return;
  if (link_) {
    link_->reset();
    return session_.open(Clock::now());
  }
  if (process_ || restart_at_) return;
  constexpr int most_doublings = 6;
  constexpr std::chrono::seconds longest{60};
  if (failures_ > 1) {
    const std::chrono::seconds pause{1 << std::min(failures_ - 2, most_doublings)};
    restart_at_ = std::max(Clock::now(), started_at_ + std::min(pause, longest));
    return;
  }
  start_program();
}

void Client::start_program() {
  restart_at_.reset();
  started_at_ = Clock::now();
  child_ = std::make_shared<Child>(shared_from_this(), options_.message_bytes);
  auto started = os::Process::start(loop_, *options_.process, child_);
  if (!started) return lost(started.error());
  process_ = std::move(started).value();
  if (is_paused_) process_->pause();
  session_.open(started_at_);
}

void Client::end_program() {
  if (child_) child_->detach();
  child_.reset();
  process_.reset();
  give_up_at_.reset();
}

// The connection cannot be used any more.
void Client::lost(Error why) {
  const Error error = explained(session_.first_failure(std::move(why)));
  end_program();
  ++failures_;
  if (was_open_) {
    session_.disconnected(error);
  } else {
    session_.close(error);
  }
  rearm();
}

// Usually the program's end follows at once, and says more.
void Client::on_output_end() {
  give_up_at_ = Clock::now() + end_grace_period;
  rearm();
}

void Client::on_exit(os::ProcessExit exit) {
  const bool was_open = session_.is_open();
  end_program();
  if (is_closing_) return closed();
  constexpr std::chrono::seconds long_life{60};
  if (Clock::now() - started_at_ > long_life) failures_ = 0;
  lost(exit.not_started ? *exit.not_started : exit_error(exit, was_open));
}

// What the program has written to standard error belongs to a connection that it does not open.
Error Client::explained(Error error) {
  if (!process_ || session_.is_open()) return error;
  return with_words(std::move(error), process_->error_text());
}

void Client::reopen_failed(Error) {
  end_program();
  ++failures_;
}

}  // namespace millrace::mcp
