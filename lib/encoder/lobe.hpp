// Events -> the bytes of a LobeHub chat stream: server-sent events with a name, an id and JSON
// data, and no sentinel at the end.
// Source: LobeHub's model runtime, stream protocol (2026).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/json.hpp"
#include "encoder/answer_parts.hpp"
#include "encoder/sources.hpp"
#include "event/event.hpp"

namespace millrace::encoder {

// Appends the counts of a usage as an object with LobeHub's names.
void write_lobe_counts(std::string& out, const event::Usage& usage);

// LobeHub's name for the class of an error with this code; a code that is not ours is a provider's.
std::string_view lobe_error_type(std::string_view code);

struct LobeOptions {
  std::string provider;  // told in errors
  // Of the provider: what ends an answer has other names at some. "" has no rules of its own.
  std::string wire;
  bool streamed = true;  // false: the answer came in one piece, and its speed says nothing
  // Appends the usage as LobeHub's ModelUsage; absent, the counts of the event are written.
  std::function<void(std::string& out, const event::Usage& usage)> write_usage;
  // Wraps an opaque value so that it goes back to its issuer only, whom a state names before it;
  // absent, values go as they are.
  std::string (*scope)(std::string_view issuer, std::string_view value) = nullptr;
  // What the class of an error is called, by its usual name; absent, as usual.
  std::function<std::string_view(std::string_view usual)> error_type = nullptr;
};

// Text, reasoning, images, calls, usage and the end have events of their own. An answer of Gemini
// may come as parts, see AnswerParts. Frames are called as the vendor calls the answer; items of
// Responses have ids of their own. What the protocol has no event for travels as `data`, in AG-UI's
// spelling.
// Thread: any, one at a time.
class LobeEncoder final : public event::EventSink {
 public:
  using Milliseconds = std::chrono::milliseconds;

  explicit LobeEncoder(LobeOptions options) : options_(std::move(options)) {}

  // Says who answers from here on: the wire, and the model, whose answers may have parts.
  void answered_by(std::string_view wire, std::string_view model);
  // Says what the answer is called until its vendor says it; see event::answer_kind.
  void answered_as(std::string_view id) { answer_id_ = id; }
  // Says how long ago the request was sent; what follows happens at that time.
  void at(Milliseconds since_request) { now_ = since_request; }
  void on_event(const event::Event& event) override;
  // Writes what was kept back; nothing is written after it.
  void finish();
  [[nodiscard]] bool ended() const { return ended_; }

  // The bytes written since the last take.
  std::string take();
  // As take, into a buffer that is used again: the two exchange their memory.
  void take_into(std::string& buffer);
  [[nodiscard]] const std::string& pending() const { return out_; }

  // A comment that keeps proxies from closing an idle stream.
  static constexpr std::string_view keep_alive = ": keep-alive\n\n";

 private:
  // A piece of an answer that has parts: text, or the base64 data of an image.
  struct Part {
    bool reasoning_part = false;
    std::string_view content;
    std::string_view mime_type = {};  // of an image; "" makes it text
    std::string_view signature = {};
  };

  // A reasoning part, of which a reader has one text and one signature for all.
  struct ReasoningPart {
    std::string id;
    std::size_t bytes = 0;
    std::string value;  // opaque
  };

  // What an item of reasoning of the Responses API has beside its parts and its opaque value.
  struct ItemState {
    std::string id;
    std::string json;
  };

  void begin(std::string_view type, std::string_view id);
  void begin(std::string_view type) { begin(type, frame_id(type)); }
  [[nodiscard]] std::string_view frame_id(std::string_view type) const;
  void end() { out_.append("\n\n"); }
  void write(std::string_view type, std::string_view text);
  void write_data(const event::Event& event);

  void on_text(std::string_view id, std::string_view delta);
  void begin_reasoning(std::string_view id);
  void on_reasoning(std::string_view id, std::string_view delta);
  void write_text(std::string_view text);
  void write_part(const Part& part);
  bool on_image(const json::Value& medium);
  void on_image_url(std::string_view url);
  void write_image(std::string_view data_url);
  void on_encrypted(const event::EncryptedValue& value);
  bool write_all_signatures(const event::EncryptedValue& value);
  void write_response_item(const event::EncryptedValue& value);
  void on_state(const event::Event& event, const event::ProviderState& state);
  void write_issuer(std::string_view entity_id, const event::Event& event);
  std::string scoped(const event::EncryptedValue& value, std::string_view plain) const;
  [[nodiscard]] bool is_hosted(std::string_view call_id) const;
  void take_id(std::string_view id, bool is_reasoning);
  void on_tool_start(const event::ToolStart& call);
  void on_tool_piece(std::string_view id, std::string_view arguments, std::string_view signature);
  void on_citation(const event::Event& event, const event::Citation& citation);
  void on_usage(const event::Event& event, const event::Usage& usage);
  void on_finish(const event::Event& event, const event::Finish& finish);
  void on_warning(const event::Event& event, const event::Warning& warning);
  void on_reset(const event::Event& event);
  void on_failed(const event::Event& event, const event::Failed& failed);

  void flush_citations();
  void release_stop();
  void effective();
  void write_speed(std::optional<std::int64_t> output_tokens);

  LobeOptions options_;
  std::string out_;
  std::string text_id_;  // of the text that is being written
  bool is_behind_part_ = false;
  std::string answer_id_;                               // as the vendor calls it, or ""
  std::string id_;                                      // of the message that is being written
  bool has_reasoning_id_ = false;                       // that is the one of its reasoning
  std::string reasoning_id_;                            // of the latest reasoning part
  std::string issuer_;                                  // of the opaque values that come
  std::string issued_id_;                               // of the message, item or call they are of
  std::unordered_map<std::string, std::size_t> calls_;  // id -> index
  std::unordered_set<std::string> hosted_;              // ids of calls that the provider runs
  Sources sources_;
  std::vector<std::string> summaries_;  // parts of the item whose opaque value is to come
  ItemState reasoning_item_;            // the latest
  std::vector<ReasoningPart> reasoning_;
  Milliseconds now_{0};
  std::optional<Milliseconds> first_;  // output that a reader sees
  std::optional<Milliseconds> last_;
  AnswerParts parts_;
  bool has_issuer_to_write_ = false;
  std::optional<std::string> stop_;  // the reason of an end that is still to be written
  bool stopped_ = false;
  bool has_later_content_ = false;  // behind the last stop
  bool ended_ = false;
};

}  // namespace millrace::encoder
