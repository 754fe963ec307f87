// Recurrences: of a few units and rows in one launch, else a product and a kernel for each time.
#include "neura/backend/cuda/recurrent/recurrent.cuh"

#include <vector>

#include "neura/backend/cuda/pointwise/execute.h"
#include "neura/backend/cuda/rowwise/rowwise_launch.cuh"
#include "neura/backend/cuda/runtime/scratch.h"
#include "neura/backend/kernels/matmul.h"

namespace neura::cuda {

const matmul_kernels* matmul();

namespace {

// The rows of a time, and where their states before are: of the first `kept` rows in those from `before`, of the others
// in h0 and c0.
struct Place {
  std::int64_t row, count, before, kept;
};
std::vector<Place> places_of(const RecurrentShape& r, std::int64_t batch, std::int64_t rows) {  // in the order of steps
  const auto size = [&](std::int64_t t) { return r.sizes ? r.sizes[t] : batch; };
  std::vector<Place> places;
  places.reserve(std::size_t(r.times));
  for (std::int64_t i = 0, row = r.reverse ? rows : 0; i < r.times; ++i) {
    const std::int64_t t = r.reverse ? r.times - 1 - i : i, count = size(t);
    if (r.reverse) row -= count;
    const std::int64_t before = !i ? 0 : r.reverse ? row + count : row - size(t - 1);
    places.push_back({row, count, before, !i ? 0 : r.reverse ? size(t + 1) : count});
    if (!r.reverse) row += count;
  }
  return places;
}

template <class M> struct Step {
  using E = number_of<M>;
  Place at;
  std::uint32_t hidden;
  bool relu;
  std::int64_t slot;  // of `kept`: from one of its kinds to the next
  const M *sums, *x, *b;
  const M *h0, *c0;
  M *y, *h, *c;  // h, c: the states, of all sequences
  E *cells, *kept;
  const M* gy;  // in a gradient h, c and cells are those of the states
  M *gx, *gh, *direct;

  __device__ bool place(std::uint32_t& n, std::uint32_t& j) const {
    const std::uint32_t i = blockIdx.x * kThreads + threadIdx.x;
    n = i / hidden, j = i - n * hidden;
    return n < at.count;
  }
};

template <class M, CellKind C> __global__ void __launch_bounds__(kThreads) forward(const Step<M> s) {
  using E = number_of<M>;
  constexpr int G = kGates<C>;
  std::uint32_t n, j;
  if (!s.place(n, j)) return;
  const std::int64_t line = (s.at.row + n) * s.hidden + j, state = std::int64_t(n) * s.hidden + j;
  const M* const sums = s.sums + std::int64_t(n) * G * s.hidden + j;
  E v[4], kept[5];
#pragma unroll
  for (int g = 0; g < G; ++g) {
    v[g] = cast<E>(sums[g * s.hidden]);
    if constexpr (C == CellKind::gru) {
      if (s.b) v[g] += cast<E>(s.b[g * s.hidden + j]);
      const E x = cast<E>(s.x[((s.at.row + n) * G + g) * s.hidden + j]);
      if (g < 2) v[g] += x;
      else v[3] = v[2], v[2] = x;
    }
  }
  E c = C == CellKind::lstm ? s.cells[state] : E(0);
  const E h = cell_forward<C>(v, C == CellKind::gru ? cast<E>(s.h[state]) : E(0), c, s.relu, kept);
  s.y[line] = s.h[state] = cast<M>(h);
  if constexpr (C == CellKind::lstm) s.cells[state] = c, s.c[state] = cast<M>(c);
  if (!s.kept) return;
#pragma unroll
  for (int k = 0; k < kKept<C>; ++k) s.kept[k * s.slot + line] = kept[k];
}

template <class M, CellKind C> __global__ void __launch_bounds__(kThreads) backward(const Step<M> s) {
  using E = number_of<M>;
  constexpr int G = kGates<C>;
  std::uint32_t n, j;
  if (!s.place(n, j)) return;
  const std::int64_t line = (s.at.row + n) * s.hidden + j, state = std::int64_t(n) * s.hidden + j;
  const std::int64_t before = (s.at.before + n) * s.hidden + j;
  E kept[5], g[4], h = 0, c = 0;
#pragma unroll
  for (int k = 0; k < kKept<C>; ++k) kept[k] = s.kept[k * s.slot + line];
  if constexpr (C == CellKind::gru) h = cast<E>(n < s.at.kept ? s.y[before] : s.h0[state]);
  if constexpr (C == CellKind::lstm) c = n < s.at.kept ? s.kept[4 * s.slot + before] : cast<E>(s.c0[state]);
  const E d = cast<E>(s.h[state]) + (s.gy ? cast<E>(s.gy[line]) : E(0));
  E gc = C == CellKind::lstm ? s.cells[state] : E(0);
  const E direct = cell_backward<C>(d, gc, cast<E>(s.y[line]), h, c, s.relu, kept, g);
  if constexpr (C == CellKind::gru) s.direct[state] = cast<M>(direct);
  if constexpr (C == CellKind::lstm) s.cells[state] = gc, s.c[state] = cast<M>(gc);
  const std::int64_t gates = (s.at.row + n) * G * s.hidden + j;
#pragma unroll
  for (int k = 0; k < G; ++k) {
    s.gx[gates + k * s.hidden] = cast<M>(g[k]);
    if constexpr (C == CellKind::gru) s.gh[gates + k * s.hidden] = cast<M>(g[k < 2 ? k : 3]);
  }
}

struct Matrix {  // contiguous, or turned
  Spec spec;
  char* data;
  Matrix(const void* p, DType d, std::int64_t rows, std::int64_t columns, Device device, bool turn = false)
      : data(static_cast<char*>(const_cast<void*>(p))) {
    const std::int64_t sizes[] = {rows, columns};
    spec = Spec::dense(d, sizes, device);
    if (turn) std::swap(spec.shape[0], spec.shape[1]), std::swap(spec.strides[0], spec.strides[1]), spec.finish();
  }
  View view() const { return {data, &spec}; }
};

template <class M> class Steps {
 public:
  using E = number_of<M>;
  Steps(Context& c, const RecurrentShape& r, const RecurrenceSizes& n, const RecurrenceData& d)
      : context_(c),
        r_(r),
        n_(n),
        d_(d),
        width_(n.hidden * gates_of(r.cell)),
        stream_(current_stream(c.device.index)),
        scratch_(c.device.index, stream_) {
    s_ = {};
    s_.hidden = std::uint32_t(n.hidden), s_.relu = r.cell == RecurrentCell::relu, s_.slot = n.rows * n.hidden;
    s_.b = as(d.b), s_.x = as(d.x), s_.h0 = as(d.h0), s_.c0 = as(d.c0), s_.y = as(d.y);
    s_.kept = reinterpret_cast<E*>(d.kept);
    s_.gy = as(d.gy), s_.gx = as(d.gx), s_.gh = as(d.gh);
  }

  Failed forward_all() {
    M* sums;
    if (Failed f = start(d_.last, d_.h0, d_.c0)) return f;
    if (Failed f = scratch_.take(std::size_t(n_.batch * width_) * sizeof(M), &sums)) return f;
    s_.sums = sums;
    const Matrix w = matrix(d_.w, width_, n_.hidden, true);
    for (const Place& p : places_of(r_, n_.batch, n_.rows)) {
      const Matrix h = matrix(s_.h, p.count, n_.hidden), y = matrix(sums, p.count, width_);
      const Matrix x = matrix(s_.x + p.row * width_, p.count, width_);
      multiply(h, w, r_.cell == RecurrentCell::gru ? View() : x.view(), y);
      if (context_.failure) return nullptr;
      if (Failed f = launch<false>(p)) return f;
    }
    return nullptr;
  }
  Failed backward_all() {
    const char* const of_cells = d_.glast ? d_.glast + n_.batch * n_.hidden * std::int64_t(sizeof(M)) : nullptr;
    if (Failed f = start(d_.gfirst, d_.glast, of_cells)) return f;
    const bool gru = r_.cell == RecurrentCell::gru;
    if (gru)
      if (Failed f = scratch_.take(std::size_t(n_.batch * n_.hidden) * sizeof(M), &s_.direct)) return f;
    const Matrix w = matrix(d_.w, width_, n_.hidden);
    const std::vector<Place> places = places_of(r_, n_.batch, n_.rows);
    for (auto p = places.rbegin(); p != places.rend(); ++p) {
      if (Failed f = launch<true>(*p)) return f;
      const Matrix g = matrix((gru ? s_.gh : s_.gx) + p->row * width_, p->count, width_);
      const Matrix direct = matrix(s_.direct, p->count, n_.hidden), h = matrix(s_.h, p->count, n_.hidden);
      multiply(g, w, gru ? direct.view() : View(), h);
      if (context_.failure) return nullptr;
    }
    return nullptr;
  }

 private:
  static M* as(const char* p) { return reinterpret_cast<M*>(const_cast<char*>(p)); }
  Matrix matrix(const void* p, std::int64_t rows, std::int64_t columns, bool turn = false) const {
    return {p, n_.dtype, rows, columns, context_.device, turn};
  }
  void multiply(const Matrix& a, const Matrix& b, View init, const Matrix& y) {
    cuda::matmul()->matmul(context_, a.view(), b.view(), init, y.view(), Product());
  }
  // The states that steps continue with: copies of h and c, zeros where there are none.
  Failed start(char* states, const char* h, const char* c) {
    const std::size_t count = std::size_t(n_.batch * n_.hidden);
    s_.h = as(states), s_.c = s_.h + count;
    if (Failed f = copy(s_.h, h, count * sizeof(M))) return f;
    if (r_.cell != RecurrentCell::lstm) return nullptr;
    if (Failed f = scratch_.take(count * sizeof(E), &s_.cells)) return f;
    if (sizeof(E) == sizeof(M) || !c) return copy(s_.cells, c, count * sizeof(E));
    const Matrix from = matrix(c, n_.batch, n_.hidden);
    const Matrix to(s_.cells, DType::float32, n_.batch, n_.hidden, context_.device);
    return assign(to.view(), from.view());
  }
  Failed copy(void* to, const void* from, std::size_t bytes) const {
    return failed(from ? cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_)
                       : cudaMemsetAsync(to, 0, bytes, stream_),
                  "recurrence");
  }
  template <bool back> Failed launch(const Place& p) {
    s_.at = p;
    const std::uint32_t blocks = ceiling(p.count * n_.hidden, kThreads);
    switch (kind_of(r_.cell)) {
      case CellKind::lstm:
        (back ? backward<M, CellKind::lstm> : forward<M, CellKind::lstm>)<<<blocks, kThreads, 0, stream_>>>(s_);
        break;
      case CellKind::gru:
        (back ? backward<M, CellKind::gru> : forward<M, CellKind::gru>)<<<blocks, kThreads, 0, stream_>>>(s_);
        break;
      default:
        (back ? backward<M, CellKind::simple> : forward<M, CellKind::simple>)<<<blocks, kThreads, 0, stream_>>>(s_);
    }
    return launched(context_.device.index);
  }

