#include "neura/graph/fused.h"

#include <unordered_map>

#include "neura/backend/fused.h"
#include "neura/graph/fused_cuda.h"
#include "neura/op/registry.h"
#include "neura/op/struct_operations.h"

namespace neura::graph {

std::int64_t row_number(const Row& row) {  // FNV-1a
  std::uint64_t h = 0xcbf29ce484222325u;
  for (const char* c = row.name; *c; ++c) h = (h ^ static_cast<unsigned char>(*c)) * 0x100000001b3u;
  return std::int64_t(h >> 1);
}
const Row* row_of_number(std::int64_t number) {
  static const auto& known = *new std::unordered_map<std::int64_t, const Row*>([] {
    std::unordered_map<std::int64_t, const Row*> all;
    for (const Row* row : all_operations()) all.emplace(row_number(*row), row);
    return all;
  }());
  if (const auto found = known.find(number); found != known.end()) return found->second;
  for (const Row* row : all_operations())  // one that was registered since
    if (row_number(*row) == number) return row;
  return nullptr;
}

bool is_conversion(const Row& row) { return &row == &operations::to(); }
bool is_fused(const Row& row) {
  return &row == &row_of<Fused> || &row == &row_of<FusedOf<2>> || &row == &row_of<FusedOf<3>> ||
         &row == &row_of<FusedOf<4>>;
}

// From the innermost dimension outwards: some that repeat each element, some that lie one after another, and others
// that repeat all of these.
std::optional<Broadcast> broadcast_of(const Spec& s, std::span<const std::int64_t> size) {
  const int before = int(size.size()) - s.rank;
  if (before < 0) return {};
  Broadcast b{1, 1};
  bool varied = false, repeats = false;
  for (int d = int(size.size()); d-- > 0;) {
    const std::int64_t extent = size[std::size_t(d)], own = d < before ? 1 : s.shape[d - before];
    if (own != extent && own != 1) return {};
    if (extent == 1) continue;
    if (own == 1 || s.strides[d - before] == 0) {
      repeats = varied;
      if (!varied) b.repeat *= extent;
    } else if (repeats || s.strides[d - before] != b.count) {
      return {};
    } else {
      varied = true, b.count *= extent;
    }
  }
  return varied ? b : Broadcast{1, 1};
}

namespace {

const Row* row_of_call(const FusedCall& c) {
  const Row* row = row_of_number(c.row);
  return row && (row->kind == Row::pointwise || row->kind == Row::slope || is_conversion(*row)) ? row : nullptr;
}
bool may_be_unread(const Row& row, std::size_t i) {
  if (row.kind != Row::slope) return false;
  const Slope& s = row.of->slopes[row.operand];
  if (i == 0) return !s.reads_g;
  return !(i + 1 == row.inputs ? s.reads >> 8 & 1 : s.reads >> (i - 1) & 1);
}
bool is_dtype(DType d) { return unsigned(d) < unsigned(kDTypes); }

// Of call number i, whose operands are among so many slots.
void check_call(const FusedCall& c, std::size_t slots) {
  const auto need = [](bool ok, const char* what) {
    check<ValueError>(ok, [&] { return std::string("fused: expected ") + what; });
  };
  const Row* row = row_of_call(c);
  need(row, "pointwise operations of the registry, got another number");
  const Row& formulas = formulas_of(*row);
  need(c.in.size() == row->inputs && c.attributes.size() == std::size_t(formulas.attributes.count),
       "as many operands and attributes as the operation has, got others");
  for (std::size_t i = 0; i < c.in.size(); ++i)
    need(c.in[i] < std::int64_t(slots) && (c.in[i] >= 0 || (c.in[i] == -1 && may_be_unread(*row, i))),
         "operands made before, got a later one");
  const bool converts = is_conversion(*row);
  need(is_dtype(c.computed) && is_dtype(c.natural) && is_dtype(c.result) &&
           (converts || formulas.types.has_kernel(c.computed)),
       "a dtype that the operation is computed in, got another");
  if (row->kind == Row::slope) {
    const Slope& s = row->of->slopes[row->operand];
    return need(s.exists && !s.passes && is_floating(c.computed) && c.natural == c.computed,
                "slopes of real numbers that have a kernel, got another");
  }
  const bool real = !converts && row->types.makes_real() && is_complex(c.computed);
  need(c.natural == (row->types.result_type == ResultType::as_bool ? DType::boolean
                     : real                                        ? to_real(c.computed)
                                                                   : c.computed),
       "the dtype that the kernel writes, got another");
}

void check_operand(const Spec& s, const Shape& size) {
  if (s.device.is_cuda()) {
    bool fits = s.rank <= size.size();
    for (int d = 0; fits && d < s.rank; ++d) fits = s.shape[d] == 1 || s.shape[d] == size[d + size.size() - s.rank];
    check<ShapeError>(fits,
                      [&] { return "fused: expected operands that broadcast to " + size.str() + ", got " + s.str(); });
    return check<NotImplementedError>(!is_complex(s.dtype), [&] {
      return "fused: expected real numbers on cuda, got " + std::string(name(s.dtype));
    });
  }
  check<ShapeError>(broadcast_of(s, size).has_value(), [&] {
    return "fused: expected contiguous operands of " + size.str() + " or that broadcast to it in one way, got " +
           s.str();
  });
}

}  // namespace

void Fused::infer_all(std::span<const Spec* const> operands, std::span<Spec> y) const {
  check<ValueError>(!calls.empty() && !operands.empty(), [] { return "fused: expected calls and operands, got none"; });
  std::size_t slots = operands.size() + numbers.size();
  for (const FusedCall& c : calls) check_call(c, slots++);
  for (const Spec* s : operands) check_operand(*s, size);
  if (operands[0]->device.is_cuda())
    for (const FusedCall& c : calls) {
      check<NotImplementedError>(!is_complex(c.computed), [&] {
        return std::string("fused: expected real numbers on cuda, got ") + name(c.computed);
      });
      check<NotImplementedError>(!is_conversion(*row_of_call(c)),
                                 [] { return "fused: expected no conversions on cuda, got one"; });
    }
  bool fits = y.size() == 1 + also.size();
  for (std::size_t i = 0; i < also.size(); ++i)
    fits = fits && also[i] > (i ? also[i - 1] : -1) && also[i] + 1 < std::int64_t(calls.size());
  check<ValueError>(fits, [] { return "fused: expected results of calls in order, got others"; });
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = Spec::dense(result_of(*this, i).result, size, operands[0]->device);
}
void Fused::run_all(Context& c, std::span<const View> operands, std::span<const View> results) const {
  if (c.device.is_cuda()) {
    if (!run_compiled(*this, c, operands, results)) run_apart(*this, c, operands, results);
    return;
  }
  std::vector<FusedInput> inputs;
  inputs.reserve(operands.size() + numbers.size());
  for (const View& v : operands) {
    const Broadcast b = *broadcast_of(*v.spec, size);
    inputs.push_back({v.data, v.dtype(), b.repeat, b.count});
  }
  std::vector<std::array<char, 16>> stored(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) inputs.push_back({stored[i].data(), DType::boolean, 1, 1});
  std::vector<FusedStep> steps;
  steps.reserve(calls.size());
  FusedPlan plan{results[0].numel(), 0, {}, {}};
  for (const FusedCall& call : calls) {
    const Row& row = *row_of_call(call);
    FusedStep s{is_conversion(row) ? nullptr : kernel_of(row, c.backend, call.computed),
                call.attributes.data(),
                int(call.in.size()),
                {},
                {},
                call.natural,
                call.result,
                nullptr};
    for (int k = 0; k < s.operands; ++k) {
      s.in[k] = int(call.in[std::size_t(k)]);
      s.wanted[k] = wanted(row, k, call.computed);
      const std::int64_t number = s.in[k] - std::int64_t(operands.size());
      if (number < 0 || number >= std::int64_t(numbers.size())) continue;
      numbers[std::size_t(number)].store(s.wanted[k], stored[std::size_t(number)].data());
      inputs[std::size_t(s.in[k])].dtype = s.wanted[k];
    }
    NEURA_ASSERT(s.fn || is_conversion(row));
    plan.cost += formulas_of(row).cost;
    steps.push_back(s);
  }
  for (std::size_t i = 0; i < results.size(); ++i)
    steps[std::size_t(&result_of(*this, i) - calls.data())].out = results[i].data;
  plan.inputs = inputs, plan.steps = steps;
  execute_fused(plan);
}

}  // namespace neura::graph

NEURA_DEFINE_OPERATION(fused, graph::Fused);
NEURA_DEFINE_OPERATION(fused_2, graph::FusedOf<2>);
NEURA_DEFINE_OPERATION(fused_3, graph::FusedOf<3>);
NEURA_DEFINE_OPERATION(fused_4, graph::FusedOf<4>);
