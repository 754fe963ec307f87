#include "neura/backend/python_packages.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "neura/core/settings.h"

namespace neura {

namespace fs = std::filesystem;

std::vector<std::string>& package_folders() {
  static auto* const folders = new std::vector<std::string>;  // libraries are also looked for when a program ends
  return *folders;
}

std::vector<std::string> package_files(const std::string& path) {
  std::vector<std::string> found;
  std::error_code no;
  for (const fs::path folder : package_folders())
    if (fs::exists(folder / path, no)) found.push_back((folder / path).string());
  return found;
}

std::string cuda_toolkit() {
  for (const Setting s : {Setting::cuda_home, Setting::cuda_path})
    if (const char* path = setting_given(s)) return path;
  return "/usr/local/cuda";
}

std::vector<std::string> nvidia_files(const std::string& name) {
  std::vector<std::string> files;
  std::error_code no;
  for (const std::string& folder : package_files("nvidia")) {
    const std::size_t first = files.size();
    for (fs::directory_iterator i(folder, no), end; !no && i != end; i.increment(no))
      if (std::error_code absent; fs::exists(i->path() / "lib" / name, absent))
        files.push_back((i->path() / "lib" / name).string());
    std::sort(files.begin() + std::ptrdiff_t(first), files.end());  // a directory has no order
  }
  files.push_back(name);
  files.push_back(cuda_toolkit() + "/lib64/" + name);
  return files;
}

}  // namespace neura
