#include "neura/graph/fused_text.h"

#include <algorithm>
#include <cstring>

#include "neura/op/registry.h"

namespace neura::graph {
namespace {

constexpr int kLoadBytes = 16, kPackBytes = 32, kMostPack = 8;  // two loads of an operand fill the memory
constexpr std::size_t kMostOperands = 31;                       // a bit each, and one of the result
constexpr std::size_t kParameterBytes = 4096;                   // of a launch
constexpr std::int64_t kBusy = std::int64_t{1}
                               << 17;  // threads; with fewer, a device has nothing to do while they wait
constexpr std::int64_t kNarrow = std::int64_t{1} << 31;

const Row& row_at(const FusedCall& c) { return *row_of_number(c.row); }
std::string at(const char* name, std::size_t i) { return name + std::to_string(i); }
std::string word(std::size_t i) { return "p.w[" + std::to_string(i) + "]"; }

const char* element(DType d) {  // as it is stored
  constexpr const char* names[] = {"Bool",    "uint8_t", "int8_t",   "int16_t", "int32_t",
                                   "int64_t", "Half",    "BFloat16", "float",   "double"};
  static_assert(int(DType::boolean) == 0 && int(DType::float64) == 9);
  return names[int(d)];
}
std::string number(DType d) {  // what formulas compute with
  return is_floating(d) || d == DType::boolean ? element(d) : std::string("Int<") + element(d) + ">";
}

// Which word of a launch is what.
struct Words {
  static constexpr std::size_t numel = 0, aligned = 1, out = 2;
  std::size_t operands, numbers, attributes, sizes, strides, count;
  Words(const Fused& f, const FusedLayout& l) {
    operands = out + 1 + f.also.size();
    numbers = operands + l.operands.size();
    attributes = numbers + f.numbers.size();
    sizes = attributes;
    for (const FusedCall& c : f.calls) sizes += c.attributes.size();
    const std::size_t dimensions = l.positions ? std::size_t(l.rank) : 0;
    strides = sizes + dimensions;  // the outermost size is there, and not read
    count = strides + l.operands.size() * dimensions;
  }
};

// By slot: the dtype of its elements. A number has that of the call which reads it.
std::vector<DType> dtypes_of_slots(const Fused& f, const FusedLayout& l) {
  std::vector<DType> all;
  for (const FusedOperand& o : l.operands) all.push_back(o.dtype);
  const std::size_t first = all.size();
  all.resize(first + f.numbers.size());
  for (const FusedCall& c : f.calls) {
    for (std::size_t k = 0; k < c.in.size(); ++k) {
      const auto slot = std::size_t(c.in[k]);
      if (slot >= first && slot < first + f.numbers.size()) all[slot] = wanted(row_at(c), int(k), c.computed);
    }
    all.push_back(c.result);
  }
  return all;
}

class Writer {
 public:
  Writer(const Fused& f, const FusedLayout& l) : f_(f), l_(l), words_(f, l), dtypes_(dtypes_of_slots(f, l)) {}

  std::string all() {
    for (const FusedCall& c : f_.calls)
      if (formulas_of(row_at(c)).family == Family::special && text_.empty()) text_ = "#define NEURA_SPECIAL\n";
    text_ += "#include \"neura/backend/cuda/pointwise/fused_kernel.cuh\"\nnamespace neura {\nnamespace fused {\n";
    line("using I = ", l_.wide ? "Address" : "unsigned", ";");
    line("constexpr int V = ", l_.pack, ";");
    line("struct Words { Address w[", words_.count, "]; };");
    for (std::size_t i = 0; i < f_.calls.size(); ++i) formula(i);
    line("__global__ void __launch_bounds__(kThreads) kernel(const __grid_constant__ Words p) {");
    kernel();
    return text_ + "}\n}  // namespace fused\n}  // namespace neura\n";
  }

