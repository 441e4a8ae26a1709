// Where texts go: whole or not at all, beside the real target, with its mode, through no trap.
#include "ir/files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "ir/error.h"

namespace chorale {
namespace {

namespace fs = std::filesystem;

class Files : public testing::Test {
 protected:
  Files() {
    std::string name = (fs::temp_directory_path() / "chorale_files_XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~Files() override { fs::remove_all(folder_); }

  std::string at(const std::string& name) const { return folder_ + "/" + name; }

  // What lies in the folder, temporary files too.
  std::size_t entries() const {
    return static_cast<std::size_t>(
        std::distance(fs::recursive_directory_iterator(folder_), fs::recursive_directory_iterator()));
  }

  static mode_t mode(const std::string& path) {
    struct stat is = {};
    EXPECT_EQ(lstat(path.c_str(), &is), 0);
    return is.st_mode & 07777;
  }

  std::string folder_ = {};
};

// The process may write files of this many bytes only, as on a full disk.
class SmallDisk {
 public:
  explicit SmallDisk(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &limit);
    old_ = std::signal(SIGXFSZ, SIG_IGN);
  }
  ~SmallDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, old_);
  }

 private:
  rlimit before_ = {};
  void (*old_)(int) = SIG_DFL;
};

TEST_F(Files, NewFilesHaveTheModeThatTheUmaskLeaves) {
  const mode_t before = umask(027);
  write_file(at("new"), "text");
  umask(before);
  EXPECT_EQ(mode(at("new")), 0640u);
  EXPECT_EQ(read_file(at("new")), "text");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Files, WhatIsNoFileCannotBeRead) {
  EXPECT_THROW(read_file(at("missing")), InputError);
  EXPECT_THROW(read_file(folder_), InputError);
}

TEST_F(Files, AReplacedFileKeepsItsMode) {
  write_file(at("secret"), "old");
  chmod(at("secret").c_str(), 0600);
  write_file(at("secret"), "new");
  EXPECT_EQ(mode(at("secret")), 0600u);
  EXPECT_EQ(read_file(at("secret")), "new");
  EXPECT_EQ(entries(), 1u);  // no temporary is left
}

// The name of the temporary file used to be FILE.tmp<pid>, and a link that waited there was followed.
TEST_F(Files, APredictableNameIsNotFollowed) {
  write_file(at("precious"), "precious");
  fs::create_symlink(at("precious"), at("f.json.tmp" + std::to_string(getpid())));
  write_file(at("f.json"), "text");
  EXPECT_EQ(read_file(at("precious")), "precious");
  EXPECT_EQ(read_file(at("f.json")), "text");
}

TEST_F(Files, ALinkStaysALink) {
  fs::create_directory(at("there"));
  write_file(at("there/real"), "old");
  chmod(at("there/real").c_str(), 0600);
  fs::create_symlink("there/real", at("link"));  // relative to where it lies
  fs::create_symlink(at("link"), at("link to a link"));
  write_file(at("link to a link"), "new");
  EXPECT_TRUE(fs::is_symlink(at("link")) && fs::is_symlink(at("link to a link")));
  EXPECT_EQ(read_file(at("there/real")), "new");
  EXPECT_EQ(mode(at("there/real")), 0600u);
  EXPECT_EQ(entries(), 4u);
}

TEST_F(Files, ALinkMayLeadToAFileThatIsYetToBeMade) {
  fs::create_directory(at("there"));
  fs::create_symlink("there/real", at("link"));
  EXPECT_EQ(why_not_writable(at("link")), "");
  write_file(at("link"), "new");
  EXPECT_TRUE(fs::is_symlink(at("link")));
  EXPECT_EQ(read_file(at("there/real")), "new");
  fs::create_symlink("nowhere/real", at("lost"));
  EXPECT_NE(why_not_writable(at("lost")), "");
  EXPECT_THROW(write_file(at("lost"), "new"), InputError);
}

TEST_F(Files, LoopsAndDirectoriesAreRefused) {
  fs::create_symlink("b", at("a"));
  fs::create_symlink("a", at("b"));
  fs::create_directory(at("folder"));
  fs::create_symlink("folder", at("to a folder"));
  for (const char* name : {"a", "folder", "to a folder", "nowhere/f", "a/f"}) {
    EXPECT_NE(why_not_writable(at(name)), "") << name;
    EXPECT_THROW(write_file(at(name), "text"), InputError) << name;
  }
  EXPECT_EQ(entries(), 4u);
}

TEST_F(Files, DevicesAndPipesAreWrittenDirectly) {
  write_file("/dev/null", "text");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_THROW(write_file("/dev/full", "text"), InputError);
  ASSERT_EQ(mkfifo(at("pipe").c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] { got = read_file(at("pipe")); });
  write_file(at("pipe"), "through the pipe");
  reader.join();
  EXPECT_EQ(got, "through the pipe");
  EXPECT_TRUE(fs::is_fifo(at("pipe")));
}

// Opened once more, or replaced, the file behind the descriptor would lose what went there before.
TEST_F(Files, AnOpenDescriptorIsWrittenTo) {
  const int file = open(at("out").c_str(), O_WRONLY | O_CREAT, 0600);
  ASSERT_GE(file, 0);
  ASSERT_EQ(write(file, "before ", 7), 7);
  write_file("/dev/fd/" + std::to_string(file), "between ");
  ASSERT_EQ(write(file, "after", 5), 5);
  close(file);
  EXPECT_EQ(read_file(at("out")), "before between after");
}

TEST_F(Files, AFullDiskLeavesTheOldFileAndNothingElse) {
  write_file(at("f.json"), "old");
  {
    const SmallDisk small(1000);
    EXPECT_THROW(write_file(at("f.json"), std::string(5000, 'x')), InputError);
    EXPECT_THROW(write_file(at("new.json"), std::string(5000, 'x')), InputError);
  }
  EXPECT_EQ(read_file(at("f.json")), "old");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Files, SeveralAreWrittenOrNone) {
  const std::vector<NamedText> files = {{at("point0/kernel.cu"), "short"},
                                        {at("point1/deep/kernel.cu"), std::string(5000, 'x')}};
  {
    const SmallDisk small(1000);
    EXPECT_THROW(write_files(files), InputError);
  }
  EXPECT_EQ(entries(), 0u);  // not even the directories
  write_files(files);
  EXPECT_EQ(read_file(files[0].path), "short");
  EXPECT_EQ(read_file(files[1].path).size(), 5000u);
  EXPECT_EQ(entries(), 5u);
  // One that cannot be renamed into its place takes the new ones with it.
  fs::create_directory(at("point0/b"));
  EXPECT_THROW(write_files({{at("point0/a"), "a"}, {at("point0/b"), "b"}}), InputError);
  EXPECT_FALSE(fs::exists(at("point0/a")));
}

// Root may write everywhere, so this is asked as somebody else, where we are root.
TEST_F(Files, InADirectoryThatIsNotOursAWritableFileIsWrittenDirectly) {
  write_file(at("ours"), "old");
  write_file(at("not ours"), "old");
  chmod(at("ours").c_str(), 0666);
  chmod(at("not ours").c_str(), 0444);
  chmod(folder_.c_str(), 0555);
  EXPECT_EXIT(
      {
        if (getuid() == 0 && setresuid(65534, 65534, 65534) != 0) std::_Exit(3);
        int refused = 0;
        for (const char* name : {"not ours", "new"}) {
          refused += !why_not_writable(at(name)).empty();
          try {
            write_file(at(name), "new");
          } catch (const InputError&) {
            ++refused;
          }
        }
        write_file(at("ours"), "new");
        std::_Exit(refused == 4 && why_not_writable(at("ours")).empty() ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
  chmod(folder_.c_str(), 0755);
  EXPECT_EQ(read_file(at("ours")), "new");
  EXPECT_EQ(read_file(at("not ours")), "old");
  EXPECT_EQ(entries(), 2u);
}

}  // namespace
}  // namespace chorale
