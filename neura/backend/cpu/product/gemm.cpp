// How a product is cut into blocks, packed and shared among threads.
#include "neura/backend/cpu/product/gemm.h"

#include <algorithm>

#include "neura/core/parallel.h"

namespace neura {
namespace {

constexpr int64_t kBlockBytes = 320 << 10;                  // of a that many stay in the second cache
constexpr int64_t kOnceBytes = 1 << 20;                     // of all of a, where it is packed once
constexpr int64_t kColumns = 1024, kTaskColumns = 512;      // of a block; of a task of the parallel driver
constexpr int64_t kPanelRows = 2048, kPanelColumns = 2048;  // packed at once by the parallel driver
constexpr int64_t kTasks = 8;                               // wanted of a panel, so that threads end together

// a is read in place if one of its strides is 1 and too few columns use it for packing to pay.
template <class T> bool a_direct(const Gemm<T>& g) { return (g.a_row == 1 || g.a_column == 1) && g.n <= 64; }
template <class T> bool b_direct(const Gemm<T>& g, const GemmKernels<T>& kernels) {
  return g.b_column == 1 && (g.m <= kernels.height || g.k * g.n <= 8192);
}

// Rows of a block: whole slivers, of which the block holds kBlockBytes.
template <class T> int64_t block_rows(const Gemm<T>& g, const GemmKernels<T>& kernels) {
  const int64_t depth = parts(g.k, parts(g.k, kGemmDepth));
  return std::max<int64_t>(1, kBlockBytes / int64_t(sizeof(T)) / depth / kernels.height) * kernels.height;
}

template <class T> struct Blocks {  // what all blocks of one product share; there is something to sum
  const Gemm<T>& g;
  const GemmKernels<T>& kernels;
  bool direct_a = a_direct(g), direct_b = b_direct(g, kernels);
  int64_t depths = parts(g.k, kGemmDepth), max_rows = block_rows(g, kernels);

  int64_t depth_begin(int64_t p) const { return part_begin(g.k, depths, p); }
  // m rows cut into blocks of whole slivers: where block i begins.
  int64_t row_begin(int64_t m, int64_t blocks, int64_t i) const {
    return std::min(m, part_begin(parts(m, kernels.height), blocks, i) * kernels.height);
  }
  // All of a is packed once, and b piece by piece into the same few lines of the cache.
  bool a_once() const {
    return g.m <= kernels.height || (g.m <= max_rows && g.m * g.k * int64_t(sizeof(T)) <= kOnceBytes);
  }
  int64_t chunk() const {  // columns of b; rows of b are read in whole lines of the cache
    return !a_once() ? kColumns : g.b_column == 1 ? std::max<int64_t>(kernels.width, 32) : kernels.width;
  }
  int64_t width_of(int64_t columns) const { return (columns + kernels.width - 1) / kernels.width * kernels.width; }

  void pack_a(int64_t row, int64_t rows, int64_t k, int64_t depth, T* to) const {
    kernels.pack_a(g.a + row * g.a_row + k * g.a_column, g.a_row, g.a_column, rows, depth, to);
  }
  void pack_b(int64_t column, int64_t columns, int64_t k, int64_t depth, T* to) const {
    kernels.pack_b(g.b + k * g.b_row + column * g.b_column, g.b_row, g.b_column, depth, columns, to);
  }
  // The block of c at (row, column); a and b packed, or null: read in place.
  void run(int64_t row, int64_t rows, int64_t column, int64_t columns, int64_t k, int64_t depth, const T* a, const T* b,
           GemmAhead* ahead = nullptr) const {
    GemmBlock<T> block;
    block.rows = rows, block.columns = columns, block.depth = depth;
    if (a) block.a = {a};
    else block.a = {g.a + row * g.a_row + k * g.a_column, false, g.a_row, g.a_column};
    if (b) block.b = {b};
    else block.b = {g.b + k * g.b_row + column, false, g.b_row};
    block.c = g.c + row * g.c_row + column, block.c_row = g.c_row;
    block.epilogue.alpha = g.epilogue.alpha;
    if (k > 0) block.epilogue.init = block.c, block.epilogue.init_row = g.c_row, block.epilogue.init_column = 1;
    else if (g.epilogue.init) {
      block.epilogue = g.epilogue;
      block.epilogue.init += row * g.epilogue.init_row + column * g.epilogue.init_column;
    }
    block.ahead = ahead;
    kernels.block(block);
  }
};

template <class T> void fill(const Gemm<T>& g) {  // a product over nothing
  const GemmEpilogue<T>& e = g.epilogue;
  for (int64_t i = 0; i < g.m; ++i)
    for (int64_t j = 0; j < g.n; ++j) g.c[i * g.c_row + j] = e.init ? e.init[i * e.init_row + j * e.init_column] : T(0);
}

template <class T> int64_t workspace_of(const Blocks<T>& blocks) {
  const Gemm<T>& g = blocks.g;
  const int64_t depth = std::min(g.k, kGemmDepth), columns = blocks.width_of(std::min(g.n, blocks.chunk()));
  return (blocks.a_once() ? g.m * g.k : std::min(g.m, blocks.max_rows) * depth) + columns * depth;
}

// The columns of b from `column` on, as far as they have whole lines of the cache.
template <class T> GemmAhead ahead_of(const Gemm<T>& g, int64_t column, int64_t columns) {
  GemmAhead next;
  constexpr int64_t line = 64 / sizeof(T);
  const T* const from = g.b + column * g.b_column;
  if (g.b_row == 1 && g.b_column == g.k) {
    next.range[0] = {reinterpret_cast<const char*>(from), columns * g.k / line};
  } else if (g.b_column == 1) {
    for (int r = 0; r < GemmAhead::kRanges && r * line < columns; ++r)
      next.range[r] = {reinterpret_cast<const char*>(from + r * line), g.k, g.b_row * int64_t(sizeof(T))};
  }
  return next;
}

// Where all of a is packed at once.
template <class T> void gemm_once(const Blocks<T>& blocks, T* packed_a, T* packed_b) {
  const Gemm<T>& g = blocks.g;
  if (!blocks.direct_a)
    for (int64_t p = 0; p < blocks.depths; ++p) {
      const int64_t k = blocks.depth_begin(p);
      blocks.pack_a(0, g.m, k, blocks.depth_begin(p + 1) - k, packed_a + g.m * k);
    }
  const int64_t lanes = blocks.kernels.lanes, in_place = blocks.direct_b ? g.n / lanes * lanes : 0;
  for (int64_t column = 0, columns; column < g.n; column += columns) {
    const bool here = column < in_place;  // up to the last whole vector: tiles load whole ones
    columns = here ? in_place : std::min(g.n - column, blocks.chunk());
    GemmAhead next = ahead_of(g, column + columns, std::min(g.n - column - columns, columns));
    for (int64_t p = 0; p < blocks.depths; ++p) {
      const int64_t k = blocks.depth_begin(p), depth = blocks.depth_begin(p + 1) - k;
      if (!here) blocks.pack_b(column, columns, k, depth, packed_b);
      blocks.run(0, g.m, column, columns, k, depth, blocks.direct_a ? nullptr : packed_a + g.m * k,
                 here ? nullptr : packed_b, g.ahead ? g.ahead : &next);
    }
  }
}

template <class T> void serial(const Blocks<T>& blocks, T* workspace) {
  const Gemm<T>& g = blocks.g;
  T* const packed_a = workspace;
  if (blocks.a_once()) return gemm_once(blocks, packed_a, packed_a + g.m * g.k);
  T* const packed_b = workspace + std::min(g.m, blocks.max_rows) * std::min(g.k, kGemmDepth);
  const int64_t row_parts = parts(g.m, blocks.max_rows);
  for (int64_t column = 0, columns; column < g.n; column += columns) {
    columns = std::min(g.n - column, kColumns);
    for (int64_t p = 0; p < blocks.depths; ++p) {
      const int64_t k = blocks.depth_begin(p), depth = blocks.depth_begin(p + 1) - k;
      blocks.pack_b(column, columns, k, depth, packed_b);
      for (int64_t r = 0; r < row_parts; ++r) {
        const int64_t row = blocks.row_begin(g.m, row_parts, r), rows = blocks.row_begin(g.m, row_parts, r + 1) - row;
        if (!blocks.direct_a) blocks.pack_a(row, rows, k, depth, packed_a);
        blocks.run(row, rows, column, columns, k, depth, blocks.direct_a ? nullptr : packed_a, packed_b);
      }
    }
  }
}

// Panels of a and b are packed by all threads together, then the tiles of c are shared out.
template <class T> void gemm_panel(const Blocks<T>& blocks, int64_t first_row, int64_t m, int64_t first_column,
                                   int64_t n, int64_t p, bool b_is_packed, T* packed_a, T* packed_b) {
  const int64_t k = blocks.depth_begin(p), depth = blocks.depth_begin(p + 1) - k;
  const int64_t rows = parts(m, blocks.max_rows), sliver = blocks.kernels.width, all_slivers = parts(n, sliver);
  // Narrower tasks where there would be few, as long as each is worth a thread.
  const int64_t wanted = std::min(parts(kTasks, rows), m * n * depth / kGemmSerial / rows);
  const int64_t columns = std::clamp(wanted, parts(n, kTaskColumns), all_slivers);
  const int64_t b_parts = b_is_packed ? 0 : columns;
  const auto column_begin = [&](int64_t i) { return std::min(n, part_begin(all_slivers, columns, i) * sliver); };
  parallel_for(rows + b_parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      if (i < rows) {
        const int64_t row = blocks.row_begin(m, rows, i), count = blocks.row_begin(m, rows, i + 1) - row;
        blocks.pack_a(first_row + row, count, k, depth, packed_a + row * depth);
      } else {
        const int64_t column = column_begin(i - rows), count = column_begin(i - rows + 1) - column;
        blocks.pack_b(first_column + column, count, k, depth, packed_b + column * depth);
      }
  });
  parallel_for(rows * columns, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t r = i / columns, row = blocks.row_begin(m, rows, r), column = column_begin(i % columns);
      blocks.run(first_row + row, blocks.row_begin(m, rows, r + 1) - row, first_column + column,
                 column_begin(i % columns + 1) - column, k, depth, packed_a + row * depth, packed_b + column * depth);
    }
  });
}

