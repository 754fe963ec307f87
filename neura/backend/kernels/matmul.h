// Matrix products, recurrent layers (built on them), sparse and 8-bit integer products.
#pragma once
#include <complex>

#include "neura/backend/backend.h"

namespace neura {

struct Product {
  std::complex<double> alpha = 1, beta = 1;
  bool conj_a = false, conj_b = false;  // of complex operands
};

enum class RecurrentCell : unsigned char { tanh, relu, gru, lstm };
constexpr int gates_of(RecurrentCell c) { return c == RecurrentCell::lstm ? 4 : c == RecurrentCell::gru ? 3 : 1; }
// What a step keeps for its gradient: gru r, z, n and what h gives to n; lstm i, f, g, o and c.
constexpr int kept_of(RecurrentCell c) { return c == RecurrentCell::lstm ? 5 : c == RecurrentCell::gru ? 4 : 0; }
// One layer in one direction. Rows are those of one time after the other; shorter sequences end first.
struct RecurrentShape {
  RecurrentCell cell;
  bool reverse;  // from the last time to the first
  std::int64_t times;
  const std::int64_t* sizes;  // rows of each time, descending from the batch; null: all have the batch's
};

// Numbers as integers: q = round(x / scale) + zero, to the nearest even one, within [low, high]. A NaN becomes `low`.
// One scale and zero for all, or along `axis` one for each place.
struct Quantization {
  std::int64_t low = -128, high = 127;
  int axis = -1;  // none
};
// Bytes of a packed [k, n] matrix: panels of 16 columns, with k filled up to fours, and the sum of each column.
constexpr std::int64_t packed_bytes(std::int64_t k, std::int64_t n) {
  return (n + 15) / 16 * 16 * ((k + 3) / 4 * 4 + std::int64_t(sizeof(std::int32_t)));
}

struct matmul_kernels {
  // y = alpha * a b + beta * init. y is contiguous, [batch.., m, n]; a [.., m, k] and b [.., k, n] broadcast to its
  // batch, init (which may be absent) to all of it. All of one numeric dtype.
  NEURA_KERNEL(matmul, matmul, void(Context&, View a, View b, View init, View y, const Product&));

  // One recurrent layer. Null where a back end has no such kernel: the operation composes the steps.
  // x [rows, gates * hidden] is what the input gives to the gates, in torch's order, with biases (gru: bias b apart, of
  // what h gives; else b is absent). h0, and c0 of an lstm, [batch, hidden]; w [gates * hidden, hidden]. y [rows,
  // hidden]; last [1 (lstm: 2), batch, hidden]: h and c after each sequence. kept [kept_of(cell), rows, hidden], of the
  // accumulating dtype: absent where no gradient follows. All contiguous, of one floating dtype.
  NEURA_KERNEL(matmul, recurrence,
               void(Context&, View x, View h0, View c0, View w, View b, const RecurrentShape&, View y, View last,
                    View kept));
  // gy and glast may be absent. gx like x; gh like x for a gru alone, whose gates get another gradient from h; gfirst
  // like last.
  NEURA_KERNEL(matmul, recurrence_backward,
               void(Context&, View gy, View glast, View h0, View c0, View w, View y, View kept, const RecurrentShape&,
                    View gx, View gh, View gfirst));

  // Null where a back end has none: the operations' definitions run. A matrix of which row i stores the columns from
  // starts[i] to below starts[i + 1]. float32 and float64, contiguous; a column outside of b is reported by fail_index.
  // values [stored], b [k, n], y [rows, n]: the product.
  NEURA_KERNEL(matmul, sparse_product, void(Context&, View starts, View columns, View values, View b, View y));
  // a [rows, k], b [columns, k], y [stored]: row i of a times row j of b for each stored (i, j).
  NEURA_KERNEL(matmul, sparse_sample, void(Context&, View starts, View columns, View a, View b, View y));

  // Null where a back end has none: the operations' definitions run.
  // y = a b, exactly (modulo 2^32). y is int32, contiguous, [batch.., m, n]; a [.., m, k] and b [.., k, n] are of int8
  // or uint8 each, of any strides, and broadcast to its batch. packed: absent, or of an int8 b [k, n] by integer_pack.
  NEURA_KERNEL(matmul, integer_product, void(Context&, View a, View b, View packed, View y));
  NEURA_KERNEL(matmul, integer_pack, void(Context&, View b, View packed));  // packed: uint8 [packed_bytes(k, n)]
  // All of these are contiguous; scale is float32, zero int32, each of one number or [x.size(axis)].
  // y = (q - zero) scale of float32 x; with g the gradient instead: g where q needed no clamp, 0 elsewhere.
  NEURA_KERNEL(matmul, fake_quantize,
               void(Context&, View g, View x, View scale, View zero, const Quantization&, View y));
  // float32 x to q, which is int8 or uint8.
  NEURA_KERNEL(matmul, quantize, void(Context&, View x, View scale, View zero, const Quantization&, View q));
  // int32 sums to q = round(float32(sums) * scale) + zero: one product of float32, one rounding.
  NEURA_KERNEL(matmul, requantize, void(Context&, View sums, View scale, View zero, const Quantization&, View q));
  // float32 y = float32(q - zero) * scale of int8, uint8 or int32.
  NEURA_KERNEL(matmul, dequantize, void(Context&, View q, View scale, View zero, const Quantization&, View y));
};

}  // namespace neura
