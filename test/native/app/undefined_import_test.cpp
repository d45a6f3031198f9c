#include "app/undefined_import.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "api/memory_routes.hpp"
#include "store/memory/memory_backend.hpp"
#include "store/store_folder.hpp"

namespace {

namespace fs = std::filesystem;
using millrace::app::import_undefined;
using millrace::store::StorageBackend;

// A data folder, and the store that takes it over.
struct ImportFolder {
  millrace::store::StoreFolder folder;
  fs::path data = folder.path() / "data";
  std::unique_ptr<StorageBackend> backend = millrace::store::make_memory_backend();

  void write(const std::string& name, std::string_view text) const {
    fs::create_directories((data / name).parent_path());
    std::ofstream(data / name, std::ios::binary) << text;
  }
  // "<conversations> <messages> <attachments> <skipped>"
  [[nodiscard]] std::string run() const {
    const auto result = import_undefined(*backend, data.string(), "ada", 500, [](std::uint64_t) {});
    if (!result) return std::string(result.error().code_name());
    std::string text;
    for (const char* name : {"conversations", "messages", "attachments", "skipped"}) {
      text += std::to_string(result.value()[name].integer_or(-1)) + " ";
    }
    return text;
  }
};

constexpr std::string_view conversation =
    R"({"id":"c1","title":"Old","messages":[{"display_name":"system","message":"hi"},)"
    R"({"display_name":"Bot","message":"yes"}]})";

TEST(UndefinedImport, NeedsADataFolder) {
  const ImportFolder import;
  EXPECT_EQ(import.run(), "invalid_option");
  fs::create_directories(import.data);
  EXPECT_EQ(import.run(), "invalid_option");
}

TEST(UndefinedImport, TakesOverOnce) {
  const ImportFolder import;
  import.write("webchat/conversations/c1.json", conversation);
  import.write("history/private_42.json", R"([{"display_name":"system","message":"before"}])");
  EXPECT_EQ(import.run(), "2 3 0 0 ");
  EXPECT_TRUE(fs::exists(import.data / "webchat/legacy_private_42_migrated.json"));
  // The conversation is there, and the marker, too.
  EXPECT_EQ(import.run(), "0 0 0 1 ");
  const auto rows = import.backend->messages("ada", "c1");
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows.value().size(), 2U);
}

TEST(UndefinedImport, SkipsWhatItCannotRead) {
  const ImportFolder import;
  import.write("webchat/conversations/good.json", conversation);
  import.write("webchat/conversations/cut.json", conversation.substr(0, conversation.size() / 2));
  import.write("webchat/conversations/empty.json", "");
  import.write("webchat/conversations/list.json", "[1,2]");
  import.write("webchat/conversations/bytes.json", "\xff\xfe{\x80}");
  import.write("webchat/conversations/deep.json", std::string(100'000, '['));
  import.write("webchat/conversations/note.txt", "no conversation");
  fs::create_directories(import.data / "webchat/conversations/folder.json");
  import.write("history/private_42.json", "{");
  EXPECT_EQ(import.run(), "1 2 0 6 ");
  // What could not be read is looked at again.
  EXPECT_FALSE(fs::exists(import.data / "webchat/legacy_private_42_migrated.json"));
}

TEST(UndefinedImport, TakesFactsOnce) {
  const ImportFolder import;
  import.write("memory.json",
               R"([{"uuid":"m2","fact":"Likes cats","created_at":"2026-02-25 11:00:00"},
    {"uuid":"m3","fact":"Likes cats"},{"uuid":"m4","fact":" "},"text",{"fact":"No id"}])");
  EXPECT_EQ(import.run(), "0 0 0 3 ");
  EXPECT_EQ(millrace::api::count_facts(*import.backend, "ada").value(), 2U);
  EXPECT_EQ(import.run(), "0 0 0 5 ");
  EXPECT_EQ(millrace::api::count_facts(*import.backend, "ada").value(), 2U);
  import.write("memory.json", "{");
  EXPECT_EQ(import.run(), "0 0 0 1 ");
}

// A list with bounds leaves out what has no time: one that is made up would be wrong.
TEST(UndefinedImport, LeavesTheTimesOfFactsAsTheyAre) {
  const ImportFolder import;
  import.write("memory.json", R"([{"uuid":"a","fact":"1","created_at":"2026-02-25 11:00:00"},
    {"uuid":"b","fact":"2","created_at":"long ago"},{"uuid":"c","fact":"3"}])");
  EXPECT_EQ(import.run(), "0 0 0 0 ");
  const auto rows = import.backend->messages("ada", "millrace:memory");
  ASSERT_TRUE(rows && rows.value().size() == 1);
  EXPECT_EQ(rows.value().front().json,
            R"([{"uuid":"a","fact":"1","created_at":"2026-02-25 11:00:00"},)"
            R"({"uuid":"b","fact":"2","created_at":"long ago"},)"
            R"({"uuid":"c","fact":"3","created_at":""}])");
}

// What is there stays, and of what comes the newest; no fact goes without a number that says so.
TEST(UndefinedImport, LeavesOutTheOldestFactsBeyondTheLimit) {
  const ImportFolder import;
  const auto run = [&] {
    const auto result =
        import_undefined(*import.backend, import.data.string(), "ada", 3, [](std::uint64_t) {});
    if (!result) return std::string(result.error().code_name());
    return result.value()["facts"].to_json() + " " + result.value()["factsBeyond"].to_json();
  };
  import.write("memory.json", R"([{"uuid":"a","fact":"1"},{"uuid":"b","fact":"2"}])");
  EXPECT_EQ(run(), "2 0");
  import.write("memory.json", R"([{"uuid":"c","fact":"3"},{"uuid":"d","fact":"4"},
    {"uuid":"e","fact":"5"},{"uuid":"a","fact":"1"}])");
  EXPECT_EQ(run(), "1 2");
  EXPECT_EQ(run(), "0 2");
  EXPECT_EQ(millrace::api::count_facts(*import.backend, "ada").value(), 3U);
}

TEST(UndefinedImport, TakesAttachmentsFromItsFolderAlone) {
  const ImportFolder import;
  const std::string folder = "webchat/attachments/";
  import.write(folder + "blobs/0123456789ab", "bytes");
  import.write(folder + "metadata/1.json",
               R"({"id":"0123456789ab","name":"../a\r\nb.txt","media_type":"text/plain\r\nX: y"})");
  import.write("secret-file", "not for anybody");
  for (const char* id : {"../../../secret-file", "/etc/passwd", "", "..", "unknown-id-1"}) {
    import.write(folder + "metadata/" + std::to_string(std::hash<std::string>()(id)) + ".json",
                 R"({"id":")" + std::string(id) + R"(","name":"x"})");
  }
  fs::create_directories(import.data / folder / "blobs/folder-id-1");
  import.write(folder + "metadata/folder.json", R"({"id":"folder-id-1","name":"x"})");
  EXPECT_EQ(import.run(), "0 0 1 6 ");
  const auto row = import.backend->attachment("ada", "0123456789ab");
  ASSERT_TRUE(row && row.value());
  EXPECT_EQ(row.value()->name, "ab.txt");
  EXPECT_EQ(row.value()->media, "application/octet-stream");
}

}  // namespace
