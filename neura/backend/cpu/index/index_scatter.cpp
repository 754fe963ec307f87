#include "neura/backend/cpu/index/index_scatter.h"

#include <atomic>
#include <type_traits>

#include "neura/backend/cpu/index/index_read.h"
#include "neura/backend/cpu/streaming_store.h"
#include "neura/core/parallel.h"

namespace neura::grid_index {
namespace {

constexpr std::int64_t kChunk = 512;

// Elements that differ along `dim` may meet in one element of out: they are one task's, in order. A task is a position
// in the dimensions other than `dim` and the last, and a chunk of the last.
struct Tasks {
  StridedIterator<3> outer;                                  // index, out, source
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
      StridedIterator<3> o = outer;
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

template <class T, ScatterReduce::Mode mode>
void run(const Tasks& t, const std::int64_t* index, T* out, const T* source) {
  t.run([=, step = t.out_step](std::int64_t i, std::int64_t o, std::int64_t s) {
    put<mode>(out[o + index[i] * step], source[s]);
  });
}

// A long list into few places: each part of the list has sums of its own, which are added to out in order once all
// indices were seen. How the list is cut depends on its length alone. False where there is nothing to gain.
template <class T>
bool add_in_parts(Context& c, const Tasks& t, std::int64_t places, const std::int64_t* index, T* out, const T* source) {
  const std::int64_t n = t.depth, parts = std::min<std::int64_t>(8, n / (8 * std::max<std::int64_t>(1, places)));
  if (t.width != 1 || t.outer.numel() != 1 || t.out_step != 1 || n < 2 * kSerial || parts < 2) return false;
  const T none = std::is_floating_point_v<T> ? T(-0.0) : T(0);  // what changes no number, not even -0
  T* const sums = c.scratch_of<T>(parts * places);
  std::atomic<bool> outside{false};
  parallel_for(parts, 1,
               [&, index, source, places, n, parts, step = t.source_step](std::int64_t begin, std::int64_t end) {
                 std::fill(sums + begin * places, sums + end * places, none);
                 for (std::int64_t part = begin; part < end; ++part) {
                   T* const to = sums + part * places;
                   for (std::int64_t i = n * part / parts, last = n * (part + 1) / parts; i < last; ++i) {
                     if (std::uint64_t(index[i]) >= std::uint64_t(places)) return outside.store(true);
                     put<ScatterReduce::add>(to[index[i]], source[i * step]);
                   }
                 }
               });
  if (outside.load()) return all_inside(c, index, n, places), true;
  parallel_for(places, kSerial, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t part = 0; part < parts; ++part)
      for (std::int64_t i = begin; i < end; ++i) put<ScatterReduce::add>(out[i], sums[part * places + i]);
  });
  return true;
}

// A line of a gather: out[j] = from[index[j] * step + j * along].
struct GatherLine {
  std::int64_t step, along, bound;
  bool stream;  // past the caches

  template <class U>
  static void take(const U* from, const std::int64_t* p, std::int64_t n, std::int64_t step, std::int64_t along, U* to) {
    for (std::int64_t j = 0; j < n; ++j) to[j] = from[p[j] * step + j * along];
  }
  // Block by block, so that indices are checked while they are in the cache. False at one that is outside: out is new,
  // and what is in it will not be seen.
  template <class U> bool run(const U* from, const std::int64_t* p, std::int64_t n, U* to) const {
    constexpr std::int64_t block = 4096 / sizeof(U);
    U buffer[block];
    for (std::int64_t j = 0; j < n; j += block) {
      const std::int64_t m = std::min(block, n - j);
      if (any_outside(p + j, m, bound)) return false;
      U* const target = stream ? buffer : to + j;
      if (step == 1 && along == 0) take(from, p + j, m, 1, 0, target);
      else take(from + j * along, p + j, m, step, along, target);
      if (!stream) continue;
      const char* const ahead = reinterpret_cast<const char*>(p + j + m);
      const char* const next[] = {ahead, ahead + m * sizeof(U)};
      stream_copy(reinterpret_cast<char*>(to + j), reinterpret_cast<const char*>(buffer), std::size_t(m) * sizeof(U),
                  next, sizeof(U) < 8 ? 2 : 1);
    }
    return true;
  }
};

}  // namespace

