#include "request_table.hpp"

namespace test {
namespace {

using namespace std::string_literals;

const std::string host = "Host: {host}\r\n";
const std::string get = "GET /count HTTP/1.1\r\n" + host;
const std::string post = "POST /echo HTTP/1.1\r\n" + host;
const std::string chunked = post + "Transfer-Encoding: chunked\r\n\r\n";

std::string repeated(const std::string& text, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

std::vector<RawRequest> good_requests() {
  return {
      {"plain GET", get + "\r\n", 200},
      {"one empty line before the request line", "\r\n" + get + "\r\n", 200},
      {"query in the target", "GET /count?a=1&b=%20 HTTP/1.1\r\n" + host + "\r\n", 200},
      {"absolute form with the same host", "GET http://{host}/count HTTP/1.1\r\n" + host + "\r\n",
       200},
      {"header names in any case", "GET /count HTTP/1.1\r\nhOST: {host}\r\n\r\n", 200},
      {"no space behind the colon", "GET /count HTTP/1.1\r\nHost:{host}\r\n\r\n", 200},
      {"spaces and tabs around a value", get + "X: \t a b \t \r\n\r\n", 200},
      {"empty header value", get + "X:\r\n\r\n", 200},
      {"bytes above ASCII in a value", get + "X: gr\xC3\xBC\xC3\x9F\r\n\r\n", 200},
      {"counted body", post + "Content-Length: 5\r\n\r\nhello", 200},
      {"counted body of nothing", post + "Content-Length: 0\r\n\r\n", 200},
      {"length with leading zeros", post + "Content-Length: 005\r\n\r\nhello", 200},
      {"POST without a body", post + "\r\n", 200},
      {"body that looks like a request", post + "Content-Length: 14\r\n\r\nGET / HTTP/1.1", 200},
      {"chunked body", chunked + "5\r\nhello\r\n0\r\n\r\n", 200},
      {"chunked in any case", post + "Transfer-Encoding: ChunKed\r\n\r\n0\r\n\r\n", 200},
      {"chunk sizes in any case with zeros", chunked + "00A\r\n0123456789\r\n0\r\n\r\n", 200},
      {"chunk extension", chunked + "5;name=\"a value\"\r\nhello\r\n0;last\r\n\r\n", 200},
      {"harmless trailer", chunked + "5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n", 200},
      {"Expect on HTTP/1.1", post + "Expect: 100-continue\r\nContent-Length: 5\r\n\r\nhello", 200},
      {"Connection: keep-alive", get + "Connection: keep-alive, x\r\n\r\n", 200},
  };
}

std::vector<RawRequest> bad_request_lines() {
  return {
      {"no target", "GET HTTP/1.1\r\n" + host + "\r\n", 400},
      {"method alone", "GET\r\n" + host + "\r\n", 400},
      {"HTTP/0.9", "GET /count\r\n\r\n", 400},
      {"two spaces before the target", "GET  /count HTTP/1.1\r\n" + host + "\r\n", 400},
      {"two spaces behind the target", "GET /count  HTTP/1.1\r\n" + host + "\r\n", 400},
      {"space behind the version", "GET /count HTTP/1.1 \r\n" + host + "\r\n", 400},
      {"space before the method", " GET /count HTTP/1.1\r\n" + host + "\r\n", 400},
      {"tab as separator", "GET\t/count\tHTTP/1.1\r\n" + host + "\r\n", 400},
      {"space in the target", "GET /co unt HTTP/1.1\r\n" + host + "\r\n", 400},
      {"fragment in the target", "GET /count#x HTTP/1.1\r\n" + host + "\r\n", 400},
      {"byte above ASCII in the target", "GET /c\xC3\xB6unt HTTP/1.1\r\n" + host + "\r\n", 400},
      {"NUL in the target", "GET /co\0unt HTTP/1.1\r\n"s + host + "\r\n", 400},
      {"relative target", "GET count HTTP/1.1\r\n" + host + "\r\n", 400},
      {"authority form", "CONNECT {host} HTTP/1.1\r\n" + host + "\r\n", 400},
      {"asterisk form of GET", "GET * HTTP/1.1\r\n" + host + "\r\n", 400},
      {"absolute form with another host", "GET http://other/count HTTP/1.1\r\n" + host + "\r\n",
       400},
      {"absolute form with user", "GET http://me@{host}/count HTTP/1.1\r\n" + host + "\r\n", 400},
      {"absolute form with another scheme", "GET ftp://{host}/count HTTP/1.1\r\n" + host + "\r\n",
       400},
      {"bad character in the method", "GE(T /count HTTP/1.1\r\n" + host + "\r\n", 400},
      {"two empty lines first", "\r\n\r\n" + get + "\r\n", 400},
      {"lower-case version", "GET /count http/1.1\r\n" + host + "\r\n", 400},
      {"version with junk", "GET /count HTTP/1.1x\r\n" + host + "\r\n", 400},
      {"version HTTP/1.10", "GET /count HTTP/1.10\r\n" + host + "\r\n", 400},
      {"version HTTP/1.2", "GET /count HTTP/1.2\r\n" + host + "\r\n", 505},
      {"version HTTP/2.0", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
      {"version HTTP/3", "GET /count HTTP/3\r\n" + host + "\r\n", 505},
      {"TLS hello", "\x16\x03\x01\x02"s + repeated("x", 100), 400},
      {"target too long", "GET /" + repeated("a", 8192) + " HTTP/1.1\r\n" + host + "\r\n", 414},
      {"endless request line", "GET /" + repeated("a", 20'000), 414},
  };
}

std::vector<RawRequest> bad_fields() {
  return {
      {"no Host", "GET /count HTTP/1.1\r\n\r\n", 400},
      {"no Host on HTTP/1.0", "GET /count HTTP/1.0\r\n\r\n", 400},
      {"empty Host", "GET /count HTTP/1.1\r\nHost:\r\n\r\n", 400},
      {"two Hosts", get + host + "\r\n", 400},
      {"Host with a path", "GET /count HTTP/1.1\r\nHost: {host}/x\r\n\r\n", 400},
      {"Host with a user", "GET /count HTTP/1.1\r\nHost: me@{host}\r\n\r\n", 400},
      {"Host with a bad port", "GET /count HTTP/1.1\r\nHost: localhost:0x50\r\n\r\n", 400},
      {"Host with a port that is too large", "GET /count HTTP/1.1\r\nHost: localhost:65536\r\n\r\n",
       400},
      {"Host list", "GET /count HTTP/1.1\r\nHost: {host}, other\r\n\r\n", 400},
      {"LF alone behind the request line", "GET /count HTTP/1.1\n" + host + "\r\n", 400},
      {"LF alone behind a header", "GET /count HTTP/1.1\r\nHost: {host}\nX: 1\r\n\r\n", 400},
      {"LF alone as the empty line", get + "\n", 400},
      {"CR alone in a value", get + "X: a\rb\r\n\r\n", 400},
      {"CR CR LF", get + "X: a\r\r\n\r\n", 400},
      {"CR alone hides a header", get + "X: a\rTransfer-Encoding: chunked\r\n\r\n", 400},
      {"NUL in a value", get + "X: a\0b\r\n\r\n"s, 400},
      {"NUL in a name", get + "X\0: a\r\n\r\n"s, 400},
      {"vertical tab in a value", get + "X: a\vb\r\n\r\n", 400},
      {"form feed before chunked", post + "Transfer-Encoding: \fchunked\r\n\r\n0\r\n\r\n", 400},
      {"DEL in a value", get + "X: \x7F\r\n\r\n", 400},
      {"space before the colon", get + "X : a\r\n\r\n", 400},
      {"tab before the colon", get + "X\t: a\r\n\r\n", 400},
      {"space before the colon of a length", post + "Content-Length : 5\r\n\r\nhello", 400},
      {"space before the first header", "GET /count HTTP/1.1\r\n " + host + "\r\n", 400},
      {"folded header", get + "X: a\r\n b\r\n\r\n", 400},
      {"folded header with a tab", get + "X: a\r\n\tb\r\n\r\n", 400},
      {"folded Transfer-Encoding", post + "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n", 400},
      {"empty name", get + ": a\r\n\r\n", 400},
      {"no colon", get + "just text\r\n\r\n", 400},
      {"bad character in a name", get + "X(Y): a\r\n\r\n", 400},
      {"byte above ASCII in a name", get + "X\xC3\xBC: a\r\n\r\n", 400},
      {"two Origins", get + "Origin: http://{host}\r\nOrigin: http://evil\r\n\r\n", 400},
      {"unknown expectation", post + "Expect: 200-ok\r\nContent-Length: 5\r\n\r\nhello", 417},
      {"too many fields", get + repeated("X: 1\r\n", 100) + "\r\n", 431},
      {"header too large", get + "X: " + repeated("a", 17'000) + "\r\n\r\n", 431},
      {"endless header", get + "X: " + repeated("a", 40'000), 431},
  };
}

std::vector<RawRequest> bad_lengths() {
  const std::string length = post + "Content-Length: ";
  const std::string coding = post + "Transfer-Encoding: ";
  return {
      {"xchunked", coding + "xchunked\r\n\r\n0\r\n\r\n", 400},
      {"chunked twice", coding + "chunked, chunked\r\n\r\n0\r\n\r\n", 400},
      {"two fields chunked", coding + "chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
       400},
      {"chunked, identity", coding + "chunked, identity\r\n\r\n0\r\n\r\n", 400},
      {"identity", coding + "identity\r\n\r\nhello", 400},
      {"gzip alone", coding + "gzip\r\n\r\nhello", 400},
      {"gzip, chunked", coding + "gzip, chunked\r\n\r\n0\r\n\r\n", 400},
      {"chunked with a parameter", coding + "chunked;q=1\r\n\r\n0\r\n\r\n", 400},
      {"chunked in quotes", coding + "\"chunked\"\r\n\r\n0\r\n\r\n", 400},
      {"chunked with a comma", coding + "chunked,\r\n\r\n0\r\n\r\n", 400},
      {"empty Transfer-Encoding", coding + "\r\n\r\n0\r\n\r\n", 400},
      {"chunked on HTTP/1.0",
       "POST /echo HTTP/1.0\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {"coding, then length", coding + "chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", 400},
      {"length, then coding", length + "5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {"unequal lengths", length + "5\r\nContent-Length: 6\r\n\r\nhello", 400},
      {"equal lengths", length + "5\r\nContent-Length: 5\r\n\r\nhello", 400},
      {"list of lengths", length + "5, 5\r\n\r\nhello", 400},
      {"length with a plus", length + "+5\r\n\r\nhello", 400},
      {"negative length", length + "-1\r\n\r\nhello", 400},
      {"hexadecimal length", length + "0x5\r\n\r\nhello", 400},
      {"length with a unit", length + "5 bytes\r\n\r\nhello", 400},
      {"length with a space inside", length + "1 0\r\n\r\nhello", 400},
      {"empty length", length + "\r\n\r\nhello", 400},
      {"length that does not fit", length + "18446744073709551621\r\n\r\nhello", 400},
      {"length above the limit", length + "8388609\r\n\r\nhello", 413},
  };
}

std::vector<RawRequest> bad_chunks() {
  return {
      {"chunk size that does not fit", chunked + "10000000000000005\r\nhello\r\n0\r\n\r\n", 400},
      {"chunk size with many zeros", chunked + repeated("0", 40) + "5\r\nhello\r\n0\r\n\r\n", 400},
      {"chunk above the limit", chunked + "FFFFFFFFFFFFFFFF\r\nhello\r\n0\r\n\r\n", 413},
      {"negative chunk size", chunked + "-5\r\nhello\r\n0\r\n\r\n", 400},
      {"chunk size with a plus", chunked + "+5\r\nhello\r\n0\r\n\r\n", 400},
      {"chunk size with 0x", chunked + "0x5\r\nhello\r\n0\r\n\r\n", 400},
      {"chunk size with junk", chunked + "5g\r\nhello\r\n0\r\n\r\n", 400},
      {"space before a chunk size", chunked + " 5\r\nhello\r\n0\r\n\r\n", 400},
      {"space behind a chunk size", chunked + "5 \r\nhello\r\n0\r\n\r\n", 400},
      {"empty chunk size", chunked + "\r\nhello\r\n0\r\n\r\n", 400},
      {"extension without a size", chunked + ";x\r\nhello\r\n0\r\n\r\n", 400},
      {"LF alone behind a chunk size", chunked + "5\nhello\r\n0\r\n\r\n", 400},
      {"CR alone in a size line", chunked + "5\rx\r\nhello\r\n0\r\n\r\n", 400},
      {"chunk without CR LF", chunked + "5\r\nhello0\r\n\r\n", 400},
      {"LF alone behind a chunk", chunked + "5\r\nhello\n0\r\n\r\n", 400},
      {"chunk longer than its size", chunked + "4\r\nhello\r\n0\r\n\r\n", 400},
      {"LF in an extension", chunked + "5;a\nb\r\nhello\r\n0\r\n\r\n", 400},
      {"NUL in an extension", chunked + "5;a\0\r\nhello\r\n0\r\n\r\n"s, 400},
      {"extension too long", chunked + "5;" + repeated("a", 5000) + "\r\nhello\r\n0\r\n\r\n", 400},
      {"extensions too long together",
       chunked + repeated("1;" + repeated("a", 50) + "\r\nx\r\n", 100) + "0\r\n\r\n", 400},
      {"LF alone behind a trailer", chunked + "0\r\nX: 1\n\r\n", 400},
      {"folded trailer", chunked + "0\r\nX: 1\r\n 2\r\n\r\n", 400},
      {"trailer without a colon", chunked + "0\r\nX\r\n\r\n", 400},
      {"forbidden trailer Content-Length", chunked + "0\r\nContent-Length: 5\r\n\r\n", 400},
      {"forbidden trailer Transfer-Encoding", chunked + "0\r\nTransfer-Encoding: chunked\r\n\r\n",
       400},
      {"forbidden trailer Host", chunked + "0\r\nhost: other\r\n\r\n", 400},
      {"trailers too large", chunked + "0\r\nX: " + repeated("a", 5000) + "\r\n\r\n", 431},
      {"too many trailers", chunked + "0\r\n" + repeated("X: 1\r\n", 33) + "\r\n", 431},
  };
}

}  // namespace

const std::vector<RawRequest>& raw_requests() {
  static const std::vector<RawRequest> all = [] {
    std::vector<RawRequest> rows;
    for (const auto& part :
         {good_requests(), bad_request_lines(), bad_fields(), bad_lengths(), bad_chunks()}) {
      rows.insert(rows.end(), part.begin(), part.end());
    }
    return rows;
  }();
  return all;
}

std::string with_host(std::string bytes, const std::string& name) {
  const std::string mark = "{host}";
  for (std::size_t at = bytes.find(mark); at != std::string::npos; at = bytes.find(mark, at)) {
    bytes.replace(at, mark.size(), name);
  }
  return bytes;
}

}  // namespace test
