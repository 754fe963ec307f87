// An operation: a constinit object whose address is its identity. The table rows, the struct operations and the views
// all become one of these; `apply` sees nothing else.
#pragma once
#include <type_traits>

#include "neura/backend/backend.h"
#include "neura/backend/type_rule.h"
#include "neura/core/fields.h"
#include "neura/core/random.h"
#include "neura/core/tensor.h"
#include "neura/op/operation.h"

namespace neura {

struct GradientSpec {  // dtype, sizes and device that a gradient must have
  DType dtype = DType::float32;
  std::uint8_t rank = 0;
  Device device;
  std::int64_t shape[kMaxRank];
  GradientSpec() {}
  explicit GradientSpec(const Spec& s) : dtype(s.dtype), rank(s.rank), device(s.device) {
    std::copy(s.shape, s.shape + s.rank, shape);
  }
  Shape sizes() const { return {shape, rank}; }
  Spec dense() const { return Spec::dense(dtype, {shape, rank}, device); }
};

struct Row;

struct Gradient {  // arguments and results of a derivative: pointers into the engine's arrays
  const void* op;
  const Row* row;
  bool create_graph;
  unsigned wanted;
  Tensor* g;                  // incoming; undefined where nothing arrived
  Tensor* result;             // one per operand
  const GradientSpec** meta;  // what the gradients must look like, of the operands for which one is wanted
  const Tensor* saved[kMaxInputs + kMaxOutputs];
  // result[0] is only the part of the gradient that a window shows; the rest is zero and need not be written.
  bool windowed = false;
  Spec base, window;
  bool needs(int i) const { return wanted >> i & 1; }
  const Tensor& input(int i) const { return *saved[i]; }  // only what the row says its derivatives read
  const Tensor& output(int i = 0) const { return *saved[kMaxInputs + i]; }
};

struct Slope {              // derivative of a pointwise row with respect to one operand
  bool exists = false;      // else the operand gets a zero gradient (round) or none (comparison)
  bool passes = false;      // the gradient is g itself (add)
  std::uint16_t reads = 0;  // bits 0-7: operands, bits 8-15: results
  bool reads_g = true;
  Tensor (*exact)(const Tensor* g_operands_result, const double* attributes) = nullptr;  // create_graph: over tensors
};

struct AttributeList {       // of a pointwise row: names and defaults, in order
  const char* name[5] = {};  // a row has four at most; its slopes one more
  double fallback[5] = {};
  int count = 0;
  constexpr AttributeList with(const char* n, double value) const {
    AttributeList a = *this;
    a.name[count] = n, a.fallback[count] = value, ++a.count;
    return a;
  }
};

struct AttributeLimits {  // the condition on each attribute, as text and as a test; null: none
  const char* words[4] = {};
  bool (*holds[4])(double) = {};
  int count = 0;
  constexpr AttributeLimits with(const char* text, bool (*test)(double)) const {
    AttributeLimits a = *this;
    a.words[count] = text, a.holds[count] = test, ++a.count;
    return a;
  }
  constexpr bool any() const { return words[0] || words[1] || words[2] || words[3]; }
};

struct Row : Operation {
  // slope: the derivative of a pointwise row with respect to one operand, as one kernel. lazy: lazy_clone alone.
  enum Kind : std::uint8_t { pointwise, slope, view, structured, lazy };
  Kind kind = structured;
  std::uint8_t inputs = 1, outputs = 1;
  std::uint8_t cost = 1;  // of an element, in additions: from which size on threads are used
  bool differentiable = false;

  // pointwise and slope
  TypeRule types;
  Family family = Family::count;
  std::uint16_t slot = 0;  // index of its kernel in the family's table
  const Slope* slopes = nullptr;
  const Row* derivatives = nullptr;  // of a pointwise row: its slopes as operations, by operand
  const Row* of = nullptr;           // of a slope: the row,
  std::uint8_t operand = 0;          // and the operand
  AttributeList attributes;
  const char *formula = "", *text = "";
  // Gives the table that has the row's kernel, where no family of the back ends has it.
  const void* (*own)(const Backend&) = nullptr;

  // view and structured; n: how many operands
  void (*infer)(const void* op, const Spec* const* in, int n, Spec* out) = nullptr;
  void (*run)(const void* op, Context&, const View* in, int n, const View* out) = nullptr;
  // True if the back end has a kernel for these operands; null: it has. If not, the definition runs.
  bool (*accepts)(const void* op, const Backend&, const Spec* const* in, int n) = nullptr;
  // Computes the same results by other operations: where there is no kernel, and for derivatives of derivatives.
  void (*define)(const void* op, const Tensor* in, int n, Tensor* out) = nullptr;
  void (*gradient)(Gradient&) = nullptr;
  std::uint16_t op_bytes = 0;
  std::int8_t addend_dim = -1;       // the result's dimension along which the addend lies; -1: it broadcasts
  void (*make)(void* to) = nullptr;  // with all attributes at their defaults
  void (*copy)(void* to, const void* from) = nullptr;
  void (*drop)(void*) = nullptr;
  void (*visit)(void* op, FieldVisitor&) = nullptr;  // its attributes; of a pointwise row: see `attributes`
  PhiloxState* (*numbers)(void* op) = nullptr;       // of an operation that draws: its field that `apply` reserves
  const AttributeLimits* limits = nullptr;           // of a pointwise row whose attributes are checked
  // Of a call from a file that need not be ours: do attributes and operands keep infer and kernels within memory? Null:
  // such files do not call the operation.
  bool (*is_safe)(const void* op, const Spec* const* in, int n) = nullptr;
  const char *operand_names = "", *result_names = "";  // "input, weight, bias"; empty: they have none

  std::uint16_t reads_of(int i) const { return slopes ? slopes[i].reads : i < kMaxInputs ? reads[i] : 0; }
  // The operand whose properties operand i has: those of a list repeat the first group's.
  int place_of(int i) const { return !group || i < first_of_list ? i : first_of_list + (i - first_of_list) % group; }
  bool may_be_absent(int i) const { return kind == slope || optional_inputs >> place_of(i) & 1; }
  bool writes_input(int i) const { return written_inputs >> place_of(i) & 1; }
  const RowKernel& kernel(const Backend& b) const {
    const void* table = own ? own(b) : b.rows[int(family)];
    return *static_cast<const RowKernel* const*>(table)[slot];
  }
};

void pointwise_gradient(Gradient&);  // the derivative of every pointwise row, by its slopes

}  // namespace neura
