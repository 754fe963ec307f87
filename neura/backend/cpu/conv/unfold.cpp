// A run of neighbouring windows at a time.
#include "neura/backend/cpu/conv/unfold.h"

#include <algorithm>
#include <cstring>

#include "neura/core/parallel.h"

namespace neura {
namespace {

using std::int64_t;

template <class T> void spread(const char* from, int64_t step, int64_t count, char* to) {
  for (int64_t i = 0; i < count; ++i) std::memcpy(to + i * int64_t(sizeof(T)), from + i * step, sizeof(T));
}
// Most runs are short: a call of memcpy would take longer than they do.
void copy_bytes(const char* from, int64_t bytes, char* to) {
  constexpr int64_t piece = 16;
  if (bytes < piece) return void(std::memcpy(to, from, std::size_t(bytes)));
  for (int64_t i = 0; i + piece <= bytes; i += piece) std::memcpy(to + i, from + i, piece);
  std::memcpy(to + bytes - piece, from + bytes - piece, piece);
}
void clear_bytes(int64_t bytes, char* to) {
  if (bytes) std::memset(to, 0, std::size_t(bytes));
}
// `count` elements that are `stride` apart.
void copy_run(const char* from, int64_t stride, int64_t count, int64_t size, char* to) {
  if (stride == 1) return copy_bytes(from, count * size, to);
  const int64_t step = stride * size;
  switch (size) {
    case 1:
      return spread<std::uint8_t>(from, step, count, to);
    case 2:
      return spread<std::uint16_t>(from, step, count, to);
    case 4:
      return spread<std::uint32_t>(from, step, count, to);
    case 8:
      return spread<std::uint64_t>(from, step, count, to);
    default:
      for (int64_t i = 0; i < count; ++i) std::memcpy(to + i * size, from + i * step, std::size_t(size));
  }
}

struct Runs {  // along one dimension: the windows [first, end) whose element of the kernel is within the input
  int64_t first, end, offset;  // offset: of that element of window 0, in the input
  Runs(const ConvShape& s, int d, int64_t k) : offset(k * s.dilation[d] - s.padding[d]) {
    const int64_t stride = s.stride[d], last = s.in[d] - 1 - offset;
    first = std::min(s.out[d], offset < 0 ? (stride - 1 - offset) / stride : 0);
    end = std::clamp(last < 0 ? 0 : last / stride + 1, first, s.out[d]);
  }
};

// One channel at one place of the kernel: what each window has there.
void unfold_place(const ConvShape& s, const char* image, int64_t place, int64_t size, char* to) {
  const Runs x(s, 2, place % s.kernel[2]), y(s, 1, place / s.kernel[2] % s.kernel[1]),
      z(s, 0, place / s.kernel[2] / s.kernel[1]);
  const int64_t line = s.out[2] * size;
  for (int64_t oz = 0; oz < s.out[0]; ++oz)
    for (int64_t oy = 0; oy < s.out[1]; ++oy, to += line) {
      const bool inside = oz >= z.first && oz < z.end && oy >= y.first && oy < y.end && x.first < x.end;
      if (!inside) {
        clear_bytes(line, to);
        continue;
      }
      const int64_t row = (oz * s.stride[0] + z.offset) * s.in[1] + oy * s.stride[1] + y.offset;
      const int64_t at = row * s.in[2] + x.first * s.stride[2] + x.offset;
      clear_bytes(x.first * size, to);
      copy_run(image + at * size, s.stride[2], x.end - x.first, size, to + x.first * size);
      clear_bytes((s.out[2] - x.end) * size, to + x.end * size);
    }
}

}  // namespace

void cpu_unfold(Context&, View x, View columns, const ConvShape& s) {
  const int64_t size = size_of(x.dtype()), line = s.out_size() * size, places = s.kernel_size();
  parallel_for(s.n * s.channels * places, std::max<int64_t>(1, kSerial / (line + 1)), [&](int64_t i, int64_t end) {
    for (; i < end; ++i)
      unfold_place(s, x.data + i / places * s.in_size() * size, i % places, size, columns.data + i * line);
  });
}

}  // namespace neura
