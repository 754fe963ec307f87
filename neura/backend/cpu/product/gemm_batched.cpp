// Batches of products: which dimensions are one, which items are vectors, what threads share.
#include "neura/backend/cpu/product/gemm_batched.h"

#include <algorithm>
#include <type_traits>

#include "neura/backend/cpu/product/gemm.h"

namespace neura {
namespace {

// A batch dimension along which b has stride 0, and a and y do not, is more rows: one large product, not many small
// ones.
template <class T> void fold_batch(ProductBatch<T>& p) {
  while (p.rank) {
    const int d = p.rank - 1;
    const auto goes_on = [&](const auto& x) { return x.batch[d] == x.row * p.m; };
    const bool init = !p.init.data || goes_on(p.init) || (!p.init.batch[d] && !p.init.row);
    if (p.batch[d] != 1 && (p.b.batch[d] || !goes_on(p.a) || !goes_on(p.y) || !init)) return;
    p.m *= p.batch[d], --p.rank;
  }
}

template <class T> bool scaled_init(const ProductBatch<T>& p) {  // what the epilogue of a tile cannot do
  return p.init.data && (p.beta != T(1) || (p.init.column != 1 && p.init.column != 0));
}

template <class T> Gemm<T> item(const ProductBatch<T>& p, std::int64_t i) {
  Gemm<T> g{p.m,          p.n,     p.k,        p.at(p.a, i), p.a.row, p.a.column,
            p.at(p.b, i), p.b.row, p.b.column, p.at(p.y, i), p.y.row, {}};
  g.epilogue.alpha = p.alpha;
  if (!p.init.data) return g;
  const T* init = p.at(p.init, i);
  if (scaled_init(p)) {
    for (std::int64_t r = 0; r < p.m; ++r)
      for (std::int64_t j = 0; j < p.n; ++j) g.c[r * g.c_row + j] = p.beta * init[r * p.init.row + j * p.init.column];
    g.epilogue.init = g.c, g.epilogue.init_row = g.c_row, g.epilogue.init_column = 1;
  } else {
    g.epilogue.init = init, g.epilogue.init_row = p.init.row, g.epilogue.init_column = p.init.column;
  }
  return g;
}

// Multiplications of an item, below which it takes longer to find the next one than to read it.
constexpr std::int64_t kWorthAsking = 4096;
// What an item is made of, as far as its operands have no gaps.
template <class T> GemmAhead ahead(const ProductBatch<T>& p, std::int64_t i) {
  GemmAhead next;
  const auto add = [&](int range, const auto& x, std::int64_t rows, std::int64_t columns) {
    const bool dense = (x.column == 1 && x.row == columns) || (x.row == 1 && x.column == rows);
    if (!dense) return;
    next.range[range].from = reinterpret_cast<const char*>(p.at(x, i));
    next.range[range].lines = rows * columns * std::int64_t(sizeof(T)) / 64;
  };
  add(0, p.a, p.m, p.k), add(1, p.b, p.k, p.n), add(2, p.y, p.m, p.n);
  return next;
}

template <class T> struct MatrixVector {  // y[i] = alpha * sum over j of a[i, j] x[j] + init[i]
  std::int64_t rows, columns;
  const T* a;
  std::int64_t row, column;
  const T* x;
  std::int64_t x_step;
  T* y;
  std::int64_t y_step;
  T alpha;
  const T* init;
  std::int64_t init_step;
};
constexpr std::int64_t kVectorBlock = 1024;  // rows at a time

template <class T> bool is_vector(const Gemm<T>& g) { return g.m == 1 || g.n == 1; }
template <class T> MatrixVector<T> vector_of(const Gemm<T>& g) {
  const GemmEpilogue<T>& e = g.epilogue;
  if (g.n == 1) return {g.m, g.k, g.a, g.a_row, g.a_column, g.b, g.b_row, g.c, g.c_row, e.alpha, e.init, e.init_row};
  return {g.n, g.k, g.b, g.b_column, g.b_row, g.a, g.a_column, g.c, 1, e.alpha, e.init, e.init_column};
}

template <class T> void vector_rows(const MatrixVector<T>& v, std::int64_t begin, std::int64_t end) {
  const GemmKernels<T>& kernels = gemm_kernels<T>();
  alignas(64) T sums[kVectorBlock];
  for (std::int64_t first = begin; first < end; first += kVectorBlock) {
    const std::int64_t count = std::min(kVectorBlock, end - first);
    const T* a = v.a + first * v.row;
    if (v.column == 1 && v.x_step == 1) {
      for (std::int64_t i = 0; i < count; ++i) sums[i] = kernels.dot(a + i * v.row, v.x, v.columns);
    } else if (v.row == 1) {
      std::fill_n(sums, count, T(0));
      for (std::int64_t j = 0; j < v.columns; ++j) kernels.axpy(v.x[j * v.x_step], a + j * v.column, sums, count);
    } else {
      for (std::int64_t i = 0; i < count; ++i) {
        T s = 0;
        for (std::int64_t j = 0; j < v.columns; ++j) s += a[i * v.row + j * v.column] * v.x[j * v.x_step];
        sums[i] = s;
      }
    }
    for (std::int64_t i = 0; i < count; ++i) {
      const T s = v.alpha * sums[i];
      v.y[(first + i) * v.y_step] = v.init ? s + v.init[(first + i) * v.init_step] : s;
    }
  }
}
template <class T> void matrix_vector(MatrixVector<T> v, T* workspace) {  // of `columns` elements
  if (v.column == 1 && v.x_step != 1) {
    for (std::int64_t j = 0; j < v.columns; ++j) workspace[j] = v.x[j * v.x_step];
    v.x = workspace, v.x_step = 1;
  }
  // Blocks of rows are whole: where they are cut does not change how a row is summed.
  const std::int64_t blocks = parts(v.rows, kVectorBlock / 8),
                     grain = std::max<std::int64_t>(1, 32768 / (v.columns * 128 + 1));
  parallel_for(blocks, grain, [&](std::int64_t begin, std::int64_t end) {
    vector_rows(v, begin * (kVectorBlock / 8), std::min(v.rows, end * (kVectorBlock / 8)));
  });
}

}  // namespace

template <class T> void multiply(Context& c, ProductBatch<T> p) {
  fold_batch(p);
  const std::int64_t count = p.count();
  if (!count || !p.m || !p.n) return;
  const std::int64_t work = std::max<std::int64_t>(1, p.m * p.n * p.k);
  if (count == 1 || work >= 4 * kGemmSerial) {  // threads share each item
    for (std::int64_t i = 0; i < count; ++i) {
      const Gemm<T> g = item(p, i);
      Context own(c.backend, c.device, c.op);
      if (is_vector(g)) matrix_vector(vector_of(g), own.scratch_of<T>(g.k));
      else gemm(own, g);
    }
    return;
  }
  // Threads share out the items, in chunks that have a workspace each.
  const std::int64_t chunks = std::min<std::int64_t>(count, 16);
  const std::int64_t space = (std::max(gemm_workspace(item(p, 0)), p.k) + 15) / 16 * 16;
  T* const workspace = c.scratch_of<T>(space * chunks);
  parallel_for(chunks, std::max<std::int64_t>(1, kGemmSerial / (work * parts(count, chunks))),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t chunk = begin; chunk < end; ++chunk)
                   for (std::int64_t i = part_begin(count, chunks, chunk); i < part_begin(count, chunks, chunk + 1);
                        ++i) {
                     Gemm<T> g = item(p, i);
                     GemmAhead next;
                     if (work >= kWorthAsking) next = ahead(p, std::min(i + 1, count - 1)), g.ahead = &next;
                     if (is_vector(g)) matrix_vector(vector_of(g), workspace + chunk * space);
                     else gemm_serial(g, workspace + chunk * space);
                   }
               });
}
template void multiply<float>(Context&, ProductBatch<float>);
template void multiply<double>(Context&, ProductBatch<double>);

