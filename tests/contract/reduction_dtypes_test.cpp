// Every reduction and scan meets every dtype, as its input's and as its `dtype`, forward and backward: it is right, or
// it refuses in its own name. A kernel is never asked for a dtype that it was not compiled for.
#include <gtest/gtest.h>

#include <functional>
#include <optional>

#include "neura/neura.h"

namespace neura {
namespace {

using Dtype = std::optional<DType>;
struct Folded {
  const char* name;
  bool takes_dtype;
  std::function<Tensor(const Tensor&, Dtype)> call;
};

#define WITH_DTYPE(f)                                                      \
  {                                                                        \
#f, true, [](const Tensor& x, Dtype d) { return f(x, {1}, false, d); } \
  }
#define SCAN(f)                                                   \
  {                                                               \
#f, true, [](const Tensor& x, Dtype d) { return f(x, 1, d); } \
  }
#define PLAIN(f, ...)                                             \
  {                                                               \
#f, false, [](const Tensor& x, Dtype) { return __VA_ARGS__; } \
  }
const Folded kAll[] = {
    WITH_DTYPE(sum),
    WITH_DTYPE(nansum),
    WITH_DTYPE(mean),
    WITH_DTYPE(nanmean),
    WITH_DTYPE(prod),
    SCAN(cumsum),
    SCAN(cumprod),
    SCAN(softmax),
    SCAN(log_softmax),
    {"norm", true, [](const Tensor& x, Dtype d) { return norm(x, 2, {1}, false, d); }},
    {"norm", true, [](const Tensor& x, Dtype d) { return norm(x, 3.5, {1}, false, d); }},
    {"norm", true, [](const Tensor& x, Dtype d) { return norm(x, 0, {1}, false, d); }},
    {"norm", true, [](const Tensor& x, Dtype d) { return norm(x, HUGE_VAL, {1}, false, d); }},
    PLAIN(amax, amax(x, {1})),
    PLAIN(amin, amin(x, {1})),
    PLAIN(max, max(x, 1).values),
    PLAIN(min, min(x, 1).values),
    PLAIN(argmax, argmax(x, 1)),
    PLAIN(argmin, argmin(x, 1)),
    PLAIN(any, any(x, {1})),
    PLAIN(all, all(x, {1})),
    PLAIN(count_nonzero, count_nonzero(x, {1})),
    PLAIN(var, var(x, {1})),
    PLAIN(std, std(x, {1})),
    PLAIN(logsumexp, logsumexp(x, {1})),
    PLAIN(cummax, cummax(x, 1).values),
    PLAIN(cummin, cummin(x, 1).values),
    PLAIN(logcumsumexp, logcumsumexp(x, 1)),
    PLAIN(median, median(x, 1).values),
    PLAIN(kthvalue, kthvalue(x, 2, 1).values),
    PLAIN(sort, sort(x, 1).values),
    PLAIN(topk, topk(x, 2, 1).values),
    PLAIN(mode, mode(x, 1).values),
};
#undef WITH_DTYPE
#undef SCAN
#undef PLAIN

double tolerance(DType d) {
  return bit(d) & dtypes::halves ? 0.05 : is_integral(d) ? 0 : size_of(to_real(d)) == 4 ? 1e-5 : 1e-12;
}
// Largest distance of a from b, relative to what is above 1.
double distance(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape()) return HUGE_VAL;
  const Tensor x = a.detach().to(DType::complex128), y = b.detach().to(DType::complex128);
  return amax(abs(x - y) / clamp(abs(y), {.min = 1})).item<double>();
}
std::string text_of(const Folded& f, DType input, Dtype dtype) {
  return std::string(f.name) + " of " + name(input) + (dtype ? std::string(" with dtype ") + name(*dtype) : "");
}

// The same in double: the numbers are small and whole, so that every conversion keeps them.
struct Answer {
  Tensor value, gradient;
};
Answer answer(const Folded& f, const Tensor& x, Dtype dtype) {
  Answer a;
  Tensor leaf = x.detach();
  if (differentiable(x.dtype())) leaf.requires_grad_();
  a.value = f.call(leaf, dtype);
  if (!a.value.requires_grad()) return a;
  const Tensor weight = tensor(std::vector<double>{1, 2, 3, 4, 5, 6}, {.dtype = DType::float64});
  const Tensor flat = reshape(a.value, {-1}), part = weight.slice(0, 0, flat.numel()).to(to_real(flat.dtype()));
  sum(real(flat * part)).backward();
  a.gradient = leaf.grad();
  return a;
}

void expect_right(const Folded& f, const Tensor& values, DType input, Dtype dtype, int& answered) {
  SCOPED_TRACE(text_of(f, input, dtype));
  const Tensor x = values.to(input);
  Answer got;
  try {
    got = answer(f, x, dtype);
  } catch (const Error& e) {
    EXPECT_EQ(std::string(e.what()).find(f.name), 0u) << e.what();
    return;
  }
  ++answered;
  const Tensor wide = (dtype && !is_complex(input) && !is_complex(*dtype) ? x.to(*dtype) : x).to(DType::float64);
  const Answer right = answer(f, wide, {});
  const double tolerated = std::max(tolerance(got.value.dtype()), tolerance(input));
  EXPECT_LE(distance(got.value, right.value.to(got.value.dtype())), tolerated) << got.value.str();
  if (got.gradient && !(dtype && is_integral(*dtype))) {
    EXPECT_LE(distance(got.gradient, right.gradient), tolerated) << got.gradient.str();
  }
}

TEST(ReductionDtypes, EveryPairIsRightOrRefusedByName) {
  int answered = 0;
  for (const std::vector<double>& numbers : {std::vector<double>{1, 2, 3, 2, 4, 1}, {3, 0, 2, 0, 1, 0}}) {
    const Tensor values = reshape(tensor(numbers, {.dtype = DType::float64}), {2, 3});
    for (const Folded& f : kAll)
      for (int input = 0; input < kDTypes; ++input) {
        expect_right(f, values, DType(input), {}, answered);
        for (int d = 0; f.takes_dtype && d < kDTypes; ++d) expect_right(f, values, DType(input), DType(d), answered);
      }
  }
  EXPECT_GT(answered, 2000);
}

TEST(ReductionDtypes, ReductionsWithoutNanRefuseComplexNumbers) {
  for (auto f : {&nansum, &nanmean})
    for (const DType d : {DType::complex64, DType::complex128}) {
      EXPECT_THROW(f(ones({3}), {}, false, d), DTypeError);
      EXPECT_THROW(f(ones({3}, {.dtype = d}), {}, false, {}), DTypeError);
    }
}

}  // namespace
}  // namespace neura
