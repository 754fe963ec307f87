// Sorting and selection. An element becomes an unsigned key with its order and, below it, its place: no two are equal,
// so that every way of sorting is stable and gives the same answer, and Highway's vectors can do it.
#include "neura/backend/kernels/sort.h"

#include <hwy/contrib/sort/vqsort.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "neura/core/parallel.h"

namespace neura {
namespace {

using Wide = hwy::uint128_t;  // of an eight-byte element: the key is hi, the place lo
struct Less {
  bool operator()(std::uint64_t a, std::uint64_t b) const { return a < b; }
  bool operator()(const Wide& a, const Wide& b) const { return a.hi != b.hi ? a.hi < b.hi : a.lo < b.lo; }
};

// Unsigned numbers in the order of T; NaN last, -0 equal to 0.
template <class T> auto key_of(T x) {
  using U = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  constexpr U top = U(1) << (8 * sizeof(T) - 1);
  U bits;
  if constexpr (std::is_integral_v<T>) return U(U(x) ^ top);
  else {
    x += T(0);
    if (x != x) return U(~U(0));
    std::memcpy(&bits, &x, sizeof x);
    return U(bits & top ? ~bits : bits | top);
  }
}
// From here on Highway's sort is faster than the standard library's.
[[maybe_unused]] constexpr std::int64_t kVectors = 64;

template <class T> struct SortLine {  // one line's elements, ready to be put in order
  using Item = std::conditional_t<sizeof(T) == 4, std::uint64_t, Wide>;
  static Item item(T x, std::int64_t place, bool descending) {
    const auto key = descending ? decltype(key_of(x))(~key_of(x)) : key_of(x);
    if constexpr (sizeof(T) == 4) return std::uint64_t(key) << 32 | std::uint64_t(place);
    else return Item{std::uint64_t(place), key};
  }
  static std::uint64_t key(const Item& i) {
    if constexpr (sizeof(T) == 4) return i >> 32;
    else return i.hi;
  }
  static std::int64_t place(const Item& i) {
    if constexpr (sizeof(T) == 4) return std::int64_t(i & 0xffffffffu);
    else return std::int64_t(i.lo);
  }
  static void sort(Item* items, std::int64_t n) {
#ifndef NEURA_HIGHWAY_HEADERS
    if (n >= kVectors) {
      hwy::Sorter sorter;
      return sorter(items, std::size_t(n), hwy::SortAscending());
    }
#endif
    std::sort(items, items + n, Less());
  }
  static bool before(const Item& a, const Item& b) { return key(a) < key(b); }
  // The k least of n elements to the front, in order. All: a stable sort. Of a short line, those algorithms of the
  // standard library on keys alone that decide in torch which of equal elements are chosen. Few of many: those below
  // a bound that a sample suggests are collected.
  static void least(const T* x, std::int64_t n, std::int64_t k, bool descending, Item* items) {
    const std::int64_t room = std::max<std::int64_t>(4 * k, 256);
    if (k == n || n <= 4096 || room > n / 4) {
      for (std::int64_t i = 0; i < n; ++i) items[i] = item(x[i], i, descending);
      if (k == n) return sort(items, k);
      if (n <= 4096 && k * 64 <= n) return std::partial_sort(items, items + k, items + n, before);
      if (n <= 4096)
        return std::nth_element(items, items + k - 1, items + n, before), std::sort(items, items + k - 1, before);
      return least_of_all(x, n, k, descending, items);
    }
    const std::int64_t held = reaching(x, n, likely_bound(x, n, k, descending), descending, items);
    if (held < k) return least_of_all(x, n, k, descending, items);
    std::nth_element(items, items + k - 1, items + held, Less());
    sort(items, k);
  }
  static void least_of_all(const T* x, std::int64_t n, std::int64_t k, bool descending, Item* items) {
    for (std::int64_t i = 0; i < n; ++i) items[i] = item(x[i], i, descending);
    std::nth_element(items, items + k - 1, items + n, Less());
    sort(items, k);
  }
  // An element of the line that is after its k-th, except for one line in 100,000: of a sample, the one three standard
  // deviations after the k-th's likely place.
  static T likely_bound(const T* x, std::int64_t n, std::int64_t k, bool descending) {
    constexpr std::int64_t most = 4096;
    const std::int64_t count = std::clamp<std::int64_t>(n / 32, 256, most), step = n / count;
    const double place = double(k) * double(count) / double(n);
    T sample[most];
    for (std::int64_t i = 0; i < count; ++i) sample[i] = x[i * step];
    T* const nth = sample + std::min(count - 1, std::int64_t(place + 3 * std::sqrt(place)) + 4);
    std::nth_element(sample, nth, sample + count,
                     [descending](T a, T b) { return descending ? key_of(b) < key_of(a) : key_of(a) < key_of(b); });
    return *nth;
  }
  // Those elements to the front that come no later than the bound; how many. NaN as a bound leaves nothing out.
  static std::int64_t reaching(const T* x, std::int64_t n, T bound, bool descending, Item* items) {
    std::int64_t held = 0;
    for (std::int64_t begin = 0; begin < n; begin += kBlock) {
      const std::int64_t end = std::min(n, begin + kBlock);
      if (end - begin == kBlock && !reaches(x + begin, bound, descending)) continue;
      std::int64_t found[kBlock], count = 0;  // no branch: which elements they are cannot be foreseen
      for (std::int64_t i = begin; i < end; ++i)
        found[count] = i, count += descending ? !(x[i] < bound) : !(x[i] > bound);
      for (std::int64_t j = 0; j < count; ++j) items[held++] = item(x[found[j]], found[j], descending);
    }
    return held;
  }
  static constexpr std::int64_t kBlock = 16;
  static bool reaches(const T* x, T bound, bool descending) {  // may any element of a block be among the least?
    using Flag = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
    Flag any = 0;
    if (descending)
      for (std::int64_t i = 0; i < kBlock; ++i) any |= Flag(!(x[i] < bound));
    else
      for (std::int64_t i = 0; i < kBlock; ++i) any |= Flag(!(x[i] > bound));
    return any;
  }
  // Hoare's selection by the median of three, which decides which of equal elements is the k-th.
  static std::int64_t nth(const T* x, std::int64_t n, std::int64_t k, Item* items) {
    for (std::int64_t i = 0; i < n; ++i) items[i] = item(x[i], i, false);
    const auto order = [&](std::int64_t a, std::int64_t b) {
      if (before(items[b], items[a])) std::swap(items[a], items[b]);
    };
    std::int64_t low = 0, high = n - 1;
    while (high > low + 1) {
      std::swap(items[low + (high - low) / 2], items[low + 1]);
      order(low + 1, high), order(low, high), order(low + 1, low);  // the median of the three to `low`
      std::int64_t i = low + 1, j = high;
      const Item pivot = items[low];
      for (;;) {
        do ++i;
        while (before(items[i], pivot));
        do --j;
        while (before(pivot, items[j]));
        if (j < i) break;
        std::swap(items[i], items[j]);
      }
      std::swap(items[low], items[j]);
      if (j <= k) low = i;
      if (j >= k) high = j - 1;
    }
    if (high == low + 1) order(low, high);
    return place(items[k]);
  }
  static std::int64_t median(const T* x, std::int64_t n, bool skip_nan, Item* items) {
    std::int64_t count = n;
    if constexpr (!std::is_integral_v<T>) {
      for (std::int64_t i = 0; i < n; ++i) {
        if (x[i] == x[i]) continue;
        if (!skip_nan) return i;
        --count;
      }
    }
    return nth(x, n, std::max<std::int64_t>(0, count - 1) / 2, items);
  }
  static std::int64_t mode(const T* x, std::int64_t n, Item* items) {
    for (std::int64_t i = 0; i < n; ++i) items[i] = item(x[i], i, false);
    sort(items, n);
    std::int64_t best = 0, most = 0, begin = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const bool last = i + 1 == n || key(items[i]) != key(items[i + 1]);
      if (!last) continue;
      if (i + 1 - begin > most) most = i + 1 - begin, best = i;
      begin = i + 1;
    }
    return place(items[best]);
  }
};

struct Lines {
  std::int64_t outer = 1, n = 1, inner = 1;
  Lines(View x, int dim) {
    for (int d = 0; d < x.rank(); ++d) (d < dim ? outer : d == dim ? n : inner) *= x.size(d);
  }
};

struct SelectionJob {
  Selection selection;
  std::int64_t k;
  Lines lines;
  std::int64_t room;  // results of a line
  View x, values;
  std::int64_t* indices;
  std::int64_t size;   // of an element of x
  ConvertFn* convert;  // to the dtype that is compared
  bool as_it_is;       // x has it, and its lines are contiguous

