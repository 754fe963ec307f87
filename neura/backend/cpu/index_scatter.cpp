#include "neura/backend/cpu/index_scatter.h"

#include "neura/backend/cpu/index_read.h"
#include "neura/core/parallel.h"

namespace neura::grid_index {
namespace {

constexpr std::int64_t kChunk = 512;

// Elements that differ along `dim` may meet in one element of out: they are one task's, in order. A task is a position
// in the dimensions other than `dim` and the last, and a chunk of the last.
struct Tasks {
  Odometer<3> outer;                                         // index, out, source
  std::int64_t depth, index_step, out_step, source_step;     // along dim
  std::int64_t width, index_inner, out_inner, source_inner;  // along the last, if that is not dim
  std::int64_t chunks;

  Tasks(const Spec& out, const Spec& index, const Spec& source, int dim) {
    const Shape dense = calculate_strides(index.sizes());
    const int last = index.rank - 1;
    for (int d = 0; d < last; ++d)
      if (d != dim) outer.add(index.shape[d], {dense[d], out.strides[d], source.strides[d]});
    depth = index.shape[dim], index_step = dense[dim], out_step = out.strides[dim], source_step = source.strides[dim];
    width = 1, index_inner = out_inner = source_inner = 0;
    if (dim != last)
      width = index.shape[last], index_inner = 1, out_inner = out.strides[last], source_inner = source.strides[last];
    chunks = (width + kChunk - 1) / kChunk;
  }
  // f(position in index, in out, in source) for all elements.
  template <class F> void run(const F& f) const {
    if (!depth || !width) return;
    const std::int64_t grain = std::max<std::int64_t>(1, kSerial / 2 / (depth * std::min(width, kChunk)));
    parallel_for(outer.numel() * chunks, grain, [&](std::int64_t b, std::int64_t e) {
      Odometer<3> o = outer;
      for (std::int64_t t = b; t < e; ++t) {
        o.seek(t / chunks);
        if (width == 1) {  // along the last dimension: one loop
          for (std::int64_t i = 0; i < depth; ++i) f(o.at[0] + i * index_step, o.at[1], o.at[2] + i * source_step);
          continue;
        }
        const std::int64_t begin = t % chunks * kChunk, end = std::min(width, begin + kChunk);
        for (std::int64_t i = 0; i < depth; ++i)
          for (std::int64_t j = begin; j < end; ++j)
            f(o.at[0] + i * index_step + j * index_inner, o.at[1] + j * out_inner,
              o.at[2] + i * source_step + j * source_inner);
      }
    });
  }
};

template <class T, Put::Mode mode> void run(const Tasks& t, const std::int64_t* index, T* out, const T* source) {
  t.run([=, step = t.out_step](std::int64_t i, std::int64_t o, std::int64_t s) {
    put<mode>(out[o + index[i] * step], source[s]);
  });
}

}  // namespace

void gather(Context& c, View x, View index, View out, int dim) {
  if (!out.numel()) return;
  const Spec xs = at_least_1d(*x.spec), is = at_least_1d(*index.spec);
  const std::int64_t* const at = checked_index(c, index, xs.shape[dim]);
  if (!at) return;
  const int last = is.rank - 1;
  Odometer<1> outer;
  for (int d = 0; d < last; ++d) outer.add(is.shape[d], {d == dim ? 0 : xs.strides[d]});
  const std::int64_t width = is.shape[last], step = xs.strides[dim], along = dim == last ? 0 : xs.strides[last];
  visit_width(size_of(out.dtype()), [&]<class U>(U) {
    const auto line = [&](std::int64_t row, std::int64_t base, std::int64_t b, std::int64_t e) {
      const U* from = x.as<U>() + base;
      const std::int64_t* p = at + row * width;
      U* to = out.as<U>() + row * width;
      for (std::int64_t j = b; j < e; ++j) to[j] = from[p[j] * step + j * along];
    };
    const std::int64_t rows = outer.numel();
    if (rows == 1) return parallel_for(width, kSerial / 2, [&](std::int64_t b, std::int64_t e) { line(0, 0, b, e); });
    parallel_for(rows, std::max<std::int64_t>(1, kSerial / 2 / width), [&](std::int64_t b, std::int64_t e) {
      Odometer<1> o = outer;
      o.seek(b);
      for (std::int64_t r = b; r < e; ++r, o.next()) line(r, o.at[0], 0, width);
    });
  });
}

void scatter(Context& c, View out, View index, View source, int dim, Put how) {
  if (!index.numel()) return;
  const Spec os = at_least_1d(*out.spec), is = at_least_1d(*index.spec);
  Spec ss = at_least_1d(*source.spec);
  const std::int64_t* const at = checked_index(c, index, os.shape[dim]);
  if (!at) return;
  const Tasks tasks(os, is, ss, dim);
  if (how.mode == Put::copy) {
    return visit_width(size_of(out.dtype()),
                       [&]<class U>(U) { run<U, Put::copy>(tasks, at, out.as<U>(), source.as<U>()); });
  }
  std::fill(ss.strides, ss.strides + ss.rank, 0);
  const Tasks constant(os, is, ss, dim);
  std::int64_t* counts = nullptr;
  if (how.mode == Put::mean) {
    const std::int64_t one = 1;
    counts = c.scratch_of<std::int64_t>(out.numel());
    std::fill(counts, counts + out.numel(), how.include_self ? 1 : 0);
    run<std::int64_t, Put::add>(constant, at, counts, &one);
  }
  visit_number(out.dtype(), [&]<class T>(T) {
    visit_mode(how.mode, [&]<Put::Mode mode>(std::integral_constant<Put::Mode, mode>) {
      const T start = identity<mode, T>();
      if (!how.include_self) run<T, Put::copy>(constant, at, out.as<T>(), &start);
      run<T, mode>(tasks, at, out.as<T>(), source.as<T>());
    });
  });
  if (counts) divide(out, counts);
}

}  // namespace neura::grid_index
