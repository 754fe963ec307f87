// Where memory lies.
#pragma once
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>

namespace neura::test {

// Is this memory a mapping of the file?
inline bool lies_in(const void* at, const std::string& path) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%zx-%zx", &begin, &end) == 2 && line.ends_with(path) &&
        begin <= std::uintptr_t(at) && std::uintptr_t(at) < end)
      return true;
  }
  return false;
}

}  // namespace neura::test
