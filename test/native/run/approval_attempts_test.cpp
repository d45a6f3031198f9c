// Answers that are none: of others, to others, forged, late and repeated ones.
//   MILLRACE_APPROVAL_ATTEMPTS: how many
#include <array>
#include <cstdlib>
#include <random>
#include <string>
#include <utility>

#include "durable_rig.hpp"

namespace millrace::run {
namespace {

using journal::RunState;
using json::Tree;
using test::calls;
using test::DurableRig;
using test::text_answer;

int attempts() {
  const char* const given = std::getenv("MILLRACE_APPROVAL_ATTEMPTS");
  return given != nullptr ? std::atoi(given) : 300;
}

class ApprovalAttempts : public testing::Test {
 protected:
  // A run that waits for the user, about one call.
  std::string wait_for_user(const std::string& ag_ui_run, const std::string& thread) {
    const auto opened = rig.open_run(ag_ui_run, "Send it.", ag_ui_run, "", thread);
    EXPECT_TRUE(opened.ok());
    run = opened.value().run;
    while (rig.state_of(run) != RunState::waiting) continue;
    return rig.read(run, 0)->interrupts.at(0);
  }

  Result<std::string> decide(const std::string& id, const std::string& approval,
                             const std::string& principal, const std::string& entry) {
    return rig.request<std::string>([&](RunRequests& requests, auto done) {
      requests.decide(id, approval, principal, Tree::parse(entry).value(), std::move(done));
    });
  }

  // One that must not count.
  Result<std::string> attempt(std::mt19937_64& random) {
    static constexpr std::array<const char*, 4> entries{
        R"({"status":"resolved","payload":{"approved":true}})",
        R"({"status":"resolved","payload":{"approved":"true"}})",
        R"({"status":"resolved","payload":{"approved":true,"editedArgs":{"to":"eve"}}})",
        R"({"approved":true,"interruptId":"x"})"};
    const std::string entry = entries.at(random() % entries.size());
    std::string forged = open;
    forged[random() % forged.size()] = static_cast<char>('0' + random() % 10);
    if (forged == open) forged += "0";
    switch (random() % 5) {
      case 0: return decide(run.text(), open, "eve", entry);
      case 1: return decide(run.text(), forged, "local", entry);
      case 2: return decide(other.text(), open, "local", entry);
      case 3: return decide(run.text(), over, "local", entry);
      default: return decide(store::RunId::next().text(), open, "local", entry);
    }
  }

  DurableRig rig;
  store::RunId run;
  store::RunId other;  // another run of the same user, which is over
  std::string open;    // the approval that is pending
  std::string over;    // one that was answered
};

TEST_F(ApprovalAttempts, RunNothing) {
  rig.provider.answers = {calls({{"a", "send"}}), text_answer("Denied."), calls({{"b", "send"}}),
                          text_answer("Sent.")};
  rig.tools["send"]->outcomes = {{"sent"}};
  over = wait_for_user("r1", "t1");
  other = run;
  ASSERT_TRUE(decide(run.text(), over, "local", R"({"approved":false})").ok());
  while (rig.state_of(run) != RunState::completed) continue;
  open = wait_for_user("r2", "t2");
  const std::uint64_t seed = std::random_device{}();
  std::mt19937_64 random(seed);
  for (int number = 0; number < attempts(); ++number) {
    ASSERT_FALSE(attempt(random).ok()) << "attempt " << number << " of seed " << seed;
  }
  EXPECT_EQ(rig.tools["send"]->started, 0U);
  EXPECT_EQ(rig.state_of(run), RunState::waiting);
  // The user's own answer counts, once.
  ASSERT_TRUE(decide(run.text(), open, "local", R"({"approved":true})").ok());
  while (rig.state_of(run) != RunState::completed) continue;
  for (int number = 0; number < attempts() / 10; ++number) {
    ASSERT_FALSE(decide(run.text(), open, "local", R"({"approved":true})").ok());
  }
  EXPECT_EQ(rig.tools["send"]->started, 1U);
}

// An answer that comes when the time for it is over is none.
TEST_F(ApprovalAttempts, RunNothingWhenTheyComeTooLate) {
  rig.provider.answers = {calls({{"a", "send"}}), text_answer("Too late.")};
  open = wait_for_user("r1", "t1");
  rig.store_ms += std::int64_t{8} * 24 * 3600 * 1000;
  for (int number = 0; number < attempts() / 10; ++number) {
    ASSERT_FALSE(decide(run.text(), open, "local", R"({"approved":true})").ok());
  }
  EXPECT_EQ(rig.tools["send"]->started, 0U);
}

}  // namespace
}  // namespace millrace::run
