// A batch of products of one element type: what the dtypes of the matmul kernels become.
#pragma once
#include "neura/backend/context.h"
#include "neura/backend/view.h"
#include "neura/core/parallel.h"

namespace neura {

template <class T> struct MatrixBatch {  // [batch.., rows, columns]; stride 0 where it broadcasts
  T* data = nullptr;
  std::int64_t batch[kMaxRank] = {}, row = 0, column = 0;
};

// The matrices of a view in a result of `rank` dimensions.
template <class T> MatrixBatch<T> matrices(T* data, const Spec& s, int rank) {
  MatrixBatch<T> x;
  x.data = data;
  const auto stride = [&](int d) {  // d of the result
    const int own = d - (rank - s.rank);
    return own < 0 || s.shape[own] == 1 ? 0 : s.strides[own];
  };
  for (int d = 0; d < rank - 2; ++d) x.batch[d] = stride(d);
  x.row = stride(rank - 2), x.column = stride(rank - 1);
  return x;
}

struct BatchSizes {
  int rank = 0;
  std::int64_t batch[kMaxRank];

  std::int64_t count() const {
    std::int64_t c = 1;
    for (int d = 0; d < rank; ++d) c *= batch[d];
    return c;
  }
  // Where matrix i of the batch begins.
  template <class U> U* at(const MatrixBatch<U>& x, std::int64_t i) const {
    U* p = x.data;
    for (int d = rank - 1; d >= 0; --d) p += i % batch[d] * x.batch[d], i /= batch[d];
    return p;
  }
};

template <class T> struct ProductBatch : BatchSizes {  // y = alpha * a b + beta * init
  std::int64_t m, n, k;
  MatrixBatch<const T> a, b, init;
  MatrixBatch<T> y;  // columns are consecutive
  T alpha = 1, beta = 1;
};

// float and double are multiplied by packed products; integers, which wrap around, by plain loops.
template <class T> void multiply(Context&, ProductBatch<T>);
// Of a and b that point to bfloat16, whose strides and k they count. False, and nothing is done, where floats are as
// good: of small, narrow or many products, and where the processor has no instruction for it.
bool multiply_bfloat16(Context&, ProductBatch<float>);
template <class T> void multiply_integers(Context&, const ProductBatch<T>&);

}  // namespace neura