  void put(std::int64_t outer, std::int64_t inner, std::int64_t i, std::int64_t place) const {
    const std::int64_t from = (outer * lines.n + place) * lines.inner + inner;
    const std::int64_t to = (outer * room + i) * lines.inner + inner;
    if (indices) indices[to] = place;
    if (!values) return;
    char* v = values.data + to * size;
    const char* f = x.data + from * size;
    size == 4   ? void(std::memcpy(v, f, 4))
    : size == 8 ? void(std::memcpy(v, f, 8))
                : void(std::memcpy(v, f, std::size_t(size)));
  }
  template <class T> void line(std::int64_t l, T* room_for_x, typename SortLine<T>::Item* items) const {
    using R = SortLine<T>;
    const std::int64_t outer = l / lines.inner, inner = l % lines.inner, n = lines.n;
    const char* const from = x.data + (outer * n * lines.inner + inner) * size;
    const T* x_line = reinterpret_cast<const T*>(from);
    if (!as_it_is)
      convert(from, lines.inner * size, reinterpret_cast<char*>(room_for_x), sizeof(T), std::size_t(n)),
          x_line = room_for_x;
    switch (selection) {
      case Selection::smallest:
      case Selection::largest:
        R::least(x_line, n, room, selection == Selection::largest, items);
        for (std::int64_t i = 0; i < room; ++i) put(outer, inner, i, R::place(items[i]));
        return;
      case Selection::kth:
        return put(outer, inner, 0, R::nth(x_line, n, k, items));
      case Selection::mode:
        return put(outer, inner, 0, R::mode(x_line, n, items));
      default:
        put(outer, inner, 0, R::median(x_line, n, selection == Selection::nanmedian, items));
    }
  }
  template <class T> void run(Context& c) const {
    using Item = typename SortLine<T>::Item;
    const std::int64_t count = lines.outer * lines.inner, n = lines.n;
    const std::int64_t fit = std::max<std::int64_t>(1, kSerial / 8 / n), tasks = (count + fit - 1) / fit;
    const std::int64_t slots = std::min<std::int64_t>(tasks, get_num_threads());  // memory for what runs at once
    Item* items = c.scratch_of<Item>(slots * n);
    T* x_lines = c.scratch_of<T>(as_it_is ? 0 : slots * n);
    auto* taken = new (c.scratch_of<std::atomic<bool>>(slots)) std::atomic<bool>[std::size_t(slots)]();
    parallel_for(count, fit, [&](std::int64_t begin, std::int64_t end) {
      std::int64_t slot = 0;
      while (taken[slot].exchange(true, std::memory_order_acquire)) slot = (slot + 1) % slots;
      for (std::int64_t l = begin; l < end; ++l) line<T>(l, x_lines + slot * n, items + slot * n);
      taken[slot].store(false, std::memory_order_release);
    });
  }
};

void select(Context& c, Selection selection, int dim, std::int64_t k, View x, View values, View indices) {
  const Lines lines(x, dim);
  const DType d = x.dtype();
  const bool wide = size_of(d) == 8 || lines.n > std::int64_t(0xffffffff);
  const DType compared = is_integral(d) ? (wide ? DType::int64 : DType::int32) : wide ? DType::float64 : DType::float32;
  const std::int64_t room = lines.outer * lines.inner != 0 ? indices.numel() / (lines.outer * lines.inner) : 0;
  if (!room) return;
  const SelectionJob job{selection,
                         k,
                         lines,
                         room,
                         x,
                         values,
                         indices.as<std::int64_t>(),
                         size_of(d),
                         c.backend.convert->pair[int(d)][int(compared)],
                         d == compared && lines.inner == 1};
  switch (compared) {
    case DType::int32:
      return job.run<std::int32_t>(c);
    case DType::int64:
      return job.run<std::int64_t>(c);
    case DType::float32:
      return job.run<float>(c);
    default:
      return job.run<double>(c);
  }
}

template <class F> void with_compared(DType d, F f) {
  d == DType::float32 ? f(float()) : d == DType::float64 ? f(double()) : f(std::int64_t());
}

void rows(Context& c, View x, View indices) {
  const std::int64_t n = x.size(0), m = x.size(1);
  std::int64_t* order = indices.as<std::int64_t>();
  for (std::int64_t i = 0; i < n; ++i) order[i] = i;
  const DType d = x.dtype(), compared = is_integral(d) ? DType::int64 : accumulation(d);
  char* all = static_cast<char*>(c.scratch(std::size_t(n * m * size_of(compared))));
  c.backend.convert->pair[int(d)][int(compared)](x.data, size_of(d), all, size_of(compared), std::size_t(n * m));
  with_compared(compared, [&]<class T>(T) {
    const T* p = reinterpret_cast<const T*>(all);
    std::sort(order, order + n, [&](std::int64_t a, std::int64_t b) {
      for (std::int64_t j = 0; j < m; ++j) {
        const auto u = key_of(p[a * m + j]), v = key_of(p[b * m + j]);
        if (u != v) return u < v;
      }
      return a < b;
    });
  });
}

void search(Context&, bool right, View sequence, View values, View y) {
  const std::int64_t n = sequence.size(sequence.rank() - 1), count = values.numel();
  const std::int64_t outer = sequence.rank() == 1 ? 1
                             : n                  ? sequence.numel() / n
                                                  : 1,
                     m = std::max<std::int64_t>(1, count / std::max<std::int64_t>(1, outer));
  with_compared(values.dtype(), [&]<class T>(T) {
    parallel_for(count, kSerial / 64, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const T* s = sequence.as<T>() + (outer == 1 ? 0 : i / m * n);
        const T v = values.as<T>()[i];
        std::int64_t low = 0, high = n;  // NaN comes after everything
        while (low < high) {
          const std::int64_t mid = low + (high - low) / 2;
          if (right ? !(s[mid] > v) : !(s[mid] >= v)) low = mid + 1;
          else high = mid;
        }
        if (y.dtype() == DType::int32) y.as<std::int32_t>()[i] = std::int32_t(low);
        else y.as<std::int64_t>()[i] = low;
      }
    });
  });
}
}  // namespace

const sort_kernels* cpu_sort() {
  static constexpr sort_kernels kernels = {select, rows, search};
  return &kernels;
}

}  // namespace neura
