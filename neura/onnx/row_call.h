// A traced call, as handed to the functions that write ONNX nodes; and the table of those functions.
#pragma once
#include <span>

#include "neura/graph/program.h"
#include "neura/onnx/sizes.h"

namespace neura::onnx {

// A value of the graph, for formulas: relu(x) is max(x, 0.0). Numbers take the dtype of what they meet.
struct Term {
  GraphWriter* to = nullptr;
  std::string name;
  DType dtype = DType::float32;
  Term number(double v) const { return {to, to->number(v, dtype), dtype}; }
  Term cast(DType d) const { return {to, to->cast(name, dtype, d), d}; }
};
Term call(const char* op, const Term& x, const AttributeList& = {});
Term call(const char* op, const Term& a, const Term& b, const AttributeList& = {});
Term predicate(const char* op, const Term& x);               // bool
Term compare(const char* op, const Term& a, const Term& b);  // bool
Term where(const Term& condition, const Term& a, const Term& b);
Term operator+(const Term&, const Term&);
Term operator-(const Term&, const Term&);
Term operator*(const Term&, const Term&);
Term operator/(const Term&, const Term&);
inline Term operator+(const Term& a, double b) { return a + a.number(b); }
inline Term operator-(const Term& a, double b) { return a - a.number(b); }
inline Term operator-(double a, const Term& b) { return b.number(a) - b; }
inline Term operator*(const Term& a, double b) { return a * a.number(b); }
inline Term operator/(const Term& a, double b) { return a / a.number(b); }
inline Term operator/(double a, const Term& b) { return b.number(a) / b; }

// Where numbers are compared and averaged.
inline DType wide(DType d) { return d == DType::float64 ? d : DType::float32; }

struct ProgramState;  // of the writer of the program around it

class RowCall {
 public:
  RowCall(ProgramState& state, std::size_t node);

  GraphWriter& to;
  const graph::Node& node;

  // Operands.
  std::size_t inputs() const { return node.in.size(); }
  bool has(std::size_t i) const { return i < node.in.size() && node.in[i].kind != graph::Arg::absent; }
  Term in(std::size_t i);  // in its own dtype; of a number, the dtype of the first result
  Term in(std::size_t i, DType d) { return in(i).cast(d); }
  std::string name(std::size_t i) { return has(i) ? in(i).name : ""; }
  Names names();                          // all of them
  Term self();                            // what the destination held before
  const Spec& spec(std::size_t i) const;  // ValueError for a number
  Size size(std::size_t i, int dim) const;
  std::vector<Size> sizes(std::size_t i) const;
  DType common() const;                  // of a pointwise call: where its operands meet
  Tensor constant(std::size_t i) const;  // its values; undefined where they are not known now
  // The call that made an operand; null for an external.
  const graph::Node* maker(std::size_t i) const;
  RowCall made(std::size_t i);  // that call

  // Attributes, by path: "dim", "s.stride". ValueError where a number differs from trace to trace.
  std::int64_t integer(std::string_view path) const;
  double real(std::string_view path) const;
  Scalar scalar(std::string_view path) const;
  bool whole(std::string_view path) const { return find(0, path).kind == Attributes::Kind::integer; }
  DType dtype(std::string_view path) const { return DType(integer(path)); }
  Size size(std::string_view path) const;
  std::vector<Size> sizes(std::string_view path) const;
  std::vector<std::int64_t> integers(std::string_view path) const;
  std::vector<std::int64_t> seen(std::string_view path, std::size_t trace) const;  // a list as it is in one trace
  std::size_t traces() const { return attributes_.size(); }
  std::vector<std::int64_t> bits(std::string_view path) const;  // the places of the bits of a mask

  // Results.
  const Spec& out(std::size_t k = 0) const;
  std::vector<Size> out_sizes(std::size_t k = 0) const;
  bool wanted(std::size_t k) const;  // true if a call reads it
  void result(const Term&, std::size_t k = 0);
  void result(std::string name, std::size_t k = 0) { result(Term{&to, std::move(name), out(k).dtype}, k); }

  SizeWriter write_size();
  // NotImplementedError: "onnx.export: expected ..., got <operation> with <what>; <what to do>".
  [[noreturn]] void refuse(const std::string& what, const std::string& advice) const;

 private:
  const Attributes::Field& find(std::size_t trace, std::string_view path) const;
  const Attributes::Field& field(std::string_view path) const;
  ProgramState& state_;
  std::size_t index_;
  std::vector<Attributes> attributes_;  // by trace
};

// A table of its own: operations know no file format. A test finds a name that no operation has.
struct RowWriter {
  const char* row;          // the operation of Neura
  void (*write)(RowCall&);  // a null one: `op` alone, of the operands in their common dtype
  const char* op = "";      // operators of ONNX, for the page; the first is what a plain row becomes
  std::int64_t since = 1;   // the version of the set that it needs
};
const RowWriter* find_writer(std::string_view row);
std::vector<const RowWriter*> all_writers();

// The families.
std::span<const RowWriter> pointwise_writers();
std::span<const RowWriter> formula_writers();
std::span<const RowWriter> view_writers();
std::span<const RowWriter> index_writers();
std::span<const RowWriter> reduce_writers();
std::span<const RowWriter> layer_writers();
std::span<const RowWriter> recurrent_writers();

// Writes the calls of a program and returns the names of its results. traces: the same program for the sizes of
// symbols.values. externals: names of those that the graph has already; others become its tensors.
Names write_program(GraphWriter& to, const Symbols& symbols, const Names& inputs, std::vector<graph::Program> traces,
                    const std::vector<std::pair<std::string, Tensor>>& known, const Names& externals);

}  // namespace neura::onnx
