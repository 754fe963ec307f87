#include "tests/contract/row_case.h"

#include <cmath>
#include <cstring>
#include <iostream>

#include "neura/autograd/autograd.h"
#include "neura/backend/cpu/instruction_sets.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "tests/support/loop.h"
#include "tests/support/sample.h"
#include "tests/tables/test_only.h"

namespace neura {
#define FAMILY(name) const void* cpu_rows_##name();
#include "neura/tables/without_formulas.h"

namespace test {
namespace {

long counted = 0;

struct Total : ::testing::Environment {
  void TearDown() override {
    if (counted) std::cout << "contract: " << counted << " cases over " << all_rows().size() + 3 << " rows\n";
  }
};
[[maybe_unused]] ::testing::Environment* const total = ::testing::AddGlobalTestEnvironment(new Total);

// Attributes that show more than the defaults do.
const struct {
  const char* name;
  double attributes[4];
} kAttributes[] = {
    {"leaky_relu", {0.25}}, {"elu", {1.5}},
    {"celu", {0.5}},        {"softplus", {2, 3}},
    {"hardtanh", {0, 2}},   {"hardshrink", {0.25}},
    {"softshrink", {1}},    {"threshold", {1, 3}},
    {"clamp", {0, 2}},      {"polygamma", {1}},
    {"polygamma", {2}},     {"round_decimals", {100, 1}},
    {"logit", {0.125}},     {"nan_to_num", {1, 2, 3}},
    {"addcmul", {3}},       {"addcdiv", {0.5}},
};

// Where a row is at home: the range of each operand. The default is (-3, 3).
const struct Home {
  const char* name;
  double range[3][2];
} kHomes[] = {
    {"acosh", {{1.1, 4}}},
    {"acos", {{-0.9, 0.9}}},
    {"asin", {{-0.9, 0.9}}},
    {"atanh", {{-0.9, 0.9}}},
    {"erfinv", {{-0.9, 0.9}}},
    {"log", {{0.1, 4}}},
    {"log2", {{0.1, 4}}},
    {"log10", {{0.1, 4}}},
    {"log1p", {{-0.8, 3}}},
    {"sqrt", {{0.1, 4}}},
    {"rsqrt", {{0.1, 4}}},
    {"logit", {{0.1, 0.9}}},
    {"ndtri", {{0.1, 0.9}}},
    {"entr", {{0.1, 3}}},
    {"digamma", {{0.3, 4}}},
    {"lgamma", {{0.3, 4}}},
    {"polygamma", {{0.3, 4}}},
    {"zeta", {{1.5, 4}, {0.5, 4}}},
    {"igamma", {{0.3, 4}, {0.3, 4}}},
    {"igammac", {{0.3, 4}, {0.3, 4}}},
    {"pow", {{0.2, 3}, {0, 4}}},
    {"xlogy", {{-3, 3}, {0.2, 4}}},
    {"xlog1py", {{-3, 3}, {-0.8, 4}}},
    {"bessel_y0", {{0.1, 4}}},
    {"bessel_y1", {{0.1, 4}}},
    {"modified_bessel_k0", {{0.1, 4}}},
    {"modified_bessel_k1", {{0.1, 4}}},
    {"scaled_modified_bessel_k0", {{0.1, 4}}},
    {"scaled_modified_bessel_k1", {{0.1, 4}}},
    {"bitwise_left_shift", {{-9, 9}, {0, 6}}},
    {"bitwise_right_shift", {{-9, 9}, {0, 6}}},
    {"div", {{-3, 3}, {0.5, 3}}},
    {"div_trunc", {{-9, 9}, {1, 5}}},
    {"div_floor", {{-9, 9}, {1, 5}}},
    {"floor_divide", {{-9, 9}, {1, 5}}},
    {"fmod", {{-9, 9}, {1, 5}}},
    {"remainder", {{-9, 9}, {1, 5}}},
    {"gcd", {{-20, 20}, {-20, 20}}},
    {"lcm", {{-9, 9}, {-9, 9}}},
    {"addcdiv", {{-3, 3}, {-3, 3}, {0.5, 3}}},
};
bool of_degree(const Row& row) { return std::strstr(row.name, "_polynomial_") != nullptr; }

Sample home(const Row& row, int operand, bool anywhere) {
  if (of_degree(row) && operand == 1) return {.low = 0, .high = 6};
  if (!anywhere)
    for (const Home& h : kHomes)
      if (!std::strcmp(h.name, row.name)) return {.low = h.range[operand][0], .high = h.range[operand][1]};
  return {.low = -3, .high = 3};
}

RowKernel plain_kernel(const Row& row) {
  if (row.family == Family::count) return row.kernel(cpu_backend());
  (void)cpu_backend();  // made for the best instruction set before the choice is narrowed
  use_cpu_target(cpu_targets() - 1);
  const void* tables[] = {
#define FAMILY(name) cpu_rows_##name(),
#include "neura/tables/without_formulas.h"
  };
  use_cpu_target(-1);
  return *static_cast<const RowKernel* const*>(tables[int(row.family)])[row.slot];
}

}  // namespace

void count_case() { ++counted; }

std::ostream& operator<<(std::ostream& s, const RowCase& c) { return s << c.name; }

const std::vector<RowCase>& row_cases() {
  static const std::vector<RowCase> cases = [] {
    std::vector<RowCase> all;
    std::vector<const Row*> every(all_rows().begin(), all_rows().end());
    every.insert(every.end(), {&rows::cube, &rows::scaled_tanh, &rows::saxpy});
    for (const Row* row : every) {
      RowCase c{row, {}, row->name};
      std::copy(row->attributes.fallback, row->attributes.fallback + 4, c.attributes);
      all.push_back(c);
    }
    int number = 0;
    for (const auto& a : kAttributes) {
      const Row* row = find_row(a.name);
      NEURA_ASSERT(row);
      RowCase c{row, {}, row->name + std::string("_with_") + std::to_string(++number)};
      std::copy(a.attributes, a.attributes + 4, c.attributes);
      all.push_back(c);
    }
    return all;
  }();
  return cases;
}

std::vector<RowCase> differentiable_row_cases() {
  std::vector<RowCase> some;
  for (const RowCase& c : row_cases())
    if (c.row->differentiable) some.push_back(c);
  return some;
}

namespace {
Tensor& carry_out(const RowCase& c, Tensor& out, std::vector<Operand> in, Destination d) {
  Call made{c.row, c.row->attributes.count ? c.attributes : nullptr, in.data(), int(in.size()), &out, d};
  apply(made);
  return out;
}
}  // namespace

Tensor call(const RowCase& c, std::vector<Operand> in) {
  Tensor out;
  return carry_out(c, out, std::move(in), Destination::fresh);
}
Tensor call(const RowCase& c, const std::vector<Tensor>& in) {
  return call(c, std::vector<Operand>(in.begin(), in.end()));
}
Tensor& call_out(const RowCase& c, Tensor& out, const std::vector<Tensor>& in) {
  return carry_out(c, out, {in.begin(), in.end()}, Destination::out);
}
Tensor& call_in_place(const RowCase& c, Tensor& self, const std::vector<Tensor>& others) {
  std::vector<Operand> in = {self};
  in.insert(in.end(), others.begin(), others.end());
  return carry_out(c, self, std::move(in), Destination::in_place);
}

std::vector<Shape> equal_shapes(const RowCase& c, const Shape& shape) {
  return std::vector<Shape>(c.row->inputs, shape);
}
std::vector<Shape> broadcasting_shapes(const RowCase& c) {
  if (c.row->inputs == 1) return {{3, 4, 5}};
  if (c.row->inputs == 2) return {{3, 1, 5}, {4, 1}};
  return {{3, 1, 5}, {4, 1}, {5}};
}

std::vector<Tensor> operands(const RowCase& c, DType d, const std::vector<Shape>& shapes, std::uint64_t seed,
                             bool anywhere) {
  std::vector<Tensor> all;
  for (int i = 0; i < c.row->inputs; ++i) {
    Sample s = home(*c.row, i, anywhere && !is_integral(d));
    s.seed = seed * 31 + std::uint64_t(i);
    const bool condition = c.row->types.mask_first && i == 0;
    Tensor t = sample(shapes[std::size_t(i)], condition ? DType::boolean : d, s);
    // Degrees are whole numbers.
    if (of_degree(*c.row) && i == 1)
      t = from_loop(t.shape(), d, [&](const Shape& at) { return std::floor(scalar_at(t, at).real()); });
    all.push_back(t);
  }
  return all;
}

Tensor oracle(const RowCase& c, const std::vector<Tensor>& in) {
  const DType d = in[c.row->types.mask_first ? 1 : 0].dtype(), out = c.row->types.result(d);
  LineFn* const fn = plain_kernel(*c.row).value[int(d)];
  NEURA_ASSERT(fn);
  Shape shape = in[0].shape();
  for (const Tensor& t : in) shape = broadcast_shapes("oracle", shape, t.shape());
  const std::size_t n = std::size_t(shape.numel()), padded = (n + 127) / 128 * 128;
  std::vector<char> result(padded * 16);
  std::vector<std::vector<char>> lines;
  Line line{result.data(), {}, padded, c.attributes};
  for (std::size_t i = 0; i < in.size(); ++i) {
    const DType of = in[i].dtype();
    std::vector<char>& bytes = lines.emplace_back(padded * 16);
    std::size_t at = 0;
    for_each_index(shape, [&](const Shape& index) {
      scalar_at(in[i], index).store(of, bytes.data() + std::size_t(size_of(of)) * at++);
    });
    for (; at && at < padded; ++at)  // what lies after is computed too
      std::memcpy(bytes.data() + at * std::size_t(size_of(of)), bytes.data(), std::size_t(size_of(of)));
    line.in[i] = bytes.data();
  }
  if (n) fn(line);
  std::size_t at = 0;
  return from_loop(shape, out,
                   [&](const Shape&) { return Scalar::load(out, result.data() + std::size_t(size_of(out)) * at++); });
}

Tensor converted(const Tensor& t, DType d) {
  return from_loop(t.shape(), d, [&](const Shape& i) { return scalar_at(t, i); });
}

namespace {

using Complex = std::complex<double>;
std::vector<Complex> values(const Tensor& t) {
  std::vector<Complex> v;
  for_each_index(t.shape(), [&](const Shape& i) { v.push_back({scalar_at(t, i).real(), scalar_at(t, i).imag()}); });
  return v;
}

// Is the row finite there, with central differences that agree at three steps and are not steep?
bool smooth(const RowCase& c, const std::vector<Tensor>& in) {
  const std::vector<Complex> middle = values(oracle(c, in));
  for (std::size_t k = 0; k < in.size(); ++k) {
    if (in[k].dtype() == DType::boolean) continue;
    if (!c.row->slopes[k].exists) continue;
    for (const Complex direction : {Complex(1, 0), Complex(0, 1)}) {
      if (direction.imag() != 0 && !is_complex(in[k].dtype())) continue;
      std::vector<Complex> last;
      for (const double h : {1e-3, 1e-4, 1e-5}) {
        std::vector<Complex> side[2];
        for (int s = 0; s < 2; ++s) {
          std::vector<Tensor> moved = in;
          moved[k] = from_loop(in[k].shape(), in[k].dtype(), [&](const Shape& i) {
            const Scalar v = scalar_at(in[k], i);
            const Complex z = Complex(v.real(), v.imag()) + (s ? -h : h) * direction;
            return is_complex(in[k].dtype()) ? Scalar(z) : Scalar(z.real());
          });
          side[s] = values(oracle(c, moved));
        }
        for (std::size_t i = 0; i < middle.size(); ++i) {
          const Complex slope = (side[0][i] - side[1][i]) / (2 * h);
          const double bend = std::abs(side[0][i] - 2.0 * middle[i] + side[1][i]) / (h * h);
          if (!(std::abs(slope) < 200) || !(std::abs(middle[i]) < 1e4)) return false;
          if (h == 1e-3 && !(bend < 200)) return false;
          if (h != 1e-3 && !(std::abs(slope - last[i]) < 1e-4 * (1 + std::abs(slope)))) return false;
          if (h == 1e-3) last.push_back(slope);
          else last[i] = slope;
        }
      }
    }
  }
  return true;
}

}  // namespace

std::vector<Tensor> smooth_operands(const RowCase& c, DType d) {
  static const Shape shapes[3][3] = {{{2, 3}}, {{2, 1}, {3}}, {{2, 1}, {3}, {1}}};
  std::vector<Shape> of(shapes[c.row->inputs - 1], shapes[c.row->inputs - 1] + c.row->inputs);
  for (std::uint64_t seed = 1; seed < 120; ++seed) {
    std::vector<Tensor> in = operands(c, d, of, seed);
    for (Tensor& t : in)
      if (t.dtype() != DType::boolean)
        t = from_loop(t.shape(), d, [&](const Shape& i) {
          const Scalar v = scalar_at(t, i);
          const auto rounded = [](double x) {
            const float f = float(x);
            std::uint32_t bits;
            std::memcpy(&bits, &f, 4), bits &= 0xffff0000u;
            float back;
            std::memcpy(&back, &bits, 4);
            return double(back);
          };
          return is_complex(d) ? Scalar(Complex(rounded(v.real()), rounded(v.imag()))) : Scalar(rounded(v.real()));
        });
    if (smooth(c, in)) return in;
  }
  return {};
}

std::vector<Tensor> derived(std::vector<Tensor> roots, const std::vector<Tensor>& in, int order) {
  for (; order; --order) {
    std::vector<Tensor> some, seeds;
    for (const Tensor& t : roots)
      if (t && t.requires_grad()) some.push_back(t), seeds.push_back(ones_like(t));
    if (some.empty()) return {};
    roots = grad(some, in, seeds, {.create_graph = order > 1, .allow_unused = true});
  }
  return roots;
}

}  // namespace test
}  // namespace neura
