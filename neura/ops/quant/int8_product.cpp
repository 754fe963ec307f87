#include "neura/ops/quant/int8_product.h"

#include <string>

#include "neura/backend/kernels/quant.h"
#include "neura/core/error_details.h"
#include "neura/op/apply.h"
#include "neura/op/pointwise/rows.h"
#include "neura/op/registry.h"
#include "neura/ops/create/create.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/product/matmul.h"

namespace neura {
namespace {

bool is_byte(DType d) { return d == DType::int8 || d == DType::uint8; }
void check_bytes(const char* op, const Spec& x) {
  check<UnsupportedDTypeError>(is_byte(x.dtype), [&] {
    return std::string(op) + ": expected int8 or uint8, got " + x.str() + "; see neura.quantize_affine";
  });
}

struct IntegerMatmul {
  NEURA_OPERANDS(input, other, packed)
  static constexpr Operation op = operation("integer_matmul").optional(in(In::packed));
  NEURA_FIELDS()
  void infer(const Spec& a, const Spec& b, const Spec& packed, Spec& y) const {
    check_bytes(op.name, a), check_bytes(op.name, b);
    check<ShapeError>(a.rank >= 2 && b.rank >= 2 && a.shape[a.rank - 1] == b.shape[b.rank - 2], [&] {
      return std::string(op.name) + ": expected as many columns as rows, got " + a.str() + " and " + b.str();
    });
    Shape shape =
        broadcast_shapes(op.name, Shape(a.shape, std::size_t(a.rank - 2)), Shape(b.shape, std::size_t(b.rank - 2)));
    shape.push_back(a.shape[a.rank - 2]), shape.push_back(b.shape[b.rank - 1]);
    y = Spec::dense(DType::int32, shape, a.device);
    if (packed.rank == kAbsent) return;
    const bool fits = packed.dtype == DType::uint8 && packed.rank == 1 && packed.contiguous && b.rank == 2 &&
                      b.dtype == DType::int8 && packed.numel == packed_bytes(b.shape[0], b.shape[1]);
    check<ShapeError>(fits, [&] {
      return std::string(op.name) + ": expected packed to be integer_pack of an int8 matrix, got " + packed.str() +
             " for " + b.str();
    });
  }
  bool accepts(const Backend& backend, const Spec&, const Spec&, const Spec&) const {
    return backend.quant->integer_product.fn;
  }
  void run(Context& c, View a, View b, View packed, View y) const {
    c.backend.quant->integer_product(c, a, b, packed, y);
  }
  // Sums of float64 are exact, and int64 wraps around to int32.
  Tensor define(const Tensor& a, const Tensor& b, const Tensor&) const {
    return matmul(a.to(DType::float64), b.to(DType::float64)).to(DType::int64).to(DType::int32);
  }
};

struct IntegerPack {
  static constexpr Operation op = operation("integer_pack");
  NEURA_FIELDS()
  void infer(const Spec& b, Spec& packed) const {
    check<UnsupportedDTypeError>(b.dtype == DType::int8, [&] {
      return std::string(op.name) + ": expected int8, got " + b.str() + "; see neura.quantize_affine";
    });
    check<ShapeError>(b.rank == 2, [&] { return std::string(op.name) + ": expected a matrix, got " + b.str(); });
    packed = Spec::dense(DType::uint8, Shape{packed_bytes(b.shape[0], b.shape[1])}, b.device);
  }
  bool accepts(const Backend& backend, const Spec&) const { return backend.quant->integer_pack.fn; }
  void run(Context& c, View b, View packed) const { c.backend.quant->integer_pack(c, b, packed); }
  // The definition does not read the packed operand, whose layout only the kernel knows.
  Tensor define(const Tensor& b) const {
    return zeros({packed_bytes(b.size(0), b.size(1))}, {.dtype = DType::uint8, .device = b.device()});
  }
};

}  // namespace

Tensor integer_matmul(const Tensor& input, const Tensor& other, const Tensor& packed) {
  return apply(IntegerMatmul{}, input, other, packed ? Operand(packed) : Operand());
}
Tensor integer_pack(const Tensor& other) { return apply(IntegerPack{}, other); }
Tensor _int_mm(const Tensor& input, const Tensor& mat2) {
  check<ShapeError>(input.dim() == 2 && mat2.dim() == 2, [&] {
    return "_int_mm: expected matrices, got " + input.spec().str() + " and " + mat2.spec().str() +
           "; see neura.integer_matmul";
  });
  return integer_matmul(input, mat2);
}

}  // namespace neura

NEURA_DEFINE_OPERATION(integer_matmul, IntegerMatmul);
NEURA_DEFINE_OPERATION(integer_pack, IntegerPack);