// Few rows: each thread takes a share of the columns, and packs a for itself, which costs less than to wait for others.
template <class T> bool gemm_by_columns(Context& c, const Blocks<T>& blocks) {
  const Gemm<T>& g = blocks.g;
  const int64_t slivers = parts(g.n, blocks.kernels.width), tasks = get_num_threads();
  if (!blocks.a_once() || (tasks > 1 && slivers < 4 * tasks)) return false;
  const auto part = [&](int64_t i) {
    const int64_t begin = part_begin(slivers, tasks, i) * blocks.kernels.width;
    Gemm<T> own = g;
    own.n = std::min(g.n, part_begin(slivers, tasks, i + 1) * blocks.kernels.width) - begin;
    own.b += begin * g.b_column, own.c += begin;
    if (g.epilogue.init) own.epilogue.init += begin * g.epilogue.init_column;
    return own;
  };
  const int64_t space = (workspace_of(blocks) + 15) / 16 * 16;
  T* const workspace = c.scratch_of<T>(space * tasks);
  parallel_for(tasks, 1, [&](int64_t begin, int64_t end) {
    for (; begin < end; ++begin) {
      const Gemm<T> own = part(begin);
      serial(Blocks<T>{own, blocks.kernels}, workspace + begin * space);
    }
  });
  return true;
}

