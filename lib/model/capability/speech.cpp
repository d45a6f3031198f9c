// Speech: a text in, audio out.
#include <array>
#include <charconv>
#include <optional>

#include "base/base64.hpp"
#include "model/capability/rows.hpp"
#include "model/provider/address.hpp"

namespace millrace::model {
namespace {

using json::Value;
using message::JsonBuilder;

constexpr std::uint32_t default_rate = 24'000;  // Hz, of raw samples whose type names no rate

Result<std::string_view> text_of(const Value& options) {
  const auto text = options["input"].filled_string();
  if (!text) return missing_member("input", "the text to speak");
  return *text;
}

std::string_view or_else(std::string_view text, std::string_view otherwise) {
  return text.empty() ? otherwise : text;
}

// Under this name or OpenAI's own.
std::string_view format_of(const Value& options) {
  return or_else(options["format"].string(), options["response_format"].string());
}

Result<CapabilityBody> openai_style(const Value& options, std::string_view voice,
                                    std::string_view format) {
  auto text = text_of(options);
  if (!text) return std::move(text).error();
  JsonBuilder out(json::Surrogates::replace);
  out.open_object();
  out.value("model", options["model"]);
  out.text("input", text.value());
  out.filled("voice", or_else(options["voice"].string(), voice));
  out.filled("response_format", or_else(format_of(options), format));
  out.filled("instructions", options["instructions"].string());
  if (options["speed"].is_number()) out.value("speed", options["speed"]);
  out.close_object();
  return CapabilityBody{out.take()};
}

Result<CapabilityBody> openai_body(const Value& options) {
  return openai_style(options, "alloy", "mp3");
}
Result<CapabilityBody> groq_body(const Value& options) {
  return openai_style(options, "Fritz-PlayAI", "wav");
}
Result<CapabilityBody> plain_body(const Value& options) {
  return openai_style(options, "", "mp3");
}

Result<CapabilityBody> gemini_body(const Value& options) {
  auto text = text_of(options);
  if (!text) return std::move(text).error();
  JsonBuilder out(json::Surrogates::replace);
  out.open_object();
  out.open_array("contents");
  out.open_object();
  out.text("role", "user");
  out.open_array("parts");
  out.open_object();
  const std::string_view how = options["instructions"].string();
  if (how.empty())
    out.text("text", text.value());
  else
    out.text("text", std::string(how).append(": ").append(text.value()));
  out.close_object();
  out.close_array();
  out.close_object();
  out.close_array();
  out.open_object("generationConfig");
  out.raw("responseModalities", R"(["AUDIO"])");
  out.open_object("speechConfig");
  out.open_object("voiceConfig");
  out.open_object("prebuiltVoiceConfig");
  out.text("voiceName", or_else(options["voice"].string(), "Kore"));
  for (int i = 0; i < 5; ++i) out.close_object();
  return CapabilityBody{out.take()};
}

Result<CapabilityBody> minimax_body(const Value& options) {
  auto text = text_of(options);
  if (!text) return std::move(text).error();
  JsonBuilder out(json::Surrogates::replace);
  out.open_object();
  out.value("model", options["model"]);
  out.text("text", text.value());
  out.flag("stream", false);
  out.open_object("voice_setting");
  out.text("voice_id", or_else(options["voice"].string(), "male-qn-qingse"));
  if (options["speed"].is_number()) out.value("speed", options["speed"]);
  out.close_object();
  out.open_object("audio_setting");
  out.text("format", or_else(format_of(options), "mp3"));
  out.close_object();
  out.close_object();
  return CapabilityBody{out.take()};
}

// The voice is a part of the path, the format one of the query.
std::string eleven_path(const Value& options) {
  struct Format {
    std::string_view name;
    std::string_view value;
  };
  constexpr std::array<Format, 3> formats = {
      {{"mp3", "mp3_44100_128"}, {"pcm", "pcm_24000"}, {"opus", "opus_48000_64"}}};
  std::string path = "/v1/text-to-speech/";
  path.append(percent_encoded(or_else(options["voice"].string(), "JBFqnCBsd6RMkjVDRZzb")));
  std::string_view format = or_else(format_of(options), "mp3");
  for (const Format& one : formats) {
    if (one.name == format) format = one.value;
  }
  return path.append("?output_format=").append(percent_encoded(format));
}

Result<CapabilityBody> eleven_body(const Value& options) {
  auto text = text_of(options);
  if (!text) return std::move(text).error();
  JsonBuilder out(json::Surrogates::replace);
  out.open_object();
  out.text("text", text.value());
  out.value("model_id", options["model"]);
  if (options["speed"].is_number()) {
    out.open_object("voice_settings");
    out.value("speed", options["speed"]);
    out.close_object();
  }
  out.close_object();
  return CapabilityBody{out.take()};
}

CapabilityResult audio(std::string bytes, std::string_view type) {
  JsonBuilder out;
  out.open_object();
  out.text("contentType", type);
  out.close_object();
  return {.json = out.take(), .bytes = std::move(bytes)};
}

Error no_audio(const CapabilityAnswer& answer) {
  return make_error(Errc::provider_error, "The provider answered without audio.",
                    answer.body.substr(0, 300));
}

// The body is the audio; JSON under a good status is a failure of a vendor or gateway.
Result<CapabilityResult> read_bytes(const Value&, const CapabilityAnswer& answer) {
  const std::string_view type = answer.content_type.substr(0, answer.content_type.find(';'));
  if (answer.body.empty() || type == "application/json" || type == "text/html") {
    return no_audio(answer);
  }
  return audio(std::string(answer.body), type.empty() ? "audio/mpeg" : type);
}

void append_number(std::string& out, std::uint32_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i) & 0xFFU));
}

