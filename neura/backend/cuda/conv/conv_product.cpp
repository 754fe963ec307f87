// Convolutions as products of matrices with the patches that windows see, for what cuDNN does not do. Halves are
// computed in float32. As much of the batch at a time as kMostColumns bytes hold the patches of.
#include <algorithm>

#include "neura/backend/cuda/conv/conv.h"
#include "neura/backend/cuda/pointwise/execute.h"
#include "neura/backend/cuda/runtime/scratch.h"
#include "neura/backend/kernels/matmul.h"

namespace neura::cuda {

const matmul_kernels* matmul();

namespace {

using std::int64_t;

constexpr int64_t kMostColumns = int64_t{1} << 28;

// A tensor that is described here and stored elsewhere.
struct Matrix {
  Spec spec;
  View view;
  Matrix(char* data, DType d, Device device, std::initializer_list<int64_t> sizes) {
    spec = Spec::dense(d, {sizes.begin(), sizes.size()}, device);
    view = {data, &spec};
  }
  Matrix(const Matrix&) = delete;
  Matrix& strided(std::initializer_list<int64_t> strides) {
    std::copy(strides.begin(), strides.end(), spec.strides);
    return spec.finish(), *this;
  }
};

class Products {
 public:
  Products(Context& c, DType d, const ConvShape& s, const ConvData& data, Conjugated conj)
      : c_(c),
        s_(s),
        data_(data),
        conj_(conj),
        index_(c.device.index),
        dtype_(d),
        computed_(accumulation(d)),
        scratch_(index_, current_stream(index_)) {
    const int64_t image = s.channels * s.kernel_size() * s.out_size() * size_of(computed_);
    most_ = std::clamp<int64_t>(kMostColumns / std::max<int64_t>(1, image), 1, s.n);
  }

  Failed forward() {
    char *filter, *bias = nullptr, *columns, *result;
    if (Failed f = converted(data_.filter, s_.filters * s_.patch(), &filter)) return f;
    if (data_.bias)
      if (Failed f = converted(data_.bias, s_.filters, &bias)) return f;
    if (Failed f = take(most_ * image_columns(), &columns)) return f;
    if (Failed f = room(most_ * s_.filters * s_.out_size(), &result)) return f;
    const int64_t g = s_.groups, filters = s_.group_filters(), out = s_.out_size();
    const Matrix w(filter, computed_, c_.device, {g, filters, s_.patch()});
    const Matrix b(bias, computed_, c_.device, {1, g, filters, 1});
    return each_part([&](int64_t first, const ConvShape& part) -> Failed {
      if (Failed f = patches(first, part, columns, {image_columns(), out})) return f;
      char* const y = data_.result + first * s_.filters * out * size_of(dtype_);
      const Matrix x(columns, computed_, c_.device, {part.n, g, s_.patch(), out});
      const Matrix to(result ? result : y, computed_, c_.device, {part.n, g, filters, out});
      multiply(w.view, x.view, bias ? b.view : View(), to.view, {.conj_a = conj_.second, .conj_b = conj_.first});
      return result ? assign(Matrix(y, dtype_, c_.device, {part.n, g, filters, out}).view, to.view) : nullptr;
    });
  }

  Failed input_gradient() {
    char *filter, *columns, *gradient, *image;
    if (Failed f = converted(data_.filter, s_.filters * s_.patch(), &filter)) return f;
    if (Failed f = take(most_ * image_columns(), &columns)) return f;
    if (Failed f = room(most_ * s_.filters * s_.out_size(), &gradient)) return f;
    if (Failed f = room(most_ * s_.channels * s_.in_size(), &image)) return f;
    const int64_t g = s_.groups, filters = s_.group_filters(), out = s_.out_size();
    Matrix w(filter, computed_, c_.device, {g, s_.patch(), filters});
    w.strided({filters * s_.patch(), 1, s_.patch()});
    return each_part([&](int64_t first, const ConvShape& part) -> Failed {
      const Matrix from(data_.result + first * s_.filters * out * size_of(dtype_), dtype_, c_.device,
                        {part.n, g, filters, out});
      const Matrix wide(gradient, computed_, c_.device, {part.n, g, filters, out});
      if (gradient)
        if (Failed f = assign(wide.view, from.view)) return f;
      const Matrix to(columns, computed_, c_.device, {part.n, g, s_.patch(), out});
      multiply(w.view, gradient ? wide.view : from.view, View(), to.view,
               {.conj_a = conj_.second, .conj_b = conj_.first});
      char* const x = data_.image + first * s_.channels * s_.in_size() * size_of(dtype_);
      if (Failed f = add_patches(index_, part, computed_, columns, image ? image : x)) return f;
      if (!image) return nullptr;
      const int64_t n = part.n * s_.channels * s_.in_size();
      return assign(Matrix(x, dtype_, c_.device, {n}).view, Matrix(image, computed_, c_.device, {n}).view);
    });
  }

