#include "neura/cuda/kernel_file.h"

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "neura/core/error.h"
#include "neura/core/file.h"
#include "neura/core/settings.h"

namespace neura::cuda {
namespace {

constexpr std::uint64_t kBasis = 14695981039346656037u;
std::string hash(std::string_view text, std::uint64_t h = kBasis) {  // FNV-1a, in hexadecimal
  for (const char c : text) h = (h ^ std::uint64_t(static_cast<unsigned char>(c))) * 1099511628211u;
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(h));
  return digits;
}

// The file: pieces, each after its length, and the hash of them all.
void add(std::string& file, std::string_view piece) {
  const std::uint64_t n = piece.size();
  file.append(reinterpret_cast<const char*>(&n), sizeof n).append(piece);
}
std::string_view take(std::string_view& file) {
  std::uint64_t n = 0;
  if (file.size() < sizeof n) throw FormatError("kernel: a piece is missing");
  std::memcpy(&n, file.data(), sizeof n);
  file.remove_prefix(sizeof n);
  if (file.size() < n) throw FormatError("kernel: a piece is missing");
  const std::string_view piece = file.substr(0, n);
  file.remove_prefix(n);
  return piece;
}

std::string folder() {
  if (const char* chosen = setting(Setting::cache_dir)) return chosen;
  if (const char* caches = setting_given(Setting::xdg_cache_home)) return std::string(caches) + "/neura";
  const char* const home = setting_given(Setting::home);
  return home ? std::string(home) + "/.cache/neura" : "";
}

}  // namespace

std::string hash_of(std::string_view text) { return hash(text); }

KernelFile::KernelFile(std::string key) : key_(std::move(key)) {
  if (const std::string at = folder(); !at.empty() && !key_.empty())
    path_ = at + "/kernels/" + hash(key_) + hash(key_, kBasis + 2);
}

std::shared_ptr<const CompiledKernel> KernelFile::read() const {
  std::error_code none;
  if (path_.empty() || !std::filesystem::is_regular_file(path_, none)) return nullptr;
  try {
    const std::string text = io::read_file(path_);
    std::string_view rest = text;
    const std::string_view sum = rest.substr(rest.size() < 16 ? 0 : rest.size() - 16);
    rest.remove_suffix(sum.size());
    if (sum != hash(rest) || take(rest) != key_) return nullptr;
    auto kernel = std::make_shared<CompiledKernel>();
    kernel->name = take(rest);
    const std::string_view parameters = take(rest);
    kernel->parameters.resize(parameters.size() / sizeof(int));
    std::memcpy(kernel->parameters.data(), parameters.data(), kernel->parameters.size() * sizeof(int));
    kernel->code = take(rest);
    return kernel;
  } catch (const Error&) {
    return nullptr;
  }
}

void KernelFile::write(const CompiledKernel& kernel) const {
  if (path_.empty()) return;
  std::string file;
  add(file, key_), add(file, kernel.name);
  add(file, {reinterpret_cast<const char*>(kernel.parameters.data()), kernel.parameters.size() * sizeof(int)});
  add(file, kernel.code);
  file += hash(file);
  try {
    std::filesystem::create_directories(std::filesystem::path(path_).parent_path());
    io::write_file(path_, file);
  } catch (const std::exception&) {  // the kernel serves without
  }
}

}  // namespace neura::cuda