void gather(Context& c, View x, View index, View out, int dim) {
  if (!out.numel()) return;
  const Spec xs = at_least_1d(*x.spec), is = at_least_1d(*index.spec);
  const std::int64_t* const at = dense_index(c, index);
  const int last = is.rank - 1;
  StridedIterator<1> outer;
  for (int d = 0; d < last; ++d) outer.add(is.shape[d], {d == dim ? 0 : xs.strides[d]});
  const std::int64_t width = is.shape[last], rows = outer.numel(), bytes = out.numel() * size_of(out.dtype());
  const GatherLine line{xs.strides[dim], dim == last ? 0 : xs.strides[last], xs.shape[dim], bytes >= kStreamFrom};
  std::atomic<bool> outside{false};
  visit_width(size_of(out.dtype()), [&]<class U>(U) {
    const U* from = x.as<U>();
    U* to = out.as<U>();
    const auto whole = [&](std::int64_t b, std::int64_t e) {  // rows
      StridedIterator<1> o = outer;
      o.seek(b);
      for (std::int64_t r = b; r < e && !outside.load(std::memory_order_relaxed); ++r, o.next())
        if (!line.run(from + o.at[0], at + r * width, width, to + r * width)) outside.store(true);
      if (line.stream) stream_done();
    };
    const auto part = [&](std::int64_t b, std::int64_t e) {  // of the only row
      if (!line.run(from + b * line.along, at + b, e - b, to + b)) outside.store(true);
      if (line.stream) stream_done();
    };
    if (rows == 1) parallel_for(width, kSerial / 2, part);
    else parallel_for(rows, std::max<std::int64_t>(1, kSerial / 2 / width), whole);
  });
  if (outside.load()) all_inside(c, at, is.numel, line.bound);
}

void scatter(Context& c, View out, View index, View source, int dim, ScatterReduce how) {
  if (!index.numel()) return;
  const Spec os = at_least_1d(*out.spec), is = at_least_1d(*index.spec);
  Spec ss = at_least_1d(*source.spec);
  const std::int64_t* const at = dense_index(c, index);
  const Tasks tasks(os, is, ss, dim);
  bool done = false;
  if (how.mode == ScatterReduce::add && how.include_self)
    visit_number(out.dtype(), [&]<class T>(T) {
      if constexpr (std::is_arithmetic_v<T>)
        done = add_in_parts(c, tasks, os.shape[dim], at, out.as<T>(), source.as<T>());
    });
  if (done || !all_inside(c, at, is.numel, os.shape[dim])) return;
  if (how.mode == ScatterReduce::copy) {
    return visit_width(size_of(out.dtype()),
                       [&]<class U>(U) { run<U, ScatterReduce::copy>(tasks, at, out.as<U>(), source.as<U>()); });
  }
  std::fill(ss.strides, ss.strides + ss.rank, 0);
  const Tasks constant(os, is, ss, dim);
  std::int64_t* counts = nullptr;
  if (how.mode == ScatterReduce::mean) {
    const std::int64_t one = 1;
    counts = c.scratch_of<std::int64_t>(out.numel());
    std::fill(counts, counts + out.numel(), how.include_self ? 1 : 0);
    run<std::int64_t, ScatterReduce::add>(constant, at, counts, &one);
  }
  visit_number(out.dtype(), [&]<class T>(T) {
    visit_mode(how.mode, [&]<ScatterReduce::Mode mode>(std::integral_constant<ScatterReduce::Mode, mode>) {
      const T start = identity<mode, T>();
      if (!how.include_self) run<T, ScatterReduce::copy>(constant, at, out.as<T>(), &start);
      run<T, mode>(tasks, at, out.as<T>(), source.as<T>());
    });
  });
  if (counts) divide(out, counts);
}

}  // namespace neura::grid_index