  // The images of a part are adjacent, so that one product sums over all of them.
  Failed weight_gradient() {
    char *columns, *gradient, *filter;
    const int64_t g = s_.groups, filters = s_.group_filters(), out = s_.out_size(), size = s_.filters * s_.patch();
    if (Failed f = take(most_ * image_columns(), &columns)) return f;
    if (Failed f = take(most_ * s_.filters * out, &gradient)) return f;
    if (Failed f = room(size, &filter)) return f;
    const Matrix to(filter ? filter : data_.filter, computed_, c_.device, {g, filters, s_.patch()});
    Failed f = each_part([&](int64_t first, const ConvShape& part) -> Failed {
      const int64_t line = part.n * out;
      if (Failed e = patches(first, part, columns, {out, line})) return e;
      Matrix from(data_.result + first * s_.filters * out * size_of(dtype_), dtype_, c_.device,
                  {s_.filters, part.n, out});
      from.strided({out, s_.filters * out, 1});
      if (Failed e = assign(Matrix(gradient, computed_, c_.device, {s_.filters, part.n, out}).view, from.view))
        return e;
      const Matrix a(gradient, computed_, c_.device, {g, filters, line});
      Matrix b(columns, computed_, c_.device, {g, line, s_.patch()});
      b.strided({s_.patch() * line, 1, line});
      multiply(a.view, b.view, first ? to.view : View(), to.view, {.conj_a = conj_.second, .conj_b = conj_.first});
      return nullptr;
    });
    if (f || !filter) return f;
    return assign(Matrix(data_.filter, dtype_, c_.device, {g, filters, s_.patch()}).view, to.view);
  }

 private:
  int64_t image_columns() const { return s_.channels * s_.kernel_size() * s_.out_size(); }
  Failed take(int64_t elements, char** to) {
    return scratch_.take(std::size_t(elements) * std::size_t(size_of(computed_)), to);
  }
  // Where a result or an operand is computed: null if in place.
  Failed room(int64_t elements, char** to) { return *to = nullptr, computed_ == dtype_ ? nullptr : take(elements, to); }
  Failed converted(char* from, int64_t elements, char** to) {
    *to = from;
    if (computed_ == dtype_) return nullptr;
    if (Failed f = take(elements, to)) return f;
    return assign(Matrix(*to, computed_, c_.device, {elements}).view, Matrix(from, dtype_, c_.device, {elements}).view);
  }
  // f(first image, the shape with those of a part)
  template <class F> Failed each_part(F f) {
    for (int64_t first = 0; first < s_.n; first += most_) {
      ConvShape part = s_;
      part.n = std::min(most_, s_.n - first);
      if (Failed e = f(first, part)) return e;
      if (c_.failure) return nullptr;
    }
    return nullptr;
  }
  Failed patches(int64_t first, const ConvShape& part, char* columns, PatchLayout layout) {
    const int64_t size = s_.channels * s_.in_size();
    const char* x = data_.image + first * size * size_of(dtype_);
    if (computed_ != dtype_) {
      if (!image_)
        if (Failed f = take(most_ * size, &image_)) return f;
      const int64_t n = part.n * size;
      if (Failed f = assign(Matrix(image_, computed_, c_.device, {n}).view,
                            Matrix(const_cast<char*>(x), dtype_, c_.device, {n}).view))
        return f;
      x = image_;
    }
    return take_patches(index_, part, x, columns, size_of(computed_), layout);
  }
  void multiply(View a, View b, View init, View y, const Product& p) { matmul()->matmul(c_, a, b, init, y, p); }

  Context& c_;
  const ConvShape& s_;
  const ConvData& data_;
  const Conjugated conj_;
  const int index_;
  const DType dtype_, computed_;
  Scratch scratch_;
  int64_t most_;  // images of a part
  char* image_ = nullptr;
};

}  // namespace

void convolve_by_products(Convolve what, Context& c, DType dtype, const ConvShape& s, const ConvData& data,
                          Conjugated conj) {
  Products p(c, dtype, s, data, conj);
  if (what == Convolve::forward) c.fail(p.forward());
  else if (what == Convolve::input_gradient) c.fail(p.input_gradient());
  else c.fail(p.weight_gradient());
}

}  // namespace neura::cuda
