// Products of matrices: of floats by cuBLASLt in place, whatever their layout, where it can read it.
#include "neura/backend/cuda/product/matmul.h"

#include "neura/backend/cuda/pointwise/execute.h"
#include "neura/backend/cuda/product/matmul_lt.h"

namespace neura::cuda {
namespace {

struct Layout {  // of the matrices of x
  std::int64_t rows, columns, row, column;
  explicit Layout(const View& x)
      : rows(x.size(x.rank() - 2)),
        columns(x.size(x.rank() - 1)),
        row(x.stride(x.rank() - 2)),
        column(x.stride(x.rank() - 1)) {}
  bool by_rows() const { return (column == 1 || columns == 1) && (row >= columns || rows == 1); }
  bool by_columns() const { return (row == 1 || rows == 1) && (column >= rows || columns == 1); }
};

// x as the library can read it: one of the last two strides is 1 and the other at least a line; a conjugate is turned.
Failed readable(View& x, Spec& own, bool conjugate, Scratch& scratch) {
  const Layout l(x);
  if (conjugate ? l.by_columns() : l.by_rows() || l.by_columns()) return nullptr;
  own = Spec::dense(x.dtype(), x.spec->sizes(), x.spec->device);
  if (conjugate) own.strides[own.rank - 2] = 1, own.strides[own.rank - 1] = l.rows, own.finish();
  View copy{nullptr, &own};
  if (Failed f = scratch.take(own.bytes(), &copy.data)) return f;
  if (Failed f = assign(copy, x)) return f;
  x = copy;
  return nullptr;
}
LtMatrix matrix_of(const View& x, bool conjugate) {
  const Layout l(x);
  if (!conjugate && l.by_rows()) return {x.data, false, false, l.rows == 1 ? l.columns : l.row, 0};
  return {x.data, true, conjugate, l.columns == 1 ? l.rows : l.column, 0};
}

// One row that is added to every other, as the library's own addition of a bias takes it.
bool is_bias(const View& x, const View& y, const Product& p) {
  constexpr DTypeSet with_bias = bit(DType::float32) | dtypes::halves;
  const int last = x.rank() - 1;
  if (p.beta != 1.0 || !(bit(y.dtype()) & with_bias) || reinterpret_cast<std::uintptr_t>(x.data) % 16) return false;
  for (int d = 0; d < last; ++d)
    if (x.size(d) != 1 && x.stride(d)) return false;
  const std::int64_t n = y.size(y.rank() - 1);
  return last >= 0 && x.size(last) == n && (n == 1 || x.stride(last) == 1);
}

struct Batches {
  int outer;  // batch dimensions of y that are walked here: the library steps through the others
  std::int64_t calls = 1;
};
// Innermost batch dimensions in which b repeats and a continues as within a matrix are more rows of one matrix; the
// next that both operands step through evenly are one batch.
Batches gather(LtProduct& p, const View& a, const View& b, const View& y) {
  int outer = y.rank() - 2;
  for (; outer > 0; --outer) {
    const std::int64_t size = y.size(outer - 1), sa = batch_step(a, y, outer - 1);
    if (size == 1) continue;
    if (batch_step(b, y, outer - 1) || (p.m * size) >> 31) break;
    if (p.a.turned ? sa != p.m || p.a.ld < p.m * size : p.m == 1 ? sa < p.k : sa != p.m * p.a.ld) break;
    if (!p.a.turned && p.m == 1) p.a.ld = sa;
    p.m *= size;
  }
  for (; outer > 0; --outer) {
    const std::int64_t size = y.size(outer - 1), sa = batch_step(a, y, outer - 1), sb = batch_step(b, y, outer - 1);
    if (size == 1) continue;
    if (p.batch > 1 && (sa != p.a.step * p.batch || sb != p.b.step * p.batch)) break;
    if (p.batch == 1) p.a.step = sa, p.b.step = sb;
    p.batch *= size;
  }
  Batches walk{outer};
  for (int d = 0; d < outer; ++d) walk.calls *= y.size(d);
  return walk;
}

// With a bias for which there is no kernel: the bias is written first, and added to.
Failed multiply_one(int index, LtProduct p, const View& init) {
  if (is_vector_product(p)) return multiply_vector(index, p);
  cudaStream_t stream = current_stream(index);
  bool known;
  if (Failed f = multiply(index, stream, p, &known)) return f;
  if (known) return nullptr;
  if (p.bias) {
    const std::int64_t sizes[] = {p.batch * p.m, p.n};
    const Spec all = Spec::dense(p.dtype, sizes, init.spec->device),
               row = Spec::dense(p.dtype, {sizes + 1, 1}, init.spec->device);
    if (Failed f = assign(View{p.y, &all}, View{const_cast<char*>(p.bias), &row})) return f;
    p.bias = nullptr, p.c = p.y, p.beta = 1;
    if (Failed f = multiply(index, stream, p, &known)) return f;
    if (known) return nullptr;
  }
  return fail(DeviceFailure::absent, "expected matrices that cuBLASLt multiplies, got %s [%lld, %lld] x [%lld, %lld]",
              name(p.dtype), static_cast<long long>(p.m), static_cast<long long>(p.k), static_cast<long long>(p.k),
              static_cast<long long>(p.n));
}

// A sum of nothing, to which beta * init is added: of matrices with one column and one row of zeros.
Failed zeros_for(View& x, Spec& own, bool left, Scratch& scratch) {
  const std::int64_t lines = x.size(x.rank() - (left ? 2 : 1));
  const std::int64_t sizes[] = {left ? lines : 1, left ? 1 : lines};
  own = Spec::dense(x.dtype(), sizes, x.spec->device), x.spec = &own;
  if (Failed f = scratch.take(own.bytes(), &x.data)) return f;
  return failed(cudaMemsetAsync(x.data, 0, own.bytes(), current_stream(x.spec->device.index)), "matmul");
}

Failed multiply_floats(int index, View a, View b, View init, View y, const Product& options) {
  Scratch scratch(index, current_stream(index));
  const bool complex = is_complex(y.dtype()), conj_a = complex && options.conj_a, conj_b = complex && options.conj_b;
  Spec own_a, own_b;
  if (!a.size(a.rank() - 1)) {
    if (Failed f = zeros_for(a, own_a, true, scratch)) return f;
    if (Failed f = zeros_for(b, own_b, false, scratch)) return f;
  }
  if (Failed f = readable(a, own_a, conj_a, scratch)) return f;
  if (Failed f = readable(b, own_b, conj_b, scratch)) return f;
  const int r = y.rank();
  LtProduct p;
  p.dtype = y.dtype(), p.m = y.size(r - 2), p.n = y.size(r - 1), p.k = a.size(a.rank() - 1);
  p.a = matrix_of(a, conj_a), p.b = matrix_of(b, conj_b);
  if (p.m >> 31 || p.n >> 31 || p.k >> 31)
    return fail(DeviceFailure::absent, "expected matrices of fewer than 2^31 rows and columns on cuda");
  p.alpha = options.alpha, p.beta = options.beta, p.y = y.data;
  if (init && is_bias(init, y, options)) {
    p.bias = init.data;
  } else if (init) {
    const bool alike = init.spec->contiguous && init.spec->same_shape(*y.spec);
    if (Failed f = alike ? nullptr : assign(y, init)) return f;
    p.c = alike ? init.data : y.data;
  }
  const Batches walk = gather(p, a, b, y);
  const std::int64_t width = size_of(p.dtype), bytes = p.batch * p.m * p.n * width;
  for (std::int64_t i = 0; i < walk.calls; ++i) {
    LtProduct one = p;
    std::int64_t rest = i;
    for (int d = walk.outer - 1; d >= 0; rest /= y.size(d--)) {
      one.a.data += rest % y.size(d) * batch_step(a, y, d) * width;
      one.b.data += rest % y.size(d) * batch_step(b, y, d) * width;
    }
    one.y += i * bytes;
    if (one.c) one.c += i * bytes;
    if (Failed f = multiply_one(index, one, init)) return f;
  }
  return nullptr;
}

void product(Context& c, View a, View b, View init, View y, const Product& p) {
  if (!y.numel()) return;
  const OnDevice on(c.device.index);
  if (p.beta == 0.0) init = View();
  const bool whole = bit(y.dtype()) & dtypes::integers;
  c.fail((whole ? multiply_integers : multiply_floats)(c.device.index, a, b, init, y, p));
}

}  // namespace

const matmul_kernels* matmul() {
  static constexpr matmul_kernels table{.matmul = product};
  return &table;
}

}  // namespace neura::cuda
