// Checks that the functions of audio.h share. For their sources alone.
#pragma once
#include <string>

#include "neura/op/call_error.h"
#include "neura/ops/create/create.h"

namespace neura::audio {

using std::int64_t;

inline void check_signal(const char* op, const char* what, const Tensor& x, int dims = 1) {
  check_given(op, what, x);
  check<DTypeError>(is_floating(x.dtype()), [&] {
    return std::string(op) + ": expected a floating " + what + ", got " + x.spec().str() + "; convert it with .to()";
  });
  check<ShapeError>(x.dim() >= dims, [&] {
    return std::string(op) + ": expected a " + what + " of at least " + std::to_string(dims) + " dimensions, got " +
           x.spec().str();
  });
}
inline void check_count(const char* op, const char* what, int64_t n, int64_t least = 1,
                        int64_t most = int64_t{1} << 31) {
  check<ValueError>(n >= least && n <= most, [&] {
    return std::string(op) + ": expected " + what + " from " + std::to_string(least) + " to " + std::to_string(most) +
           ", got " + std::to_string(n);
  });
}
[[noreturn]] inline void refuse_word(const char* op, const char* what, std::string_view words, std::string_view got) {
  throw ValueError(std::string(op) + ": expected " + what + " " + std::string(words) + ", got '" + std::string(got) +
                   "'");
}

// The sizes of all dimensions but the last `n`, and those given.
inline Shape leading(const Tensor& x, int n, std::initializer_list<int64_t> rest) {
  Shape s;
  for (int d = 0; d < x.dim() - n; ++d) s.push_back(x.size(d));
  for (const int64_t size : rest) s.push_back(size);
  return s;
}

}  // namespace neura::audio
