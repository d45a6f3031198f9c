#include "api/attachment_routes.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "api/api_answers.hpp"
#include "api/attachment_stream.hpp"
#include "api/media_types.hpp"
#include "api/upload.hpp"
#include "base/ascii.hpp"
#include "chat/ids.hpp"
#include "http/request_head.hpp"
#include "run/durable/attachment_parts.hpp"

namespace millrace::api {
namespace {

using json::Tree;

constexpr std::size_t attachment_place = 4;  // /api/v1/chat/attachments/<id>
constexpr std::string_view root = "/api/v1/chat/attachments/";
constexpr std::string_view field = "file";
constexpr std::string_view missing_file = "Attachment not found";
// Of boundaries and heads around a file.
constexpr std::uint64_t form_bytes = std::uint64_t{4} << 20U;

bool is_image(std::string_view media) {
  return media.starts_with("image/");
}

// One range of bytes, from and to.
using ByteRange = std::pair<std::size_t, std::size_t>;

// Shape: nothing for a header that is not understood, which is then ignored; an empty range
// (from > to) where it asks for what is not there.
std::optional<ByteRange> read_range(std::string_view header, std::size_t size) {
  // Source: RFC 9110 section 14.1: names of units are the same in any case.
  constexpr std::string_view unit = "bytes=";
  const bool is_known = equal_ignoring_case(header.substr(0, unit.size()), unit);
  if (!is_known || header.find(',') != std::string_view::npos) return std::nullopt;
  header.remove_prefix(unit.size());
  const std::size_t dash = header.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto number = [](std::string_view text) -> std::optional<std::size_t> {
    std::size_t value = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || failed != std::errc() || end != text.data() + text.size()) {
      return std::nullopt;
    }
    return value;
  };
  const std::string_view from = header.substr(0, dash);
  const std::string_view to = header.substr(dash + 1);
  const auto first = number(from);
  const auto last = number(to);
  const bool is_read = (first || from.empty()) && (last || to.empty());
  if (!is_read || (!first && !last)) return std::nullopt;
  const ByteRange nothing{1, 0};
  if (!first) {
    if (*last == 0 || size == 0) return nothing;
    return ByteRange{size - std::min(*last, size), size - 1};
  }
  if (*first >= size || (last && *last < *first)) return nothing;
  return ByteRange{*first, std::min(last.value_or(size - 1), size - 1)};
}

// Everything but the bytes comes from the row.
void send_attachment(const ApiContextPtr& context, const http::Request& request,
                     const ResponsePtr& response, const store::AttachmentRow& row,
                     bool is_preview) {
  AttachmentPart part;
  part.hash = row.hash;
  part.size = static_cast<std::uint64_t>(row.size);
  part.is_whole = true;
  const std::string tag = "\"" + row.hash + "\"";
  http::Headers& headers = part.headers;
  headers = {{"Content-Type", std::string(written_media_type(row.media))},
             {"Content-Disposition",
              chat::content_disposition(is_preview ? "inline" : "attachment", row.name)},
             {"Accept-Ranges", "bytes"},
             {"ETag", tag},
             {"Cache-Control", "private, no-cache"},
             {"X-Content-Type-Options", "nosniff"},
             // An image may hold scripts.
             {"Content-Security-Policy", "sandbox; default-src 'none'; style-src 'unsafe-inline'"}};
  if (is_known(request, tag)) {
    return (void)response->send(304, headers, {});
  }
  // A part is for who has the rest of these bytes.
  const std::string_view has = request.headers.find("If-Range").value_or("");
  const bool is_same = has.empty() || has == tag;
  const auto size = static_cast<std::size_t>(row.size);
  // Of other methods a range is no part: HEAD gets what a GET of the whole would.
  const bool has_parts = request.method == "GET" && is_same;
  const auto range =
      has_parts ? read_range(request.headers.find("Range").value_or(""), size) : std::nullopt;
  if (range) {
    const auto [first, last] = *range;
    if (first > last) {
      headers.add("Content-Range", "bytes */" + std::to_string(size));
      return (void)response->send(416, headers, {});
    }
    headers.add("Content-Range", "bytes " + std::to_string(first) + "-" + std::to_string(last) +
                                     "/" + std::to_string(size));
    part.status = 206;
    part.is_whole = last - first + 1 == size;
    part.from = first;
    part.size = last - first + 1;
  }
  if (part.size == 0) return (void)response->send(part.status, headers, {});
  if (request.method == "HEAD") {
    return (void)response->start_sized(part.status, headers, part.size);
  }
  std::make_shared<AttachmentStream>(context, response, std::move(part))->start();
}

// What an upload is answered with that has more bytes than may come.
Tree too_large(std::uint64_t most_bytes) {
  Tree body = Tree::object();
  body.set("error", "file too large");
  body.set("max_upload_size_bytes", Tree::integer(static_cast<std::int64_t>(most_bytes)));
  return body;
}

struct AttachmentService {
  using Found = Result<std::optional<store::AttachmentRow>>;
  ApiContextPtr context;

