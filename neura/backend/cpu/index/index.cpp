// index_select, index writes, linear positions and nonzero.
#include <utility>

#include "neura/backend/cpu/index/index_read.h"
#include "neura/backend/cpu/index/index_scatter.h"
#include "neura/core/parallel.h"

namespace neura {
namespace {

// Row-major arrays seen from one dimension: [outer, size, inner].
struct Block {
  std::int64_t outer = 1, size, inner = 1;
  Block(const Spec& s, int dim) : size(s.shape[dim]) {
    for (int d = 0; d < dim; ++d) outer *= s.shape[d];
    for (int d = dim + 1; d < s.rank; ++d) inner *= s.shape[d];
  }
};

// True if all dimensions after `dim` are contiguous.
bool inner_contiguous(const Spec& s, int dim) {
  std::int64_t step = 1;
  for (int d = s.rank - 1; d > dim; --d) {
    if (s.shape[d] != 1 && s.strides[d] != step) return false;
    step *= s.shape[d];
  }
  return true;
}

void select(Context& c, View x, View index, View out, int dim) {
  if (!out.numel()) return;
  const Spec xs = at_least_1d(*x.spec), os = at_least_1d(*out.spec);
  const std::int64_t* const at = checked_index(c, index, xs.shape[dim]);
  if (!at) return;
  const Block b(os, dim);
  const std::int64_t width = size_of(out.dtype()), step = xs.strides[dim];
  if (!inner_contiguous(xs, dim)) {
    return parallel_for(b.size, std::max<std::int64_t>(1, kSerial * b.size / os.numel),
                        [&](std::int64_t i, std::int64_t e) {
                          Spec from = xs, to = os;
                          from.shape[dim] = to.shape[dim] = 1;
                          from.finish(), to.finish();
                          for (; i < e; ++i)
                            c.backend.create->copy(c, View{x.data + at[i] * step * width, &from},
                                                   View{out.data + i * b.inner * width, &to});
                        });
  }
  StridedIterator<1> outer;
  for (int d = 0; d < dim; ++d) outer.add(xs.shape[d], {xs.strides[d]});
  const std::int64_t grain = std::max<std::int64_t>(1, kSerial / 2 / b.inner);
  visit_width(int(width), [&]<class U>(U) {
    parallel_for(b.outer * b.size, grain, [&](std::int64_t begin, std::int64_t end) {
      StridedIterator<1> o = outer;
      while (begin < end) {
        o.seek(begin / b.size);
        std::int64_t i = begin % b.size;
        const std::int64_t stop = std::min(b.size, i + end - begin);
        const U* from = x.as<U>() + o.at[0];
        U* to = out.as<U>() + begin * b.inner;
        begin += stop - i;
        if (b.inner == 1) {
          for (; i < stop; ++i) *to++ = from[at[i] * step];
        } else {
          for (; i < stop; ++i, to += b.inner)
            std::memcpy(static_cast<void*>(to), from + at[i] * step, std::size_t(b.inner) * sizeof(U));
        }
      }
    });
  });
}

// A task has some columns of one outer position and goes through all of the index, so that sums have one order.
template <class T, ScatterReduce::Mode mode>
void run(const Block& b, const std::int64_t* at, std::int64_t n, T* out, const T* source, std::int64_t stride) {
  const std::int64_t chunk = std::max<std::int64_t>(256, 64 / std::int64_t(sizeof(T)));
  const std::int64_t chunks = (b.inner + chunk - 1) / chunk;
  const std::int64_t grain =
      std::max<std::int64_t>(1, kSerial / 2 / std::max<std::int64_t>(1, n * std::min(chunk, b.inner)));
  parallel_for(b.outer * chunks, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      const std::int64_t o = t / chunks, c0 = t % chunks * chunk, width = std::min(chunk, b.inner - c0);
      T* const block = out + o * b.size * b.inner + c0;
      for (std::int64_t i = 0; i < n; ++i) {
        T* to = block + at[i] * b.inner;
        const T* from = stride ? source + (o * n + i) * b.inner + c0 : source;
        if (mode == ScatterReduce::copy && stride)
          std::memcpy(static_cast<void*>(to), from, std::size_t(width) * sizeof(T));
        else
          for (std::int64_t j = 0; j < width; ++j) put<mode>(to[j], from[j * stride]);
      }
    }
  });
}