  Context& context_;
  const RecurrentShape& r_;
  const RecurrenceSizes& n_;
  const RecurrenceData& d_;
  const std::int64_t width_;
  const cudaStream_t stream_;
  Scratch scratch_;
  Step<M> s_;
};

void run(Context& c, const RecurrentShape& r, const RecurrenceSizes& n, const RecurrenceData& d, bool back) {
  if (!n.batch || !n.hidden) return;
  const OnDevice on(c.device.index);
  if ((n.batch * n.hidden * gates_of(r.cell)) >> 31)
    return c.fail(fail(DeviceFailure::absent,
                       "expected fewer than 2^31 gates in a step on cuda, got %lld; cut the batch into parts",
                       static_cast<long long>(n.batch * n.hidden * gates_of(r.cell))));
  Failed f = nullptr;
  if (recur_at_once(c.device.index, r, n, d, back, &f)) return c.fail(f);
  c.fail(with_floating(n.dtype, [&]<class M>() {
    Steps<M> steps(c, r, n, d);
    return back ? steps.backward_all() : steps.forward_all();
  }));
}

void forward(Context& c, View x, View h0, View c0, View w, View b, const RecurrentShape& r, View y, View last,
             View kept) {
  const RecurrenceSizes n{y.dtype(), h0.size(0), w.size(1), y.size(0)};
  const RecurrenceData d{.x = x.data,
                         .h0 = h0.data,
                         .c0 = c0.data,
                         .w = w.data,
                         .b = b.data,
                         .y = y.data,
                         .last = last.data,
                         .kept = kept.numel() ? kept.data : nullptr,
                         .gy = nullptr,
                         .glast = nullptr,
                         .gx = nullptr,
                         .gh = nullptr,
                         .gfirst = nullptr};
  run(c, r, n, d, false);
}
void backward(Context& c, View gy, View glast, View h0, View c0, View w, View y, View kept, const RecurrentShape& r,
              View gx, View gh, View gfirst) {
  const RecurrenceSizes n{y.dtype(), h0.size(0), w.size(1), y.size(0)};
  const RecurrenceData d{.x = nullptr,
                         .h0 = h0.data,
                         .c0 = c0.data,
                         .w = w.data,
                         .b = nullptr,
                         .y = y.data,
                         .last = nullptr,
                         .kept = kept.data,
                         .gy = gy.data,
                         .glast = glast.data,
                         .gx = gx.data,
                         .gh = gh.data,
                         .gfirst = gfirst.data};
  run(c, r, n, d, true);
}

}  // namespace

const recurrent_kernels* recurrent() {
  static constexpr recurrent_kernels table{.forward = forward, .backward = backward};
  return &table;
}

}  // namespace neura::cuda
