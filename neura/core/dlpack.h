// Dtypes as DLPack numbers them.
#pragma once
#include <cstdint>

#include "neura/core/dtype.h"

namespace neura {

struct DlpackCode {
  DType dtype;
  std::uint8_t code, bits;
};
inline constexpr DlpackCode kDlpackCodes[] = {
    {DType::int8, 0, 8},         {DType::int16, 0, 16},       {DType::int32, 0, 32},       {DType::int64, 0, 64},
    {DType::uint8, 1, 8},        {DType::float16, 2, 16},     {DType::float32, 2, 32},     {DType::float64, 2, 64},
    {DType::bfloat16, 4, 16},    {DType::complex64, 5, 64},   {DType::complex128, 5, 128}, {DType::boolean, 6, 8},
    {DType::float8_e4m3, 10, 8}, {DType::float8_e5m2, 12, 8}, {DType::uint16, 1, 16},      {DType::uint32, 1, 32},
    {DType::uint64, 1, 64}};
static_assert(sizeof(kDlpackCodes) / sizeof(DlpackCode) == kDTypes);

constexpr const DlpackCode& dlpack_code(DType d) {
  const DlpackCode* c = kDlpackCodes;
  while (c->dtype != d) ++c;
  return *c;
}
// Null where tensors have no such dtype.
constexpr const DlpackCode* dlpack_code(std::uint8_t code, std::uint8_t bits, std::uint16_t lanes) {
  for (const DlpackCode& c : kDlpackCodes)
    if (c.code == code && c.bits == bits && lanes == 1) return &c;
  return nullptr;
}

}  // namespace neura
