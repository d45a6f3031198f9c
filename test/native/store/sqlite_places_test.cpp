// Where the file of a store lies: folders that cannot be written, file systems of a network.

#include <unistd.h>

#include <filesystem>
#include <string>

#include "store/sqlite_store.hpp"

namespace millrace::store {
namespace {

namespace fs = std::filesystem;

// The folder of a store as another user has it, who may only read there. The super-user is another
// one for as long.
class ReadOnlyFolder {
 public:
  explicit ReadOnlyFolder(const fs::path& folder) : folder_(folder), user_(::geteuid()) {
    fs::permissions(folder_, fs::perms::owner_read | fs::perms::owner_exec | fs::perms::group_read |
                                 fs::perms::group_exec | fs::perms::others_read |
                                 fs::perms::others_exec);
    if (user_ != 0) return;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      fs::permissions(entry.path(), fs::perms::group_read | fs::perms::others_read,
                      fs::perm_options::add);
    }
    constexpr uid_t overflow_user = 65534;
    EXPECT_EQ(::seteuid(overflow_user), 0);
  }
  ~ReadOnlyFolder() {
    EXPECT_EQ(::seteuid(user_), 0);
    fs::permissions(folder_, fs::perms::owner_all);
  }
  ReadOnlyFolder(const ReadOnlyFolder&) = delete;
  ReadOnlyFolder& operator=(const ReadOnlyFolder&) = delete;

 private:
  fs::path folder_;
  uid_t user_;
};

class SqlitePlaces : public SqliteStore {};

TEST_F(SqlitePlaces, OfANetworkAreNamedAndNotOpened) {
  SqliteOptions options;
  options.path = folder_.file();
  std::string looked_at;
  options.network_kind = [&](const std::string& folder) {
    looked_at = folder;
    return std::string("nfs");
  };
  const auto opened = open_sqlite_backend(options);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, Errc::store_unsupported);
  EXPECT_NE(opened.error().message.find("of the kind nfs"), std::string::npos);
  EXPECT_NE(opened.error().message.find(folder_.file()), std::string::npos);
  EXPECT_EQ(looked_at, fs::canonical(folder_.path()).string());
  EXPECT_TRUE(fs::is_empty(folder_.path()));
  options.allow_network = true;
  EXPECT_TRUE(open_sqlite_backend(options).ok());
}

TEST_F(SqlitePlaces, ThatCannotBeWrittenLetAClosedStoreBeRead) {
  for (const std::string name : {"store.db", "50% #1?.db"}) {
    SqliteOptions options;
    options.path = folder_.file(name);
    {
      const auto owner = open_sqlite_backend(options);
      ASSERT_TRUE(owner.ok());
      append(*owner.value(), accepting(new_run(1)));
      append(*owner.value(), text_batch(1, "kept"));
    }
    const ReadOnlyFolder read_only(folder_.path());
    options.read_only = true;
    const auto reader = open_sqlite_backend(options);
    ASSERT_TRUE(reader.ok()) << reader.error().message << reader.error().detail;
    EXPECT_EQ(texts_of(*reader.value(), 1), "#|kept");
    EXPECT_TRUE(reader.value()->check().value().empty());
  }
}

TEST_F(SqlitePlaces, ThatCannotBeWrittenShowWhatAnOwnerWritesMeanwhile) {
  {
    const auto owner = opened();
    append(*owner, accepting(new_run(1)));
  }
  std::unique_ptr<StorageBackend> reader;
  {
    const ReadOnlyFolder read_only(folder_.path());
    reader = opened(true);
  }
  ASSERT_NE(reader, nullptr);
  reader->read_together([&] { EXPECT_EQ(texts_of(*reader, 1), "#"); });
  const auto owner = opened();
  const std::string name = "support";
  ASSERT_EQ(owner->claim({&name, 1}, "next", 10).value().size(), 1U);
  append(*owner, text_batch(1, "news", 2));
  reader->read_together([&] { EXPECT_EQ(texts_of(*reader, 1), "#|#|news"); });
}

TEST_F(SqlitePlaces, ThatCannotBeWrittenShowWhatAKilledOwnerLeft) {
  const auto owner = opened();
  append(*owner, accepting(new_run(1)));
  append(*owner, text_batch(1, "shown"));
  const StoreFolder copy;
  for (const std::string end : {"", "-wal", "-shm"}) {
    fs::copy_file(folder_.file() + end, copy.file() + end);
  }
  SqliteOptions options;
  options.path = copy.file();
  options.read_only = true;
  const ReadOnlyFolder read_only(copy.path());
  const auto reader = open_sqlite_backend(options);
  ASSERT_TRUE(reader.ok()) << reader.error().message << reader.error().detail;
  EXPECT_EQ(texts_of(*reader.value(), 1), "#|shown");
  EXPECT_EQ(reader.value()->runs({}).value().runs.size(), 1U);
  EXPECT_TRUE(reader.value()->check().value().empty());
}

TEST_F(SqlitePlaces, ThatCannotBeWrittenHideALogWithoutItsIndex) {
  const auto owner = opened();
  append(*owner, accepting(new_run(1)));
  // As a copy of a store that was open.
  const StoreFolder copy;
  for (const std::string end : {"", "-wal"}) {
    fs::copy_file(folder_.file() + end, copy.file() + end);
  }
  SqliteOptions options;
  options.path = copy.file();
  options.read_only = true;
  {
    const ReadOnlyFolder read_only(copy.path());
    const auto reader = open_sqlite_backend(options);
    ASSERT_FALSE(reader.ok());
    EXPECT_EQ(reader.error().code, Errc::store_unsupported);
    EXPECT_NE(reader.error().message.find("its log cannot be read"), std::string::npos);
  }
  const auto reader = open_sqlite_backend(options);
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  EXPECT_EQ(texts_of(*reader.value(), 1), "#");
}

TEST_F(SqlitePlaces, ThatCannotBeWrittenHaveNoOwner) {
  opened().reset();
  const ReadOnlyFolder read_only(folder_.path());
  const auto owner = open();
  ASSERT_FALSE(owner.ok());
  EXPECT_EQ(owner.error().code, Errc::store_failed);
  EXPECT_NE(owner.error().message.find("cannot be written"), std::string::npos);
  EXPECT_NE(owner.error().message.find(folder_.file()), std::string::npos);
}

}  // namespace
}  // namespace millrace::store
