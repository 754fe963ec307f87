// The packed matrix product of float and double: what an instruction set provides, and the drivers over it.
//
// A product is cut into blocks of k, of rows and of columns. Within a block, b is in slivers as wide as `width` (a k
// x width panel each), a in slivers of `height` rows or fewer; a tile of c is one sliver against one sliver, held in
// registers. Every element of c sees the same chain of fused multiply-adds, whatever the tiles, paths and threads are.
#pragma once
#include <cstdint>

#include "neura/backend/context.h"

namespace neura {

using std::int64_t;

template <class T> struct GemmEpilogue {  // c = alpha * a b + init; init null: nothing is added. It may be c itself.
  T alpha = 1;
  const T* init = nullptr;
  int64_t init_row = 0, init_column = 0;  // strides
};

// Memory to prefetch: the kernels of tiles prefetch its cache lines while they compute.
struct GemmAhead {
  static constexpr int kRanges = 3;
  struct Range {
    const char* from = nullptr;
    int64_t lines = 0, step = 64;  // bytes from one to the next
  } range[kRanges];
  int64_t asked = 0;  // lines prefetched so far

  // The next `lines` lines, if some are left.
  void take(int64_t lines, const char** from, int64_t* step) {
    int64_t skip = asked;
    for (const Range& r : range) {
      if (skip < r.lines) {
        asked += lines < r.lines - skip ? lines : r.lines - skip;
        *from = r.from + r.step * skip, *step = r.step;
        return;
      }
      skip -= r.lines;
    }
  }
};

// An operand of a block: packed slivers, or a matrix read in place. A stride of such a matrix may be 0 (it is
// expanded), so no stride can say that the operand is packed.
template <class T> struct GemmLeft {
  const T* data;
  bool packed = true;
  int64_t row = 0, depth = 0;  // of a matrix: its strides, one of which is 1
};
template <class T> struct GemmRight {
  const T* data;
  bool packed = true;
  int64_t depth = 0;  // of a matrix: the stride of its rows of consecutive columns
};
template <class T> struct GemmBlock {  // c[rows, columns] from a[rows, depth] b[depth, columns]
  int64_t rows, columns, depth;
  GemmLeft<T> a;
  GemmRight<T> b;
  T* c;
  int64_t c_row;  // columns of c are consecutive
  GemmEpilogue<T> epilogue;
  GemmAhead* ahead = nullptr;
};

template <class T> struct GemmKernels {  // of one instruction set
  int height, width, lanes;              // of the largest tile, which is two vectors wide
  void (*block)(const GemmBlock<T>&);
  // a[rows, depth] of any strides into slivers of balanced heights, one after the other: [sliver][depth][its rows].
  void (*pack_a)(const T* a, int64_t row, int64_t k, int64_t rows, int64_t depth, T* to);
  // b[depth, columns] of any strides into slivers: [sliver][depth][width], the last one filled with zeros.
  void (*pack_b)(const T* b, int64_t k, int64_t column, int64_t depth, int64_t columns, T* to);
  T (*dot)(const T* x, const T* y, int64_t n);     // of consecutive elements
  void (*axpy)(T a, const T* x, T* y, int64_t n);  // y += a x
};
template <class T> const GemmKernels<T>& gemm_kernels();

// c = alpha * a b + init, of matrices with any strides; columns of c are consecutive. init has columns side by side or
// one value for a row.
template <class T> struct Gemm {
  int64_t m, n, k;
  const T* a;
  int64_t a_row, a_column;
  const T* b;
  int64_t b_row, b_column;
  T* c;
  int64_t c_row;
  GemmEpilogue<T> epilogue;
  GemmAhead* ahead = nullptr;
};
// On the calling thread, with a workspace of that many elements. Both ways give the same bits.
template <class T> int64_t gemm_workspace(const Gemm<T>& g);
template <class T> void gemm_serial(const Gemm<T>& g, T* workspace);
template <class T> void gemm(Context& c, const Gemm<T>& g);

// Products of bfloat16: an element of a and b is a pair of them, of two k side by side, and k counts pairs. Null where
// the processor multiplies no such pairs.
const GemmKernels<float>* pair_kernels();
void gemm_of_pairs(Context& c, const Gemm<float>& g);

// A product of fewer multiplications than this is not worth a second thread.
inline constexpr int64_t kGemmSerial = 1 << 20;
inline constexpr int64_t kGemmDepth = 512;  // long sums: c is read and written seldom

// `total` cut into the fewest parts of at most `part`, of sizes that differ by one at most: how many, where i begins.
constexpr int64_t parts(int64_t total, int64_t part) { return (total + part - 1) / part; }
constexpr int64_t part_begin(int64_t total, int64_t count, int64_t i) { return total * i / count; }

}  // namespace neura
