#include "neura/graph/fused.h"

#include "neura/backend/fused.h"
#include "neura/ops/registry.h"

namespace neura::graph {
namespace {

const Row* row_of_call(const FusedCall& c) {
  const auto rows = all_operations();
  const bool known = c.row >= 0 && c.row < std::int64_t(rows.size());
  return known && rows[std::size_t(c.row)]->kind == Row::pointwise ? rows[std::size_t(c.row)] : nullptr;
}
bool is_dtype(DType d) { return unsigned(d) < unsigned(kDTypes); }

// Of call number i, whose operands are among so many slots.
void check_call(const FusedCall& c, std::size_t slots) {
  const auto need = [](bool ok, const char* what) {
    check<ValueError>(ok, [&] { return std::string("fused: expected ") + what; });
  };
  const Row* row = row_of_call(c);
  need(row, "pointwise operations of the registry, got another number");
  need(c.in.size() == row->inputs && c.attributes.size() == std::size_t(row->attributes.count),
       "as many operands and attributes as the operation has, got others");
  for (const std::int64_t s : c.in) need(s >= 0 && s < std::int64_t(slots), "operands made before, got a later one");
  need(is_dtype(c.computed) && is_dtype(c.natural) && is_dtype(c.result) && row->cls.has_kernel(c.computed),
       "a dtype that the operation is computed in, got another");
  const bool real = row->cls.makes_real() && is_complex(c.computed);
  need(c.natural == (row->cls.comes == Comes::as_bool ? DType::boolean
                     : real                           ? to_real(c.computed)
                                                      : c.computed),
       "the dtype that the kernel writes, got another");
}

}  // namespace

void Fused::infer(std::span<const Spec* const> operands, Spec& y) const {
  check<ValueError>(!calls.empty() && !operands.empty(), [] { return "fused: expected calls and operands, got none"; });
  std::size_t slots = operands.size() + numbers.size();
  for (const FusedCall& c : calls) check_call(c, slots++);
  for (const Spec* s : operands) {
    check<NotImplementedError>(s->device.is_cpu(),
                               [&] { return "fused: expected operands on the cpu, got " + s->str(); });
    check<ShapeError>(s->contiguous && (s->numel == 1 || s->sizes() == size), [&] {
      return "fused: expected contiguous operands of " + size.str() + " or of one element, got " + s->str();
    });
  }
  y = Spec::dense(calls.back().result, size);
}

void Fused::run(Context& c, std::span<const View> operands, const View& y) const {
  std::vector<FusedInput> inputs;
  for (const View& v : operands) inputs.push_back({v.data, v.dtype(), v.numel() == 1});
  std::vector<std::array<char, 16>> stored(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) inputs.push_back({stored[i].data(), DType::boolean, true});
  std::vector<FusedStep> steps;
  FusedPlan plan{y.numel(), 0, {}, {}, y.data};
  for (const FusedCall& call : calls) {
    const Row& row = *row_of_call(call);
    FusedStep s{row.kernel(c.backend).value[int(call.computed)],
                call.attributes.data(),
                int(call.in.size()),
                {},
                {},
                call.natural,
                call.result};
    for (int k = 0; k < s.operands; ++k) {
      s.in[k] = int(call.in[std::size_t(k)]);
      s.wanted[k] = row.cls.mask_first && k == 0 ? DType::boolean : call.computed;
      const std::int64_t number = s.in[k] - std::int64_t(operands.size());
      if (number < 0 || number >= std::int64_t(numbers.size())) continue;
      numbers[std::size_t(number)].store(s.wanted[k], stored[std::size_t(number)].data());
      inputs[std::size_t(s.in[k])].dtype = s.wanted[k];
    }
    NEURA_ASSERT(s.fn);
    plan.cost += row.cost;
    steps.push_back(s);
  }
  plan.inputs = inputs, plan.steps = steps;
  execute_fused(plan);
}

}  // namespace neura::graph

NEURA_DEFINE_OPERATION(fused, graph::Fused);