template <class T> void run(Context& c, const Gemm<T>& g, const GemmKernels<T>& kernels) {
  if (!g.m || !g.n) return;
  if (!g.k) return fill(g);
  const Blocks<T> blocks{g, kernels};
  if (g.m * g.n * g.k < kGemmSerial) {
    constexpr int64_t kStack = 2048;
    alignas(64) T stack[kStack];
    const int64_t space = workspace_of(blocks);
    return serial(blocks, space <= kStack ? stack : c.scratch_of<T>(space));
  }
  if (gemm_by_columns(c, blocks)) return;
  const int64_t depth = std::min(g.k, kGemmDepth);
  T* const packed_a = c.scratch_of<T>(std::min(g.m, kPanelRows) * depth);
  T* const packed_b = c.scratch_of<T>(blocks.width_of(std::min(g.n, kPanelColumns)) * depth);
  const int64_t panels = parts(g.m, kPanelRows);
  for (int64_t column = 0; column < g.n; column += kPanelColumns)
    for (int64_t p = 0; p < blocks.depths; ++p)
      for (int64_t r = 0; r < panels; ++r) {
        const int64_t row = part_begin(g.m, panels, r);
        gemm_panel(blocks, row, part_begin(g.m, panels, r + 1) - row, column, std::min(g.n - column, kPanelColumns), p,
                   r > 0, packed_a, packed_b);
      }
}

}  // namespace

template <class T> int64_t gemm_workspace(const Gemm<T>& g) {
  return g.k ? workspace_of(Blocks<T>{g, gemm_kernels<T>()}) : 0;
}
template <class T> void gemm_serial(const Gemm<T>& g, T* workspace) {
  if (!g.k) return fill(g);
  serial(Blocks<T>{g, gemm_kernels<T>()}, workspace);
}
template <class T> void gemm(Context& c, const Gemm<T>& g) { run(c, g, gemm_kernels<T>()); }
void gemm_of_pairs(Context& c, const Gemm<float>& g) { run(c, g, *pair_kernels()); }

#define NEURA_GEMM(T)                                 \
  template int64_t gemm_workspace<T>(const Gemm<T>&); \
  template void gemm_serial<T>(const Gemm<T>&, T*);   \
  template void gemm<T>(Context&, const Gemm<T>&)
NEURA_GEMM(float);
NEURA_GEMM(double);
#undef NEURA_GEMM

}  // namespace neura