 private:
  static void add(std::string& s, const char* t) { s += t; }
  static void add(std::string& s, const std::string& t) { s += t; }
  template <class T> static void add(std::string& s, T t) { s += std::to_string(t); }
  template <class... A> void line(const A&... a) { (add(text_, a), ...), text_ += '\n'; }
  // Operands are x or a, b, c; a slope has g before them and the result y after.
  void formula(std::size_t i) {
    const FusedCall& c = f_.calls[i];
    const Row &row = row_at(c), &of = formulas_of(row);
    const bool slope = row.kind == Row::slope;
    const std::string r = of.types.result_type == ResultType::as_bool ? "bool" : number(c.computed);
    std::string parameters;
    for (int k = 0; k < row.inputs; ++k) {
      const int operand = k - int(slope);
      const std::string name = operand < 0            ? "g"
                               : operand == of.inputs ? "y"
                               : of.inputs == 1       ? "x"
                                                      : std::string(1, char('a' + operand));
      parameters += (k ? ", " : "") + parameter(row, k, c.computed) + " " + name;
    }
    for (int k = 0; k < of.attributes.count; ++k) parameters += ", " + number(c.computed) + " " + of.attributes.name[k];
    line("__device__ inline ", r, " ", at("f", i), "(", parameters, ") { return exact<", r, ">(", formula_of(row),
         "); }");
  }
  // The number that a formula takes as operand k.
  static std::string parameter(const Row& row, int k, DType computed) {
    return is_condition(row, k) ? "bool" : number(computed);
  }

