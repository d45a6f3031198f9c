// Feeds the records of an answer to a decoder, and gives its events.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <random>
#include <string>
#include <string_view>

#include "adapter/decoder.hpp"
#include "support/collect.hpp"

namespace millrace::test {

inline std::string decode_in_steps(std::string_view wire, const std::string& body,
                                   std::size_t step) {
  CountingIds ids("id-");
  test::Collector events;
  adapter::DecoderOptions options;
  options.details = true;
  adapter::Decoder decoder(*adapter::find_wire(wire), options, ids, events);
  for (std::size_t at = 0; at < body.size(); at += step) {
    EXPECT_TRUE(decoder.feed(std::string_view(body).substr(at, step)).ok());
  }
  EXPECT_TRUE(decoder.finish().ok());
  return events.text(true);
}

// Whole, byte by byte and in pieces of a random size.
inline std::string events_of(std::string_view wire,
                             std::initializer_list<std::string_view> records) {
  std::string body;
  for (const std::string_view record : records) {
    body.append(wire == "ollama" ? "" : "data: ").append(record).append("\n\n");
  }
  const std::string whole = decode_in_steps(wire, body, body.size());
  const unsigned seed = std::random_device{}();
  EXPECT_EQ(decode_in_steps(wire, body, 1), whole);
  EXPECT_EQ(decode_in_steps(wire, body, 2 + seed % 97), whole) << "seed " << seed;
  return whole;
}

inline std::size_t count_in(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

}  // namespace millrace::test
