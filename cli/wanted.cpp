#include "cli/wanted.h"

#include <map>
#include <set>

#include "cli/ports.h"
#include "neura/autograd/grad_mode.h"
#include "neura/core/version.h"
#include "neura/op/pointwise/pointwise.h"
#include "neura/op/pointwise/rows.h"
#include "neura/op/struct_operations.h"

namespace neura::cli {
namespace {

constexpr const char* kDTypeIds[] = {
#define DTYPE(id, ...) #id,
#include "neura/tables/dtypes.def"
#undef DTYPE
};
struct Listed {
  const Row* row;
  const char* identifier;
};
const Listed kRows[] = {
#define ROW1(name, ...) {&rows::name, #name},
#define ROW2 ROW1
#define ROW3 ROW1
#include "neura/tables/kinds.h"
#include "neura/tables/families.def"
#include "neura/tables/end_kinds.h"
};
const std::vector<Listed>& operations_of_programs() {
  static const std::vector<Listed> all{
#define PROGRAM_OPERATION(identifier, ...) {&operations::identifier(), #identifier},
#define TRUSTED_OPERATION PROGRAM_OPERATION
#include "neura/tables/program_ops.def"
  };
  return all;
}

struct Wanted {
  std::set<const Row*> operations;
  std::map<const Row*, DTypeSet> rows;  // and what they are computed in
  std::set<std::pair<DType, DType>> conversions;
  DTypeSet dtypes = 0;

  void add(DType d) { dtypes |= bit(d), conversions.insert({d, d}); }
  void add(DType from, DType to) { add(from), add(to), conversions.insert({from, to}); }

  void add(const Call& c) {
    if (c.row->kind == Row::pointwise) {
      const Dtypes d = dtypes_of(c);
      rows[c.row] |= bit(d.computed);
      add(d.computed, d.result), add(d.natural, d.result);
      for (int i = 0; i < c.inputs; ++i)
        if (c.in[i].is_tensor()) add(c.in[i].tensor->spec.dtype, d.computed);
    } else {
      operations.insert(c.row);
    }
  }
  // Between what a call takes and gives.
  void add_results(const Call& c) {
    for (int i = 0; i < c.inputs; ++i) {  // further results are places, which nothing is converted into
      if (!c.out[0] || !c.in[i].is_tensor()) continue;
      const DType from = c.in[i].tensor->spec.dtype, to = c.out[0].dtype();
      add(from, to);
      // A mean may be computed in float64, which no operand has.
      if (c.row == &operations::mean()) conversions.insert({{from, float64}, {float64, to}, {float64, float64}});
    }
  }
};

// Sees the calls of a run, also those that calls are made of.
struct Watch final : Interceptor {
  explicit Watch(Wanted& w) : wanted(w) {}
  void call(Call& c) override {
    wanted.add(c);
    const Watch within(wanted);
    proceed(c);
    wanted.add_results(c);
  }
  Wanted& wanted;
};

Wanted wanted_of(const graph::Program& p) {
  Wanted w;
  for (const Spec& s : p.values) w.add(s.dtype);
  std::vector<Tensor> inputs;
  for (const Spec& s : p.input_specs()) inputs.push_back(sample(s.sizes(), s.dtype));
  const InferenceMode mode;
  const Watch watch(w);
  graph::run(p, inputs);
  return w;
}

std::string bits(DTypeSet set) {
  std::string all;
  for (int d = 0; d < kDTypes; ++d)
    if (set >> d & 1) all += (all.empty() ? "bit(DType::" : " | bit(DType::") + std::string(kDTypeIds[d]) + ")";
  return all;
}
// Within quotes.
std::string quoted(const std::string& text) {
  std::string all;
  for (const char c : text) all += c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20 ? '?' : c;
  return all;
}

}  // namespace

std::string wanted_by(const graph::Program& p, const std::string& model) {
  Wanted w = wanted_of(p);
  std::string text = "// What " + quoted(model) + " calls; by neura deploy --small, Neura " + kVersion + ".\n";
  text += "#include \"neura/tables/wanted.h\"\nWANTED_MODEL(\"" + quoted(model) + "\")\n";
  for (int d = 0; d < kDTypes; ++d)
    if (w.dtypes >> d & 1) text += "WANTED_DTYPE(" + std::string(kDTypeIds[d]) + ")\n";
  for (const auto& [row, identifier] : operations_of_programs())
    if (w.operations.erase(row)) text += "WANTED_OPERATION(" + std::string(identifier) + ")\n";
  check<NotImplementedError>(w.operations.empty(), [&] {
    return "deploy: expected operations that small programs have, got " + std::string((*w.operations.begin())->name) +
           "; leave out --small";
  });
  for (const auto& [row, identifier] : kRows)
    if (const auto at = w.rows.find(row); at != w.rows.end())
      text += "WANTED_ROW(" + std::string(identifier) + ", " + bits(at->second) + ")\n";
  for (const auto& [from, to] : w.conversions)
    text += "WANTED_CONVERSION(" + std::string(kDTypeIds[int(from)]) + ", " + kDTypeIds[int(to)] + ")\n";
  return text + "#include \"neura/tables/end_wanted.h\"\n";
}

}  // namespace neura::cli
