// libcurl's handles as owners. One file, so that no other has to know how they are freed.
#pragma once

#include <curl/curl.h>

#include <memory>
#include <string>

namespace millrace::net {

template <auto free>
struct CurlDeleter {
  template <class T>
  void operator()(T* handle) const {
    free(handle);
  }
};

using CurlEasy = std::unique_ptr<CURL, CurlDeleter<curl_easy_cleanup>>;
using CurlMulti = std::unique_ptr<CURLM, CurlDeleter<curl_multi_cleanup>>;
using CurlUrl = std::unique_ptr<CURLU, CurlDeleter<curl_url_cleanup>>;
using CurlText = std::unique_ptr<char, CurlDeleter<curl_free>>;

// A list of strings in libcurl's form.
class CurlList {
 public:
  // False when memory is short.
  bool add(const std::string& line) {
    curl_slist* longer = curl_slist_append(list_.get(), line.c_str());
    if (longer == nullptr) return false;
    static_cast<void>(list_.release());
    list_.reset(longer);
    return true;
  }
  [[nodiscard]] curl_slist* get() const { return list_.get(); }

 private:
  std::unique_ptr<curl_slist, CurlDeleter<curl_slist_free_all>> list_;
};

}  // namespace millrace::net
