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

template <class T> struct ProductBatch {  // y = alpha * a b + beta * init
  int rank = 0;                           // of the batch
  std::int64_t batch[kMaxRank], m, n, k;
  MatrixBatch<const T> a, b, init;
  MatrixBatch<T> y;  // columns are consecutive
  T alpha = 1, beta = 1;

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

// Of float and double, by packed products; of the integers, which wrap around, by plain loops.
template <class T> void multiply(Context&, ProductBatch<T>);
template <class T> void multiply_integers(Context&, const ProductBatch<T>&);

}  // namespace neura