  void kernel() {
    line("  const I n = I(", word(Words::numel), "), aligned = I(", word(Words::aligned), ");");
    line("  const unsigned zero = unsigned(", word(Words::aligned), " >> 32);");
    constants();
    line("  const I turn = I(gridDim.x) * (kThreads * V);\n#pragma unroll 1");
    line("  for (I at = (I(blockIdx.x) * kThreads + threadIdx.x) * V; at < n; at += turn) {");
    for (std::size_t i = 0; i < l_.operands.size(); ++i)
      if (l_.operands[i].access != FusedOperand::single) line("    ", element(dtypes_[i]), " ", at("m", i), "[V];");
    if (l_.positions) positions();
    for (std::size_t i = 0; i < l_.operands.size(); ++i) operand(i);
    for (std::size_t i = 0; i <= f_.also.size(); ++i)
      line("    ", element(result_of(f_, i).result), " ", at("y", i), "[V];");
    line("#pragma unroll\n    for (int k = 0; k < V; ++k) {");
    for (std::size_t i = 0; i < f_.calls.size(); ++i) call(i);
    for (std::size_t i = 0; i <= f_.also.size(); ++i)
      line("      ", at("y", i), "[k] = ", at("s", slot_of(std::size_t(&result_of(f_, i) - f_.calls.data()))), ";");
    line("    }");
    for (std::size_t i = 0; i <= f_.also.size(); ++i)
      line("    store(", at("y", i), ", ", word(Words::out + i), ", at, n - at, aligned >> ", i, " & 1);");
    line("  }");
  }
  std::size_t slot_of(std::size_t call) const { return l_.operands.size() + f_.numbers.size() + call; }
  // What is the same for all elements. An operand's may be read once: it is not written meanwhile.
  void constants() {
    const std::size_t operands = l_.operands.size();
    for (std::size_t i = 0; i < operands; ++i)
      if (l_.operands[i].access == FusedOperand::single)
        line("  const ", element(dtypes_[i]), " ", at("s", i), " = *reinterpret_cast<const ", element(dtypes_[i]),
             "*>(", word(words_.operands + i), ");");
    for (std::size_t i = 0; i < f_.numbers.size(); ++i)
      line("  const auto ", at("s", operands + i), " = number_of<", element(dtypes_[operands + i]), ">(",
           word(words_.numbers + i), ");");
    std::size_t next = 0;
    for (const FusedCall& c : f_.calls)
      for (std::size_t k = 0; k < c.attributes.size(); ++k, ++next)
        line("  const ", number(c.computed), " ", at("a", next), " = ", number(c.computed),
             "(Constant{number_of<double>(", word(words_.attributes + next), ")});");
  }
  // The index in each dimension, of a pack's first element.
  void positions() {
    line("    I rest = at;");
    for (int d = l_.rank - 1; d > 0; --d) {
      const std::string size = "I(" + word(words_.sizes + std::size_t(d)) + ")";
      line("    const I ", at("q", std::size_t(d)), " = rest / ", size, ", ", at("d", std::size_t(d)), " = rest - ",
           at("q", std::size_t(d)), " * ", size, ";\n    rest = ", at("q", std::size_t(d)), ";");
    }
    line("    const I d0 = rest;");
  }
  std::string stride(std::size_t i, int d) const {
    return "(long long)" + word(words_.strides + i * std::size_t(l_.rank) + std::size_t(d));
  }
  void operand(std::size_t i) {
    const FusedOperand& o = l_.operands[i];
    const std::string m = at("m", i), from = word(words_.operands + i);
    const std::string whole = "aligned >> " + std::to_string(words_.operands - Words::out + i) + " & 1";
    if (o.access == FusedOperand::single) return;
    if (o.access == FusedOperand::flat) return line("    load(", m, ", ", from, ", at, n - at, ", whole, ");");
    std::string offset = "(long long)d0 * " + stride(i, 0);
    for (int d = 1; d < l_.rank; ++d) offset += " + (long long)" + at("d", std::size_t(d)) + " * " + stride(i, d);
    line("    {\n      const Address first = ", from, " + (", offset, ") * ", size_of(o.dtype), ";");
    if (o.access == FusedOperand::line) line("      load(", m, ", first, I(0), I(V), ", whole, ");\n    }");
    else if (o.access == FusedOperand::same) line("      load_same(", m, ", first);\n    }");
    else line("      load_apart(", m, ", first, ", stride(i, l_.rank - 1), ");\n    }");
  }
  void call(std::size_t i) {
    const FusedCall& c = f_.calls[i];
    const Row& row = row_at(c);
    std::string arguments;
    for (std::size_t k = 0; k < c.in.size(); ++k) {
      const auto slot = std::size_t(c.in[k]);
      const bool moved = slot < l_.operands.size() && l_.operands[slot].access != FusedOperand::single;
      const std::string type = parameter(row, int(k), c.computed);
      arguments += k ? ", " : "";
      if (c.in[k] < 0) arguments += type == "bool" ? "false" : type + "(0_c)";
      else arguments += "number_from<" + type + ">(" + (moved ? at("m", slot) + "[k]" : at("s", slot)) + ")";
    }
    for (std::size_t k = 0; k < c.attributes.size(); ++k) arguments += ", " + at("a", attribute_++);
    const std::string value =
        std::string("rounded<") + element(c.result) + ">(memory_from(" + at("f", i) + "(" + arguments + ")))";
    line("      const auto ", at("s", slot_of(i)), " = hidden(", value, ", zero);");
  }

  const Fused& f_;
  const FusedLayout& l_;
  const Words words_;
  const std::vector<DType> dtypes_;
  std::string text_;
  std::size_t attribute_ = 0;
};

// Strides as of an operand that is broadcast to the size, and dimensions that all operands walk alike become one.
void merge(const Shape& size, std::span<const Spec* const> operands, FusedLayout& l) {
  l.rank = 0;
  for (int d = 0; d < size.size(); ++d) {
    if (size[d] == 1) continue;
    std::vector<std::int64_t> strides(operands.size());
    bool joins = l.rank > 0;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const Spec& s = *operands[i];
      const int own = d - size.size() + s.rank;
      strides[i] = own < 0 || s.shape[own] == 1 ? 0 : s.strides[own];
      joins = joins && l.operands[i].strides[l.rank - 1] == strides[i] * size[d];
    }
    if (joins) l.shape[l.rank - 1] *= size[d];
    else l.shape[l.rank++] = size[d];
    for (std::size_t i = 0; i < operands.size(); ++i) l.operands[i].strides[l.rank - 1] = strides[i];
  }
  if (!l.rank) l.shape[l.rank++] = 1;
}
FusedOperand::Access access_of(const FusedOperand& o, const FusedLayout& l) {
  bool flat = true, single = true;
  std::int64_t step = 1;
  for (int d = l.rank - 1; d >= 0; step *= l.shape[d--])
    flat = flat && o.strides[d] == step, single = single && !o.strides[d];
  if (flat) return FusedOperand::flat;
  if (single) return FusedOperand::single;
  const std::int64_t inner = o.strides[l.rank - 1];
  return inner == 1 ? FusedOperand::line : inner == 0 ? FusedOperand::same : FusedOperand::apart;
}

}  // namespace