// Raw samples (16 bits, one channel, little end first) with the head that players ask for.
std::string wave_of(std::string_view samples, std::uint32_t rate) {
  std::string out = "RIFF";
  append_number(out, static_cast<std::uint32_t>(36 + samples.size()), 4);
  out.append("WAVEfmt ");
  append_number(out, 16, 4);  // bytes of this part
  append_number(out, 1, 2);   // PCM
  append_number(out, 1, 2);   // channels
  append_number(out, rate, 4);
  append_number(out, rate * 2, 4);  // bytes a second
  append_number(out, 2, 2);         // bytes a sample
  append_number(out, 16, 2);        // bits a sample
  out.append("data");
  append_number(out, static_cast<std::uint32_t>(samples.size()), 4);
  return out.append(samples);
}

// The rate in "audio/L16;codec=pcm;rate=24000".
std::uint32_t rate_of(std::string_view mime) {
  const std::size_t at = mime.find("rate=");
  if (at == std::string_view::npos) return default_rate;
  const std::string_view text = mime.substr(at + 5);
  std::uint32_t rate = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rate);
  return error == std::errc() && rate > 0 ? rate : default_rate;
}

Result<CapabilityResult> read_gemini(const Value&, const CapabilityAnswer& answer) {
  json::Document document(message::depth_limit);
  auto parsed = parse_answer(document, answer);
  if (!parsed) return std::move(parsed).error();
  for (const Value candidate : parsed.value()["candidates"].items()) {
    for (const Value part : candidate["content"]["parts"].items()) {
      const Value data = part["inlineData"];
      auto bytes = base64::decode(data["data"].string());
      if (!bytes || bytes->empty()) continue;
      const std::string_view mime = data["mimeType"].string();
      const bool raw = mime.starts_with("audio/L16") || mime.starts_with("audio/pcm");
      if (!raw) return audio(*std::move(bytes), mime);
      return audio(wave_of(*bytes, rate_of(mime)), "audio/wav");
    }
  }
  return no_audio(answer);
}

std::optional<std::string> from_hexadecimal(std::string_view text) {
  if (text.empty() || text.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 2);
  for (std::size_t at = 0; at < text.size(); at += 2) {
    unsigned byte = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + at + 2, byte, 16);
    if (error != std::errc() || end != text.data() + at + 2) return std::nullopt;
    bytes.push_back(static_cast<char>(byte));
  }
  return bytes;
}

Result<CapabilityResult> read_minimax(const Value& options, const CapabilityAnswer& answer) {
  json::Document document(message::depth_limit);
  auto parsed = parse_answer(document, answer);
  if (!parsed) return std::move(parsed).error();
  if (auto error = reported_error(parsed.value())) return *std::move(error);
  auto bytes = from_hexadecimal(parsed.value()["data"]["audio"].string());
  if (!bytes) return no_audio(answer);
  const std::string_view format = or_else(format_of(options), "mp3");
  return audio(*std::move(bytes), format == "mp3" ? "audio/mpeg" : "audio/" + std::string(format));
}

constexpr std::string_view openai_takes = "voice,format,response_format,instructions,speed";

constexpr CapabilityRow row(std::string_view providers, std::string_view path, BuildBody body,
                            std::string_view takes = openai_takes, ReadAnswer read = read_bytes,
                            std::string_view tails = {}) {
  return {.capability = Capability::speech,
          .providers = providers,
          .tails = tails,
          .path = path,
          .body = body,
          .read = read,
          .takes = takes};
}

constexpr CapabilityRow eleven_row() {
  CapabilityRow made =
      row("elevenlabs", "", eleven_body, "voice,format,response_format,speed", read_bytes, "/v1");
  made.path_of = eleven_path;
  return made;
}

constexpr CapabilityRow openai_row() {
  CapabilityRow made = row("openai,ai302,cometapi,newapi", "/audio/speech", openai_body);
  made.unknown_vendors = Dialect::openai_chat;
  return made;
}

constexpr std::array<CapabilityRow, 7> rows = {{
    openai_row(),
    row("azure",
        "/openai/deployments/{deployment}/audio/"
        "speech?api-version={api_version:2025-03-01-preview}",
        openai_body),
    row("groq", "/audio/speech", groq_body),
    row("siliconcloud,togetherai", "/audio/speech", plain_body),
    row("google", "/v1beta/models/{model}:generateContent", gemini_body, "voice,instructions",
        read_gemini, "/v1beta,/v1"),
    row("minimax", "/t2a_v2", minimax_body, "voice,format,response_format,speed", read_minimax),
    eleven_row(),
}};

}  // namespace

std::span<const CapabilityRow> speech_rows() {
  return rows;
}

}  // namespace millrace::model
