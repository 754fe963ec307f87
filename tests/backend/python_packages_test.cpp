// Where libraries of Python's packages are looked for, and in which order.
#include "neura/backend/python_packages.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace neura::test {
namespace {

namespace fs = std::filesystem;
using Files = std::vector<std::string>;

struct Packages : testing::Test {  // two folders of packages, and the environment without a toolkit
  Packages() {
    for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) ::unsetenv(variable);
    package_folders() = {first, second};
  }
  ~Packages() override {
    package_folders().clear();
    fs::remove_all(root);
  }
  std::string with(const std::string& folder, const std::string& path) {
    const fs::path file = fs::path(folder) / path;
    fs::create_directories(file.parent_path());
    std::ofstream{file};
    return file.string();
  }
  const fs::path root = fs::path(testing::TempDir()) / ("packages" + std::to_string(::getpid()));
  const std::string first = (root / "first [1]").string(), second = (root / "second").string();
};

TEST_F(Packages, OfNvidiaComeBeforeTheSystemAndTheToolkit) {
  const std::string other = with(second, "nvidia/cu13/lib/libnvrtc.so.13"),
                    late = with(first, "nvidia/cuda_nvrtc/lib/libnvrtc.so.13"),
                    early = with(first, "nvidia/cu13/lib/libnvrtc.so.13");
  with(first, "nvidia/cu13/lib/libnvrtc.so.12"), with(first, "nvidia/libnvrtc.so.13");
  with(second, "nvidia/cu13/include/libnvrtc.so.13"), with(second, "other/cu13/lib/libnvrtc.so.13");
  EXPECT_EQ(nvidia_files("libnvrtc.so.13"),
            (Files{early, late, other, "libnvrtc.so.13", "/usr/local/cuda/lib64/libnvrtc.so.13"}));
}
TEST_F(Packages, WithoutThemTheSystemAndTheToolkitRemain) {
  with(first, "nvidia");  // a file, not a folder
  ::setenv("CUDA_PATH", "/path", 1);
  EXPECT_EQ(nvidia_files("libcudnn.so.9"), (Files{"libcudnn.so.9", "/path/lib64/libcudnn.so.9"}));
  ::setenv("CUDA_HOME", "/home", 1);
  EXPECT_EQ(cuda_toolkit(), "/home");
  package_folders().clear();
  EXPECT_EQ(nvidia_files("libcudnn.so.9"), (Files{"libcudnn.so.9", "/home/lib64/libcudnn.so.9"}));
}
TEST_F(Packages, FilesComeInTheOrderOfTheFolders) {
  const std::string path = "neura_cuda13/libneura_cuda.so";
  EXPECT_EQ(package_files(path), Files{});
  const std::string b = with(second, path);
  EXPECT_EQ(package_files(path), Files{b});
  const std::string a = with(first, path);
  EXPECT_EQ(package_files(path), (Files{a, b}));
}

}  // namespace
}  // namespace neura::test