namespace {
struct Pairs {
  const float* data;
  std::int64_t depth, other;  // strides in pairs
};
// Of a matrix by k and its other dimension, of strides `depth` and `other`: itself, or a copy. A last k alone has a 0.
Pairs pairs_of(Context& c, const std::uint16_t* x, std::int64_t k, std::int64_t depth, std::int64_t size,
               std::int64_t other) {
  const std::int64_t half = parts(k, 2);
  if (depth == 1 && k % 2 == 0 && other % 2 == 0 && reinterpret_cast<std::uintptr_t>(x) % alignof(float) == 0)
    return {reinterpret_cast<const float*>(x), 1, other / 2};
  auto* const to = c.scratch_of<std::uint32_t>(half * size);
  const auto pair = [](std::uint32_t first, std::uint32_t second) { return first | second << 16; };
  if (depth == 1) {
    parallel_for(size, kSerial / (k + 1) + 1, [&](std::int64_t i, std::int64_t end) {
      for (; i < end; ++i) {
        const std::uint16_t* const row = x + i * other;
        for (std::int64_t q = 0; q < k / 2; ++q) to[i * half + q] = pair(row[2 * q], row[2 * q + 1]);
        if (k % 2) to[i * half + half - 1] = row[k - 1];
      }
    });
    return {reinterpret_cast<const float*>(to), 1, half};
  }
  parallel_for(half, kSerial / (2 * size + 1) + 1, [&](std::int64_t q, std::int64_t end) {
    for (; q < end; ++q) {
      const std::uint16_t *const first = x + 2 * q * depth, *const second = first + depth;
      std::uint32_t* const line = to + q * size;
      if (2 * q + 1 == k)
        for (std::int64_t i = 0; i < size; ++i) line[i] = first[i * other];
      else if (other == 1)
        for (std::int64_t i = 0; i < size; ++i) line[i] = pair(first[i], second[i]);
      else
        for (std::int64_t i = 0; i < size; ++i) line[i] = pair(first[i * other], second[i * other]);
    }
  });
  return {reinterpret_cast<const float*>(to), size, 1};
}
constexpr std::int64_t kPairsFrom = 16;  // rows, columns and k
}  // namespace