void write(Context& c, View out, View index, View source, int dim, ScatterReduce how) {
  if (!out.numel() || !index.numel()) {
    if (index.numel()) checked_index(c, index, at_least_1d(*out.spec).shape[dim]);
    return;
  }
  const Block b(at_least_1d(*out.spec), dim);
  const std::int64_t n = index.numel();
  const std::int64_t* const at = checked_index(c, index, b.size);
  if (!at) return;
  bool one = true;  // a single value for all
  for (int d = 0; d < source.rank(); ++d) one = one && (source.stride(d) == 0 || source.size(d) == 1);
  Spec dense;
  if (!one && !source.spec->contiguous) {
    dense = Spec::dense(source.dtype(), source.spec->sizes());
    View copy{static_cast<char*>(c.scratch(dense.bytes())), &dense};
    c.backend.create->copy(c, source, copy);
    source = copy;
  }
  const std::int64_t stride = one ? 0 : 1;
  if (how.mode == ScatterReduce::copy) {
    return visit_width(size_of(out.dtype()),
                       [&]<class U>(U) { run<U, ScatterReduce::copy>(b, at, n, out.as<U>(), source.as<U>(), stride); });
  }
  std::int64_t* counts = nullptr;
  if (how.mode == ScatterReduce::mean) {
    const std::int64_t term = 1;
    counts = c.scratch_of<std::int64_t>(out.numel());
    std::fill(counts, counts + out.numel(), how.include_self ? 1 : 0);
    run<std::int64_t, ScatterReduce::add>(b, at, n, counts, &term, 0);
  }
  visit_number(out.dtype(), [&]<class T>(T) {
    visit_mode(how.mode, [&]<ScatterReduce::Mode mode>(std::integral_constant<ScatterReduce::Mode, mode>) {
      const T start = identity<mode, T>();
      if (!how.include_self) run<T, ScatterReduce::copy>(b, at, n, out.as<T>(), &start, 0);
      run<T, mode>(b, at, n, out.as<T>(), source.as<T>(), stride);
    });
  });
  if (counts) divide(out, counts);
}

void linear(Context& c, const View* coordinates, const std::int64_t* sizes, int count, View out) {
  std::int64_t* const to = out.as<std::int64_t>();
  const std::int64_t n = out.numel();
  std::fill(to, to + n, 0);
  for (int k = 0; k < count; ++k) {
    const View& v = coordinates[k];
    const std::int64_t size = sizes[k];
    const auto add = [&]<class T>(const T* p) {
      StridedIterator<1> o;
      for (int d = 0; d < v.rank(); ++d) o.add(v.size(d), {v.stride(d)});
      const bool dense = v.spec->contiguous;
      if (!dense && n) o.seek(0);
      for (std::int64_t i = 0; i < n; ++i) {
        std::int64_t x = std::int64_t(p[dense ? i : o.at[0]]);
        if (x < -size || x >= size) return c.fail_index(x, size);
        to[i] = to[i] * size + (x < 0 ? x + size : x);
        if (!dense) o.next();
      }
    };
    if (v.dtype() == DType::int64) add(v.as<std::int64_t>());
    else add(v.as<std::int32_t>());
    if (c.failed) return;
  }
}

