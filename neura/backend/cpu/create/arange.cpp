// arange and linspace: each element from its index alone.
#include <complex>
#include <type_traits>

#include "neura/backend/cpu/create/arange.h"
#include "neura/core/parallel.h"
#include "neura/core/scalar.h"

namespace neura {
namespace {

// out[i] = value(i), where value gives int64, double or complex<double>.
template <class F> void generate(const View& out, const F& value) {
  const auto loop = [&]<class T>(T* p) {
    parallel_for(out.numel(), kSerial, [&](std::int64_t b, std::int64_t e) {
      for (std::int64_t i = b; i < e; ++i) {
        if constexpr (std::is_same_v<T, char> || !std::is_arithmetic_v<decltype(value(i))>) {
          Scalar(value(i)).store(out.dtype(), reinterpret_cast<char*>(p) + i * size_of(out.dtype()));
        } else {
          p[i] = T(value(i));
        }
      }
    });
  };
  switch (out.dtype()) {
    case DType::int32:
      return loop(out.as<std::int32_t>());
    case DType::int64:
      return loop(out.as<std::int64_t>());
    case DType::float32:
      return loop(out.as<float>());
    case DType::float64:
      return loop(out.as<double>());
    default:
      return loop(out.data);
  }
}

template <class N> void from_both_ends(const View& out, std::int64_t back, N start, N end, N step) {
  const std::int64_t last = out.numel() - 1;
  generate(out,
           [=](std::int64_t i) { return i < back ? start + step * N(double(i)) : end - step * N(double(last - i)); });
}

}  // namespace

void arange(Context&, const EvenlySpaced& p, View out) {
  const auto number = [](const double* parts) { return std::complex<double>(parts[0], parts[1]); };
  if (p.kind == EvenlySpaced::integers)
    generate(out, [&](std::int64_t i) {
      return std::int64_t(std::uint64_t(p.first) + std::uint64_t(p.by) * std::uint64_t(i));
    });
  else if (p.kind == EvenlySpaced::reals) from_both_ends(out, p.back, p.start[0], p.end[0], p.step[0]);
  else from_both_ends(out, p.back, number(p.start), number(p.end), number(p.step));
}

}  // namespace neura