  void on_capabilities(const http::Request& request, const ResponsePtr& response) const;
  void on_upload(const http::Request& request, const ResponsePtr& response) const;
  void store(const UploadedFile& file, const std::string& principal,
             const ResponsePtr& response) const;
  void find(const std::string& principal, const std::string& id,
            std::function<void(Found)> done) const;
  void read(const http::Request& request, const ResponsePtr& response, bool is_preview) const;
};

void AttachmentService::on_capabilities(const http::Request& request,
                                        const ResponsePtr& response) const {
  static_cast<void>(request);
  Tree body = Tree::object();
  body.set("max_upload_size_bytes",
           Tree::integer(static_cast<std::int64_t>(context->options.attachment_bytes)));
  body.set("multipart_field", field);
  send_json(response, 200, body);
}

void AttachmentService::on_upload(const http::Request& request, const ResponsePtr& response) const {
  const auto upload = std::dynamic_pointer_cast<Upload>(request.sink);
  if (!upload || !upload->is_form()) {
    return send_refusal(response, 400, "multipart request required");
  }
  upload->finish([service = *this, upload, response,
                  principal = principal_of(request, *context)](const Result<UploadedFile>& file) {
    if (!file) return send_failure(response, file.error());
    if (!upload->has_file()) return send_refusal(response, 400, "file field is required");
    if (upload->is_too_large()) {
      return send_json(response, 413, too_large(service.context->options.attachment_bytes));
    }
    service.store(file.value(), principal, response);
  });
}

void AttachmentService::store(const UploadedFile& file, const std::string& principal,
                              const ResponsePtr& response) const {
  store::AttachmentRow row;
  row.id = hex_id();
  row.principal = principal;
  row.name = chat::file_name(file.name);
  row.size = static_cast<std::int64_t>(file.size);
  using Stored = Result<store::AttachmentRow>;
  context->with_store<Stored>(
      [row, file](store::StorageBackend& backend) mutable -> Stored {
        auto bytes = file.file ? file.file->map() : Result<std::string_view>(std::string_view());
        if (!bytes) return bytes.error();
        auto hash = backend.put_blob(bytes.value());
        if (!hash) return std::move(hash).error();
        if (hash.value() != file.sha256) {
          return make_error(Errc::store_failed, "The bytes of an upload changed on the disk.");
        }
        row.hash = std::move(hash).value();
        row.media = checked_media_type(media_type_of(row.name), bytes.value());
        row.created = backend.now();
        if (auto put = backend.put_attachment(row); !put) return std::move(put).error();
        return row;
      },
      [response](const Stored& stored) {
        if (!stored) return send_failure(response, stored.error());
        Tree body = Tree::object();
        body.set("attachment", attachment_json(stored.value()));
        send_json(response, 201, body);
      });
}

// Media of an answer may be on their way to the store: only what its writer does not have either is
// missing.
void AttachmentService::find(const std::string& principal, const std::string& id,
                             std::function<void(Found)> done) const {
  const auto look = [principal, id](store::StorageBackend& backend) -> Found {
    return backend.attachment(principal, id);
  };
  context->read_store<Found>(look, [context = context, look, done = std::move(done)](Found found) {
    if (!found || found.value()) return done(std::move(found));
    context->with_store<Found>(look, done);
  });
}

void AttachmentService::read(const http::Request& request, const ResponsePtr& response,
                             bool is_preview) const {
  find(principal_of(request, *context), request.path_segment(attachment_place),
       [context = context, request, response, is_preview](const Found& found) {
         if (!found) return send_failure(response, found.error());
         if (!found.value()) return send_refusal(response, 404, missing_file);
         if (is_preview && !is_image(found.value()->media)) {
           return send_refusal(response, 415, "Attachment preview is not available");
         }
         send_attachment(context, request, response, *found.value(), is_preview);
       });
}

}  // namespace