// f(test), where test(i) says whether element i of a contiguous x is not zero: minus zero is.
template <class F> void visit_nonzero(const View& x, const F& f) {
  const std::uint64_t h = 0x7fff, s = 0x7fffffff, d = 0x7fffffffffffffff;
  const auto test = [&]<class U>(const U* p, U mask) { f([=](std::int64_t i) { return (p[i] & mask) != 0; }); };
  switch (x.dtype()) {
    case DType::float16:
    case DType::bfloat16:
      return test(x.as<std::uint16_t>(), std::uint16_t(h));
    case DType::float32:
      return test(x.as<std::uint32_t>(), std::uint32_t(s));
    case DType::float64:
      return test(x.as<std::uint64_t>(), d);
    case DType::complex64:
      return test(x.as<std::uint64_t>(), s << 32 | s);
    case DType::complex128:
      return f([p = x.as<std::uint64_t>()](std::int64_t i) { return ((p[2 * i] | p[2 * i + 1]) & d) != 0; });
    case DType::float8_e4m3:
    case DType::float8_e5m2:
      return test(x.as<std::uint8_t>(), std::uint8_t(0x7f));
    default:
      visit_width(size_of(x.dtype()), [&]<class U>(U) {
        if constexpr (sizeof(U) <= 8) test(x.as<U>(), U(~U(0)));
      });
  }
}

constexpr std::int64_t kBlock = 65536;

// How many there are before each block, and at the end.
std::int64_t* block_starts(Context& c, const View& x) {
  const std::int64_t blocks = (x.numel() + kBlock - 1) / kBlock;
  std::int64_t* const starts = c.scratch_of<std::int64_t>(blocks + 1);
  visit_nonzero(x, [&](auto test) {
    parallel_for(blocks, 1, [&](std::int64_t b, std::int64_t e) {
      for (; b < e; ++b) {
        std::int64_t n = 0;
        for (std::int64_t i = b * kBlock; i < std::min(x.numel(), (b + 1) * kBlock); ++i) n += test(i);
        starts[b + 1] = n;
      }
    });
  });
  starts[0] = 0;
  for (std::int64_t b = 0; b < blocks; ++b) starts[b + 1] += starts[b];
  return starts;
}
std::int64_t count_nonzero(Context& c, View x) { return block_starts(c, x)[(x.numel() + kBlock - 1) / kBlock]; }

constexpr std::int64_t kFound = 512;

// Flat positions in rising order become coordinates; a row's own are found once.
struct Rows {
  const Spec& s;
  std::int64_t* to;
  std::int64_t width, begin = 0, end = -1, index[kMaxRank];

  Rows(const Spec& spec, std::int64_t* out) : s(spec), to(out), width(spec.shape[spec.rank - 1]) {}
  void put(const std::int64_t* found, std::int64_t n) {
    const int last = s.rank - 1;
    if (!last) return void(std::copy(found, found + n, std::exchange(to, to + n)));
    for (std::int64_t i = 0; i < n; ++i) {
      if (found[i] >= end) {
        std::int64_t row = found[i] / width;
        begin = row * width, end = begin + width;
        for (int d = last - 1; d > 0; --d) index[d] = row % s.shape[d], row /= s.shape[d];
        index[0] = row;
      }
      for (int d = 0; d < last; ++d) *to++ = index[d];
      *to++ = found[i] - begin;
    }
  }
};

void nonzero(Context& c, View x, View out) {
  const std::int64_t* const starts = block_starts(c, x);
  const int rank = x.rank();
  std::int64_t* const base = out.as<std::int64_t>();
  if (!rank || !out.numel()) return;
  visit_nonzero(x, [&](auto test) {
    parallel_for((x.numel() + kBlock - 1) / kBlock, 1, [&](std::int64_t b, std::int64_t e) {
      std::int64_t found[kFound + 1];
      Rows rows(*x.spec, base + starts[b] * rank);
      for (std::int64_t i = b * kBlock, end = std::min(x.numel(), e * kBlock); i < end;) {
        const std::int64_t stop = std::min(end, i + kFound);
        std::int64_t n = 0;
        for (; i < stop; ++i) found[n] = i, n += test(i);  // no branch: half of a mask is hard to predict
        rows.put(found, n);
      }
    });
  });
}

}  // namespace

const index_kernels* cpu_index() {
  static constexpr index_kernels table{.select = &select,
                                       .write = &write,
                                       .gather = &grid_index::gather,
                                       .scatter = &grid_index::scatter,
                                       .linear = &linear,
                                       .count_nonzero = &count_nonzero,
                                       .nonzero = &nonzero};
  return &table;
}

}  // namespace neura
