// Embedding: rows of a table by number, and the sums of its gradient. The gradient walks the table's rows, each with
// the list of places that named it, so that every row is written once and summed in order whatever the number of
// threads.
#include "neura/backend/kernels/embedding.h"

#include <cmath>
#include <cstring>

#include "neura/backend/cpu/rowwise.h"

namespace neura {
namespace {

bool inside(Context& c, const View& indices, std::int64_t bound) {
  const std::int64_t* ids = indices.as<std::int64_t>();
  for (std::int64_t i = 0; i < indices.numel(); ++i)
    if (ids[i] < 0 || ids[i] >= bound) return c.fail_index(ids[i], bound), false;
  return true;
}

void embedding(Context& c, View indices, View weight, View out) {
  if (!inside(c, indices, weight.size(0))) return;
  const std::int64_t* ids = indices.as<std::int64_t>();
  const std::size_t bytes = std::size_t(weight.size(1) * size_of(weight.dtype()));
  if (!bytes) return;
  parallel_for(indices.numel(), kSerial * 4 / std::int64_t(bytes) + 1, [&](std::int64_t i, std::int64_t end) {
    for (; i < end; ++i)
      std::memcpy(out.data + std::size_t(i) * bytes, weight.data + std::size_t(ids[i]) * bytes, bytes);
  });
}

// The indices equal to r: places[starts[r] … starts[r + 1]), in order.
struct Places {
  std::int64_t *starts, *places;
  Places(Context& c, const std::int64_t* ids, std::int64_t n, std::int64_t rows)
      : starts(c.scratch_of<std::int64_t>(rows + 2)), places(c.scratch_of<std::int64_t>(n)) {
    std::fill(starts, starts + rows + 2, 0);
    for (std::int64_t i = 0; i < n; ++i) ++starts[ids[i] + 2];
    for (std::int64_t r = 0; r < rows; ++r) starts[r + 2] += starts[r + 1];
    for (std::int64_t i = 0; i < n; ++i) places[starts[ids[i] + 1]++] = i;  // starts[r + 1] ends where row r ends
  }
};

template <class T>
void backward(Context& c, const View& g, const View& indices, std::int64_t padding, bool by_frequency, const View& gw) {
  const std::int64_t rows = gw.size(0), width = gw.size(1), n = indices.numel();
  const Places named(c, indices.as<std::int64_t>(), n, rows);
  Spec spec = Spec::dense(g.dtype(), Shape{n, width});
  const Rows from(View{g.data, &spec}, 1), to(gw, 1);
  const Blocks blocks(rows, width * (n / std::max<std::int64_t>(rows, 1) + 1), 1024);
  const RowAccess<T> gs(c, from, blocks), out(c, to, blocks);
  blocks.run([&](Blocks::Block block, std::int64_t r, std::int64_t end) {
    for (; r < end; ++r) {
      T* row = out.target(block, r);
      std::int64_t first = named.starts[r];
      const std::int64_t last = r == padding ? first : named.starts[r + 1];
      const std::int64_t count = last - first;
      if (!count) {
        std::fill(row, row + width, T(0));
      } else {
        const T* one = gs.read(block, named.places[first]);
        for (std::int64_t i = 0; i < width; ++i) row[i] = T(0) + one[i];
      }
      while (++first < last) {
        const T* add = gs.read(block, named.places[first]);
        for (std::int64_t i = 0; i < width; ++i) row[i] += add[i];
      }
      if (by_frequency && count > 1)
        for (std::int64_t i = 0; i < width; ++i) row[i] /= T(count);
      out.written(block, r);
    }
  });
}

void embedding_backward(Context& c, View g, View indices, std::int64_t padding, bool by_frequency, View gw) {
  if (!inside(c, indices, gw.size(0)) || !gw.numel()) return;
  if (gw.dtype() == DType::float64) backward<double>(c, g, indices, padding, by_frequency, gw);
  else backward<float>(c, g, indices, padding, by_frequency, gw);
}

void one_hot(Context& c, View indices, View out) {
  const std::int64_t classes = out.size(out.rank() - 1), *ids = indices.as<std::int64_t>();
  if (!inside(c, indices, classes)) return;
  std::int64_t* to = out.as<std::int64_t>();
  parallel_for(indices.numel(), kSerial / (classes + 1) + 1, [&](std::int64_t i, std::int64_t end) {
    std::fill(to + i * classes, to + end * classes, 0);
    for (; i < end; ++i) to[i * classes + ids[i]] = 1;
  });
}

template <class T> void shrink(Context& c, const View& weight, const View& indices, double most, double p) {
  const std::int64_t rows = weight.size(0), width = weight.size(1), *ids = indices.as<std::int64_t>();
  unsigned char* seen = c.scratch_of<unsigned char>(rows);
  std::fill(seen, seen + rows, 0);
  const Rows all(weight, 1);
  const Blocks blocks(1, 1);
  const RowAccess<T> access(c, all, blocks);
  for (std::int64_t k = 0; k < indices.numel(); ++k) {
    if (seen[ids[k]]++) continue;
    const Blocks::Block block{0, 0};
    const T* row = access.read(block, ids[k]);
    double norm = 0;
    for (std::int64_t i = 0; i < width; ++i) {
      const double a = std::abs(double(row[i]));
      if (std::isinf(p)) norm = std::max(norm, a);
      else norm += p == 2 ? a * a : p == 1 ? a : p == 0 ? double(a != 0) : std::pow(a, p);
    }
    if (!std::isinf(p) && p != 0) norm = std::pow(norm, 1 / p);
    seen[ids[k]] = 1;
    if (!(norm > most)) continue;
    const T scale = T(most / (norm + 1e-7));
    T* to = access.target(block, ids[k]);
    for (std::int64_t i = 0; i < width; ++i) to[i] = row[i] * scale;
    access.written(block, ids[k]);
  }
}
void renormalize(Context& c, View weight, View indices, double most, double p) {
  if (!inside(c, indices, weight.size(0))) return;
  if (weight.dtype() == DType::float64) shrink<double>(c, weight, indices, most, p);
  else shrink<float>(c, weight, indices, most, p);
}

}  // namespace

const embedding_kernels* cpu_embedding() {
  static constexpr embedding_kernels table{.embedding = &embedding,
                                           .embedding_backward = &embedding_backward,
                                           .one_hot = &one_hot,
                                           .renormalize = &renormalize};
  return &table;
}

}  // namespace neura
