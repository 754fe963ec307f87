// The main of a fuzz target where there is no fuzzer: runs it on every file of the folders and files that are given,
// and on what becomes of each by cutting it short and by changing single bytes.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

int runs = 0;

void run(const std::string& bytes) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  ++runs;
}

void replay(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  run(bytes);
  const std::size_t step = bytes.size() / 64 + 1;
  for (std::size_t i = 0; i < bytes.size(); i += step) run(bytes.substr(0, i));
  for (std::size_t i = 0; i < bytes.size(); i += step)
    for (int change : {0x01, 0x80, 0xff}) {
      std::string other = bytes;
      other[i] = char(other[i] ^ change);
      run(other);
    }
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (!std::filesystem::is_directory(argv[i])) {
      replay(argv[i]);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) replay(entry.path());
  }
  std::printf("%d inputs\n", runs);
  return runs == 0;
}