bool lay_out(const Fused& f, std::span<const Spec* const> operands, FusedLayout& l) {
  if (operands.size() + f.also.size() > kMostOperands) return false;
  l.numel = 1;
  for (const std::int64_t s : f.size) l.numel *= s;
  for (const Spec* s : operands) l.operands.push_back({s->dtype, FusedOperand::flat, {}});
  merge(f.size, operands, l);
  int widest = size_of(f.calls.back().result);
  for (const std::int64_t i : f.also) widest = std::max(widest, size_of(f.calls[std::size_t(i)].result));
  for (FusedOperand& o : l.operands) {
    o.access = access_of(o, l);
    l.positions |= o.access != FusedOperand::flat && o.access != FusedOperand::single;
    if (o.access != FusedOperand::single && o.access != FusedOperand::same) widest = std::max(widest, size_of(o.dtype));
  }
  l.wide = l.numel >= kNarrow;
  l.pack = std::min(kPackBytes / widest, kMostPack);
  while (l.pack > 1 && l.numel / l.pack < kBusy) l.pack /= 2;
  while (l.positions && l.shape[l.rank - 1] % l.pack) l.pack /= 2;
  return !(l.wide && l.positions) && Words(f, l).count * sizeof(std::uint64_t) <= kParameterBytes;
}

std::string text_of(const Fused& f, const FusedLayout& l) { return Writer(f, l).all(); }

std::vector<std::uint64_t> words_of(const Fused& f, const FusedLayout& l, std::span<const char* const> data) {
  const Words w(f, l);
  std::vector<std::uint64_t> all(w.count);
  const std::vector<DType> dtypes = dtypes_of_slots(f, l);
  all[Words::numel] = std::uint64_t(l.numel);
  const std::size_t results = 1 + f.also.size();
  for (std::size_t i = 0; i < data.size(); ++i) {
    const auto address = reinterpret_cast<std::uintptr_t>(data[i]);
    const FusedOperand* const o = i < results ? nullptr : &l.operands[i - results];
    const int size = size_of(o ? o->dtype : result_of(f, i).result);
    const auto bytes = std::uint64_t(std::min(l.pack * size, kLoadBytes));
    bool aligned = address % bytes == 0;
    if (o && o->access == FusedOperand::line)
      for (int d = 0; d + 1 < l.rank; ++d) aligned = aligned && std::uint64_t(o->strides[d] * size) % bytes == 0;
    all[Words::aligned] |= std::uint64_t(aligned) << i;
    all[Words::out + i] = address;
  }
  for (std::size_t i = 0; i < f.numbers.size(); ++i)
    f.numbers[i].store(dtypes[l.operands.size() + i], &all[w.numbers + i]);
  std::size_t next = w.attributes;
  for (const FusedCall& c : f.calls)
    for (const double a : c.attributes) std::memcpy(&all[next++], &a, sizeof a);
  if (!l.positions) return all;
  for (int d = 0; d < l.rank; ++d) all[w.sizes + std::size_t(d)] = std::uint64_t(l.shape[d]);
  for (const FusedOperand& o : l.operands)
    for (int d = 0; d < l.rank; ++d)
      all[w.strides + std::size_t(&o - l.operands.data()) * std::size_t(l.rank) + std::size_t(d)] =
          std::uint64_t(o.strides[d]);
  return all;
}

}  // namespace neura::graph
