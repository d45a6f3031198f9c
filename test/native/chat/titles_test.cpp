// Titles of conversations: contract B.4, with its faults avoided.

#include "chat/titles.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "chat/job_rig.hpp"

namespace millrace::chat {
namespace {

using json::Tree;

std::string state(const Tree& conversation) {
  return std::string(conversation["title"].string()) + "|" +
         std::string(conversation["title_source"].string()) + "|" +
         std::string(conversation["title_status"].string());
}

Tree conversation(std::string_view title = {}) {
  Tree made = parsed(R"({"other":1})");
  begin_title(made, title, 1);
  return made;
}

TEST(Titles, AreCleaned) {
  struct Row {
    std::string_view given;
    std::string title;
  };
  const std::vector<Row> rows{
      {" New \n name ", "New name"}, {"  \"\" ", ""},
      {"\"'Both'\"", "Both"},        {"“引号”", "引号"},
      {"《书》名", "书》名"},        {std::string_view(), ""},
  };
  for (const Row& row : rows) EXPECT_EQ(clean_title(row.given), row.title) << row.given;
  EXPECT_EQ(clean_title(std::string(60, 'x')), std::string(40, 'x'));
  EXPECT_EQ(clean_title(std::string(39, 'x') + " yz"), std::string(39, 'x'));
  // Hours, where each layer is copied.
  EXPECT_EQ(clean_title(std::string(4'000'000, '"') + "x"), "x");
}

TEST(Titles, AreTheFirstMessageAtFirst) {
  Tree made = conversation();
  EXPECT_EQ(state(made), "新对话|temporary|temporary");
  title_from_message(made, " \n ", 2);
  EXPECT_EQ(state(made), "新对话|temporary|temporary");
  title_from_message(made, "A rather long first   question here", 2);
  EXPECT_EQ(state(made), "A rather long firs|temporary|temporary");
  title_from_message(made, "The second", 3);
  EXPECT_EQ(state(made), "A rather long firs|temporary|temporary");
  EXPECT_EQ(made["other"].integer_or(0), 1);
}

TEST(Titles, OfTheUserStay) {
  Tree made = conversation("My own title");
  EXPECT_EQ(state(made), "My own title|manual|manual");
  title_from_message(made, "first question", 2);
  EXPECT_FALSE(wants_title(made, "q", "a", 3));
  EXPECT_EQ(state(made), "My own title|manual|manual");
  EXPECT_FALSE(set_title(made, " \"\" ", 4));
  EXPECT_EQ(state(made), "My own title|manual|manual");
  EXPECT_TRUE(set_title(made, " Mine ", 4));
  EXPECT_EQ(made["title_updated_at"].integer_or(0), 4);
  clear_title(made, 5);
  EXPECT_EQ(state(made), "新对话|temporary|temporary");
}

TEST(Titles, AreGeneratedOnce) {
  Tree made = conversation();
  title_from_message(made, "question", 2);
  EXPECT_FALSE(wants_title(made, "question", " ", 3));
  EXPECT_TRUE(wants_title(made, "question", "answer", 3));
  const std::string basis = request_title(made, "question", "answer", 3);
  EXPECT_EQ(state(made), "question|temporary|pending");
  EXPECT_EQ(made["title_basis_hash"].string(), basis);
  EXPECT_EQ(made["title_requested_at"].integer_or(0), 3);
  EXPECT_FALSE(wants_title(made, "question", "answer", 4));
  EXPECT_FALSE(end_title(made, "other", "Another", 5));
  EXPECT_TRUE(end_title(made, basis, "\"Generated\"\n", 5));
  EXPECT_EQ(state(made), "Generated|model|generated");
  EXPECT_FALSE(wants_title(made, "question", "answer", 6));
  EXPECT_FALSE(end_title(made, basis, "Again", 7));
}

TEST(Titles, OfTheUserWinOverAModelThatIsAtWork) {
  Tree made = conversation();
  const std::string basis = request_title(made, "q", "a", 3);
  set_title(made, "Mine", 4);
  EXPECT_FALSE(end_title(made, basis, "Generated", 5));
  EXPECT_EQ(state(made), "Mine|manual|manual");
  clear_title(made, 6);
  EXPECT_FALSE(end_title(made, basis, "Generated", 7));
}

TEST(Titles, ThatFailedWaitLongerEachTime) {
  TitlePolicy policy;
  policy.most_attempts = 3;
  policy.first_wait_ms = 100;
  policy.longest_wait_ms = 150;
  Tree made = conversation();
  std::int64_t now = 1000;
  for (const std::int64_t wait : {100, 150}) {
    end_title(made, request_title(made, "q", "a", now), "", now, policy);
    EXPECT_EQ(made["title_status"].string(), "failed");
    EXPECT_EQ(made["title_failed_at"].integer_or(0), now);
    EXPECT_EQ(next_title_at(made, policy), now + wait);
    EXPECT_FALSE(wants_title(made, "q", "a", now + wait - 1, policy));
    EXPECT_TRUE(wants_title(made, "q", "a", now + wait, policy));
    now += wait;
  }
  end_title(made, request_title(made, "q", "a", now), " ", now, policy);
  EXPECT_FALSE(next_title_at(made, policy));
  EXPECT_FALSE(wants_title(made, "q", "a", now + 1'000'000, policy));
}

TEST(Titles, ThatACrashLeftPendingAreRequestedAgain) {
  Tree made = conversation();
  request_title(made, "q", "a", 1000);
  const TitlePolicy policy;
  EXPECT_EQ(next_title_at(made), 1000 + policy.pending_ms);
  EXPECT_TRUE(wants_title(made, "q", "a", 1000 + policy.pending_ms));
}

TEST(Titles, HaveAPromptOfTheFirstTwoMessages) {
  const std::string prompt = title_prompt("why?", std::string(5000, 'x'));
  EXPECT_NE(prompt.find("<question>\nwhy?\n</question>"), std::string::npos);
  EXPECT_LT(prompt.size(), 3000U);
}

}  // namespace
}  // namespace millrace::chat
