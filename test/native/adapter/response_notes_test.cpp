// What is kept of the records of a response for another process.
#include "adapter/response_notes.hpp"

#include <gtest/gtest.h>

namespace millrace::adapter {
namespace {

class Notes {
 public:
  void add(std::string_view json, const ResponseNotes::Kind& kind) {
    json::Document document;
    const auto record = document.parse(json);
    ASSERT_TRUE(record.ok());
    notes.add(record.value(), kind);
  }
  void count(std::string_view json) {
    json::Document document;
    const auto record = document.parse(json);
    ASSERT_TRUE(record.ok());
    notes.add_number(record.value());
  }
  ResponseNotes notes;
};

TEST(ResponseNotes, JoinPiecesOfOnePart) {
  Notes notes;
  notes.add(R"({"type":"d","sequence_number":1,"item_id":"a","delta":"x\n","obfuscation":"zz"})",
            {.joins = true});
  notes.add(R"({"type":"d","sequence_number":2,"item_id":"a","delta":"y","logprobs":[1]})",
            {.joins = true});
  notes.add(R"({"type":"d","sequence_number":3,"item_id":"b","delta":"z"})", {.joins = true});
  EXPECT_EQ(notes.notes.take(),
            "{\"type\":\"d\",\"item_id\":\"a\",\"delta\":\"x\\ny\",\"sequence_number\":2}\n"
            "{\"type\":\"d\",\"item_id\":\"b\",\"delta\":\"z\",\"sequence_number\":3}\n");
  EXPECT_EQ(notes.notes.take(), "");
}

TEST(ResponseNotes, KeepHalvesOfACharacterApart) {
  Notes notes;
  notes.add(R"({"type":"d","delta":"\ud83c"})", {.joins = true});
  notes.add(R"({"type":"d","delta":"\udf0a"})", {.joins = true});
  EXPECT_EQ(notes.notes.take(),
            "{\"type\":\"d\",\"delta\":\"\\ud83c\"}\n{\"type\":\"d\",\"delta\":\"\\udf0a\"}\n");
}

TEST(ResponseNotes, KeepProbabilitiesThatAreWanted) {
  Notes notes;
  notes.add(R"({"type":"d","delta":"x","logprobs":[1]})", {.joins = true, .keeps_logprobs = true});
  notes.add(R"({"type":"d","delta":"y","logprobs":[1]})", {.joins = true, .keeps_logprobs = true});
  EXPECT_EQ(notes.notes.take(),
            "{\"type\":\"d\",\"logprobs\":[1],\"delta\":\"x\"}\n"
            "{\"type\":\"d\",\"logprobs\":[1],\"delta\":\"y\"}\n");
}

TEST(ResponseNotes, LeaveOutWhatAResponseRepeats) {
  Notes notes;
  notes.add(
      R"({"type":"c","response":{"id":"r","instructions":"long","tools":[{}],"output":[{}],"usage":{"n":1}},"text":"t","sequence_number":9})",
      {.known = "text", .has_items = true});
  EXPECT_EQ(
      notes.notes.take(),
      "{\"type\":\"c\",\"response\":{\"id\":\"r\",\"usage\":{\"n\":1}},\"sequence_number\":9}\n");
}

TEST(ResponseNotes, CountWhatSaysNothing) {
  Notes notes;
  notes.add(R"({"type":"d","delta":"x","sequence_number":1})", {.joins = true});
  notes.count(R"({"type":"p","sequence_number":2})");
  notes.count(R"({"type":"p","sequence_number":3})");
  EXPECT_EQ(notes.notes.take(),
            "{\"type\":\"d\",\"delta\":\"x\",\"sequence_number\":1}\n"
            "{\"type\":\"response.content_part.added\",\"sequence_number\":3}\n");
}

}  // namespace
}  // namespace millrace::adapter
