// The rows of the capability table and what they are made of. Private to this folder.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/json.hpp"
#include "base/result.hpp"
#include "message/json_builder.hpp"
#include "model/capability/capability.hpp"

namespace millrace::model {

struct CapabilityBody {
  std::string bytes;
  std::string content_type = "application/json";
};

using BuildBody = Result<CapabilityBody> (*)(const json::Value& options);
// A path that options say more of than the model's name; it may hold {model} and the like.
using BuildPath = std::string (*)(const json::Value& options);
using ReadAnswer = Result<CapabilityResult> (*)(const json::Value& options,
                                                const CapabilityAnswer& answer);

// Whether what goes along otherwise does not in this request.
using Spares = bool (*)(const json::Value& options, std::string_view name);

struct CapabilityRow {
  Capability capability;
  std::string_view providers;  // ids by commas, or "" for every provider with the dialect
  Dialect dialect = Dialect::none;
  std::string_view except = {};    // ids by commas that the dialect does not help
  std::string_view models = {};    // beginnings of model names by commas, or "" for every model
  std::string_view base_url = {};  // instead of the provider's own, "" for that
  std::string_view tails = {};     // what is cut from the end of a base URL, by commas
  std::string_view method = "POST";
  std::string_view path;
  BuildBody body = nullptr;
  ReadAnswer read = nullptr;
  BuildPath path_of = nullptr;  // instead of `path`
  std::string_view takes = {};  // what of the options goes along, by commas; see left_out.hpp
  Spares spares = nullptr;
  bool with_images = false;  // image: only when there are images to start from
  std::size_t texts = 0;     // embeddings: texts in one request
  // Serves vendors that the table does not know, too, when they speak this.
  Dialect unknown_vendors = Dialect::none;
  std::string_view page = {};  // models: what the query calls the beginning of the next page
};

std::span<const CapabilityRow> models_rows();
std::span<const CapabilityRow> embeddings_rows();
std::span<const CapabilityRow> image_rows();
std::span<const CapabilityRow> speech_rows();
std::span<const CapabilityRow> pull_rows();

// Whether `list`, by commas, holds `item`; or a beginning of it.
bool list_has(std::string_view list, std::string_view item);
bool list_has_beginning(std::string_view list, std::string_view text);

// The value at "a.b.c", or nothing.
json::Value at_path(const json::Value& value, std::string_view path);

// A text with slashes as segments of a path.
std::string segments_of(std::string_view text);

// Parses a JSON answer.
// Errors: provider_error (no JSON).
Result<json::Value> parse_answer(json::Document& document, const CapabilityAnswer& answer);

// The error that came with a good status: `error`, or MiniMax's `base_resp`. Its class is that of
// the provider's rules.
std::optional<Error> reported_error(const json::Value& answer, std::string_view provider = {});

Error missing_member(std::string_view name, std::string_view what);

// Copies members of `from` under other names where they are there.
struct Rename {
  std::string_view from;
  std::string_view to;
};
void copy_members(message::JsonBuilder& out, const json::Value& from,
                  std::span<const Rename> names);

}  // namespace millrace::model
