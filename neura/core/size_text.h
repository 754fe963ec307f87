// Bytes as text.
#pragma once
#include <cstddef>
#include <cstdio>
#include <string>

namespace neura {

inline std::string size_text(std::size_t bytes) {  // "2.00 GiB", "1.50 MiB", "512 bytes"
  char text[32];
  const double n = double(bytes);
  if (bytes >= std::size_t{1} << 30) std::snprintf(text, sizeof text, "%.2f GiB", n / (1 << 30));
  else if (bytes >= std::size_t{1} << 20) std::snprintf(text, sizeof text, "%.2f MiB", n / (1 << 20));
  else if (bytes >= std::size_t{1} << 10) std::snprintf(text, sizeof text, "%.2f KiB", n / (1 << 10));
  else std::snprintf(text, sizeof text, "%zu bytes", bytes);
  return text;
}

}  // namespace neura
