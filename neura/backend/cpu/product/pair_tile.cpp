// Tiles of products of bfloat16 by AVX-512's instruction for pairs: sums of floats, to each of which it adds two
// products. Operands are packed as floats of the same size are.
#include "neura/backend/cpu/product/gemm.h"
#include "neura/backend/wanted.h"

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include <immintrin.h>

#include <algorithm>
#include <utility>

#define NEURA_PAIR_CODE __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16")))
#endif

namespace neura {
#ifdef NEURA_PAIR_CODE
namespace {

constexpr int kHeight = 14, kLanes = 16, kWidth = 2 * kLanes;

struct Tile {
  int64_t depth, columns;
  const float *a, *b;
  int64_t a_row, a_depth, b_depth;
  float* c;
  int64_t c_row;
  GemmEpilogue<float> epilogue;
};

// H rows, V vectors; kPacked: the rows of a are side by side.
template <int H, int V, bool kPacked> NEURA_PAIR_CODE void tile(const Tile& t) {
  __m512 sum[H][V];
#pragma GCC unroll 16
  for (int i = 0; i < H; ++i)
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) sum[i][v] = _mm512_setzero_ps();
  const float *a = t.a, *b = t.b;
  const int64_t row = kPacked ? 1 : t.a_row, step = t.a_depth, b_step = t.b_depth;
  for (int64_t k = 0; k < t.depth; ++k, a += step, b += b_step) {
    __m512bh of_b[V];
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) of_b[v] = reinterpret_cast<__m512bh>(_mm512_loadu_ps(b + v * kLanes));
#pragma GCC unroll 16
    for (int i = 0; i < H; ++i) {
      const __m512bh of_a = reinterpret_cast<__m512bh>(_mm512_set1_ps(a[i * row]));
#pragma GCC unroll 2
      for (int v = 0; v < V; ++v) sum[i][v] = _mm512_dpbf16_ps(sum[i][v], of_a, of_b[v]);
    }
  }
  const GemmEpilogue<float>& e = t.epilogue;
  const __m512 alpha = _mm512_set1_ps(e.alpha);
#pragma GCC unroll 2
  for (int v = 0; v < V; ++v) {
    const int64_t columns = std::min<int64_t>(t.columns - v * kLanes, kLanes);
    const auto mask = __mmask16((1u << columns) - 1);
    for (int i = 0; i < H; ++i) {
      __m512 y = _mm512_mul_ps(sum[i][v], alpha);
      if (e.init && e.init_column)
        y = _mm512_add_ps(y, _mm512_maskz_loadu_ps(mask, e.init + i * e.init_row + v * kLanes));
      else if (e.init) y = _mm512_add_ps(y, _mm512_set1_ps(e.init[i * e.init_row]));
      _mm512_mask_storeu_ps(t.c + i * t.c_row + v * kLanes, mask, y);
    }
  }
}

using TileFn = void (*)(const Tile&);
template <int V, bool kPacked, int... i> constexpr TileFn of_rows(int rows, std::integer_sequence<int, i...>) {
  constexpr TileFn all[] = {&tile<i + 1, V, kPacked>...};
  return all[rows - 1];
}
template <int V, bool kPacked> TileFn tile_of(int64_t rows) {
  return of_rows<V, kPacked>(int(rows), std::make_integer_sequence<int, kHeight>());
}

void block(const GemmBlock<float>& g) {
  const int64_t count = parts(g.rows, kHeight);
  const bool packed = g.a.packed || g.a.row == 1;
  Tile t;
  t.depth = g.depth, t.c_row = g.c_row, t.a_row = g.a.row, t.a_depth = g.a.depth;
  t.b_depth = g.b.packed ? kWidth : g.b.depth;
  t.epilogue = g.epilogue;
  for (int64_t j = 0; j < g.columns; j += kWidth) {
    t.columns = std::min<int64_t>(g.columns - j, kWidth);
    t.b = g.b.packed ? g.b.data + j * g.depth : g.b.data + j;
    const bool narrow = t.columns <= kLanes;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t begin = part_begin(g.rows, count, i), rows = part_begin(g.rows, count, i + 1) - begin;
      if (g.a.packed) t.a = g.a.data + begin * g.depth, t.a_depth = rows;
      else t.a = g.a.data + begin * g.a.row;
      t.c = g.c + begin * g.c_row + j;
      if (g.epilogue.init) t.epilogue.init = g.epilogue.init + begin * g.epilogue.init_row + j * g.epilogue.init_column;
      const TileFn run = packed ? (narrow ? tile_of<1, true>(rows) : tile_of<2, true>(rows))
                                : (narrow ? tile_of<1, false>(rows) : tile_of<2, false>(rows));
      run(t);
    }
  }
}

}  // namespace

const GemmKernels<float>* pair_kernels() {
  if (kOneProgram || !(dtypes::compiled & bit(DType::bfloat16))) return nullptr;
  const GemmKernels<float>& floats = gemm_kernels<float>();
  if (floats.width != kWidth || floats.height != kHeight) return nullptr;  // of another instruction set
  static const bool there = __builtin_cpu_supports("avx512bf16");
  static const GemmKernels<float> kernels = [&] {
    GemmKernels<float> own = floats;
    own.block = &block;
    return own;
  }();
  return there ? &kernels : nullptr;
}
#undef NEURA_PAIR_CODE
#else
const GemmKernels<float>* pair_kernels() { return nullptr; }
#endif

}  // namespace neura