bool multiply_bfloat16(Context& c, ProductBatch<float> p) {
  fold_batch(p);
  if (p.count() != 1 || std::min({p.m, p.n, p.k}) < kPairsFrom || !pair_kernels()) return false;
  Gemm<float> g = item(p, 0);
  const auto bits = [](const float* x) { return reinterpret_cast<const std::uint16_t*>(x); };
  const Pairs a = pairs_of(c, bits(g.a), g.k, g.a_column, g.m, g.a_row);
  const Pairs b = pairs_of(c, bits(g.b), g.k, g.b_row, g.n, g.b_column);
  g.a = a.data, g.a_column = a.depth, g.a_row = a.other;
  g.b = b.data, g.b_row = b.depth, g.b_column = b.other;
  g.k = parts(g.k, 2);
  gemm_of_pairs(c, g);
  return true;
}

template <class T> void multiply_integers(Context&, const ProductBatch<T>& p) {
  using U = std::make_unsigned_t<T>;
  using Wide =
      std::conditional_t<(sizeof(T) < 4), unsigned, U>;  // small integers would become int, which must not overflow
  constexpr std::int64_t kBlock = 256;
  const std::int64_t grain = std::max<std::int64_t>(1, kSerial / (p.n * p.k + 1));
  parallel_for(p.count() * p.m, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const std::int64_t item = r / p.m, i = r % p.m;
      const T* a = p.at(p.a, item) + i * p.a.row;
      const T* b = p.at(p.b, item);
      const T* init = p.init.data ? p.at(p.init, item) + i * p.init.row : nullptr;
      T* y = p.at(p.y, item) + i * p.y.row;
      for (std::int64_t first = 0; first < p.n; first += kBlock) {
        const std::int64_t width = std::min(kBlock, p.n - first);
        Wide sums[kBlock] = {};
        for (std::int64_t k = 0; k < p.k; ++k) {
          const Wide x = Wide(U(a[k * p.a.column]));
          const T* line = b + k * p.b.row + first * p.b.column;
          for (std::int64_t j = 0; j < width; ++j) sums[j] += x * Wide(line[j * p.b.column]);
        }
        for (std::int64_t j = 0; j < width; ++j) {
          Wide v = Wide(p.alpha) * sums[j];
          if (init) v += Wide(p.beta) * Wide(init[(first + j) * p.init.column]);
          y[first + j] = T(v);
        }
      }
    }
  });
}
template void multiply_integers<std::uint8_t>(Context&, const ProductBatch<std::uint8_t>&);
template void multiply_integers<std::int8_t>(Context&, const ProductBatch<std::int8_t>&);
template void multiply_integers<std::int16_t>(Context&, const ProductBatch<std::int16_t>&);
template void multiply_integers<std::int32_t>(Context&, const ProductBatch<std::int32_t>&);
template void multiply_integers<std::int64_t>(Context&, const ProductBatch<std::int64_t>&);

}  // namespace neura
