#include "neura/core/checked_int.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "neura/core/error.h"

namespace neura {
namespace {

// Bytes of the machine, or of the process's address space where that is limited.
std::size_t room() {
  constexpr std::size_t most = PTRDIFF_MAX;
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  const std::size_t machine = pages > 0 && page > 0 ? std::size_t(pages) * std::size_t(page) : most;
  rlimit limit{};
  const bool limited = getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return std::min({most, machine, limited ? std::size_t(limit.rlim_cur) : most});
}

}  // namespace

std::int64_t CheckedInt::of(const char* op) const {
  check<ValueError>(fits_, [&] {
    return std::string(op) + ": expected sizes whose products and sums fit into 64 bits, got larger ones";
  });
  return value_;
}

void check_room(const char* op, std::int64_t count, std::size_t bytes_each) {
  check<OutOfMemoryError>(count <= 1 << 16 || std::uint64_t(count) <= room() / bytes_each, [&] {
    return std::string(op) + ": expected a list that fits into memory, got " + std::to_string(count) + " items";
  });
}

}  // namespace neura