Tree attachment_reference(const store::AttachmentRow& row) {
  Tree reference = Tree::object();
  reference.set("uid", row.id);
  reference.set("kind", is_image(row.media) ? "image" : "file");
  reference.set("media_type", row.media);
  reference.set("display_name", row.name);
  reference.set("source_kind", run::stored_attachment);
  reference.set("sha256", row.hash);
  reference.set("source_ref", std::string(root) + row.id);
  return reference;
}

Tree references_of(const std::vector<InlineMedium>& media) {
  Tree references = Tree::array();
  for (const InlineMedium& medium : media) references.push(attachment_reference(medium.row));
  return references;
}

Tree with_addresses(Tree attachment) {
  const std::string url = std::string(root) + std::string(attachment["uid"].string());
  attachment.set("id", attachment["uid"]);
  attachment.set("download_url", url);
  if (attachment["kind"].string() == "image") attachment.set("preview_url", url + "/preview");
  attachment.erase("render_source");
  return attachment;
}

Tree attachment_json(const store::AttachmentRow& row) {
  const std::string url = std::string(root) + row.id;
  Tree json = Tree::object();
  json.set("id", row.id);
  json.set("uid", row.id);
  json.set("name", row.name);
  json.set("display_name", row.name);
  json.set("size", Tree::integer(row.size));
  json.set("media_type", row.media);
  json.set("kind", is_image(row.media) ? "image" : "file");
  json.set("sha256", row.hash);
  json.set("created_at", row.created == 0 ? std::string() : local_time(row.created));
  json.set("download_url", url);
  json.set("discarded", Tree::flag(false));
  json.set("source_kind", "runtime_webchat_attachment");
  json.set("source_ref", url);
  if (is_image(row.media)) json.set("preview_url", url + "/preview");
  return json;
}

std::vector<ApiRoute> attachment_routes(const ApiContextPtr& context) {
  const auto service = std::make_shared<AttachmentService>(AttachmentService{context});
  const auto spool = std::make_shared<UploadSpool>(context->loop, context->options.upload_folder);
  const auto begin_upload =
      [spool, most_bytes = context->options.attachment_bytes](const http::RequestHead& head) {
        return Upload::begin(spool, head.headers.find("Content-Type").value_or(""), most_bytes);
      };
  // The server answers by the length that the head names, before the form is read.
  const auto error_body = [most_bytes = context->options.attachment_bytes](
                              const Error& error, std::string_view request_path) {
    return error.code == Errc::body_too_large ? too_large(most_bytes).to_json()
                                              : api_error_body(error, request_path);
  };
  return {
      {"GET", "/api/v1/chat/attachments/capabilities", "read", "What can be uploaded.",
       [service](http::Request&& request, const ResponsePtr& response) {
         service->on_capabilities(request, response);
       },
       "", "AttachmentCapabilities"},
      {"POST", "/api/v1/chat/attachments", "chat", "Uploads a file.",
       [service](http::Request&& request, const ResponsePtr& response) {
         service->on_upload(request, response);
       },
       "AttachmentUpload", "AttachmentAnswer", 201, context->options.attachment_bytes + form_bytes,
       "", false, begin_upload, error_body},
      {"GET", "/api/v1/chat/attachments/{attachment_id}", "read", "The bytes of a file.",
       [service](http::Request&& request, const ResponsePtr& response) {
         service->read(request, response, false);
       },
       "", "Binary"},
      {"GET", "/api/v1/chat/attachments/{attachment_id}/preview", "read", "A picture, to be shown.",
       [service](http::Request&& request, const ResponsePtr& response) {
         service->read(request, response, true);
       },
       "", "Binary"},
  };
}

}  // namespace millrace::api
