// Raw requests and what a strict server says to each, shared by the tests of the head, the body and
// the server. "{host}" stands for a Host that is allowed.
#pragma once

#include <string>
#include <vector>

namespace test {

struct RawRequest {
  std::string name;
  std::string bytes;
  int status;  // 200: answered by the handler and the connection goes on
};

const std::vector<RawRequest>& raw_requests();

// `bytes` with each "{host}" replaced.
std::string with_host(std::string bytes, const std::string& host);

}  // namespace test
