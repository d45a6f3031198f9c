// The plain data of HTTP: header fields and a complete request.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace::http {

struct Header {
  std::string name;
  std::string value;
};

// Header fields in their order; names are compared without regard to case.
class Headers {
 public:
  Headers() = default;
  Headers(std::initializer_list<Header> fields) : fields_(fields) {}

  void add(std::string name, std::string value) {
    fields_.push_back({std::move(name), std::move(value)});
  }
  // The value of the first field of this name.
  [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const;
  [[nodiscard]] std::size_t count(std::string_view name) const;
  [[nodiscard]] std::size_t size() const { return fields_.size(); }
  [[nodiscard]] auto begin() const { return fields_.begin(); }
  [[nodiscard]] auto end() const { return fields_.end(); }

 private:
  std::vector<Header> fields_;
};

// Who sends a request, as a zone's key told.
struct Caller {
  std::string principal;
  std::vector<std::string> scopes;  // none: all
  std::string key;                  // the name of the key; "" is none

  [[nodiscard]] bool may(std::string_view scope) const;
};

class BodySink;

// A request whose head and body passed every check.
struct Request {
  std::string method;
  std::string target;  // as it was sent
  std::string path;    // of the target, still percent-encoded
  std::string query;   // behind the '?', still percent-encoded
  Headers headers;
  std::string body;  // chunks joined
  std::string remote_address;
  std::shared_ptr<const Caller> caller = nullptr;  // where a zone decides who may ask
  std::string id = {};                       // where requests are observed (request_observer.hpp)
  std::string trace = {};                    // the same: a valid `traceparent`, or ""
  std::shared_ptr<BodySink> sink = nullptr;  // has the body, where its route has one

  // The first parameter of this name in the query, with '+' and percent escapes decoded.
  // Errors: none; the bytes need not be UTF-8.
  [[nodiscard]] std::optional<std::string> query_value(std::string_view name) const;
  // All parameters of this name, as query_value.
  [[nodiscard]] std::vector<std::string> query_values(std::string_view name) const;
  // The segment of the path at this place, from 0, with percent escapes decoded; "" when there is
  // none. Errors: none; the bytes need not be UTF-8.
  [[nodiscard]] std::string path_segment(std::size_t at) const;
};

}  // namespace millrace::http
