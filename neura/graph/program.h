// A program: calls of operations on values that are written once. It is printed and read back, verified, drawn, run.
//
//   program
//   %0 = input x : float32 [2, 3]
//   %1 = captured : float32 [3]
//   %2 = add(%0, %1) {alpha=1.0} : float32 [2, 3]
//   return %2
//
// A write makes a new value: `%4 = add(%3, 1.0) into %3` is %3 after x.add_(1). An operation that writes operands, such
// as batch_norm, has their new values after its results. `update %1 = %5` says what memory holds after a run.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "neura/op/attributes.h"
#include "neura/op/defer.h"

namespace neura::graph {

using ValueId = std::uint32_t;  // its place in Program::values
inline constexpr ValueId kNoValue = ~ValueId{0};

struct Arg {
  enum Kind : std::uint8_t { absent, value, number } kind = absent;
  ValueId id = kNoValue;
  Scalar scalar;
  Arg() = default;
  explicit Arg(ValueId v) : kind(value), id(v) {}
  explicit Arg(Scalar s) : kind(number), scalar(s) {}
  bool is_value() const { return kind == value; }
};

struct Node {
  const Row* row = nullptr;
  std::shared_ptr<OpMemory> op;  // never changed
  std::vector<Arg> in;
  Destination destination = Destination::fresh;
  ValueId into = kNoValue;   // what the destination holds before
  std::vector<ValueId> out;  // results, then the new values of operands that are written
  std::uint32_t region = 0;  // calls of different regions are not merged
  bool varies = false;       // it has numbers, besides those that it draws, that differ from run to run
  Renewal renewal;           // what gives them; not in the text
  bool writes() const { return destination != Destination::fresh || row->written_inputs; }
};

struct External {  // a value from outside: value i is externals[i]
  enum Kind : std::uint8_t {
    input,     // an argument of run
    captured,  // memory that lives on: parameters, states
    constant,  // never written
  } kind = input;
  std::string name;
  Tensor tensor;  // of all but inputs; a captured one may be missing after parse
};

struct Update {  // after a run, the memory of an external holds this value
  ValueId external, value;
};

struct Program {
  std::vector<Spec> values;
  std::vector<External> externals;
  std::vector<Node> nodes;  // in the order in which they run
  std::vector<ValueId> outputs;
  std::vector<Update> updates;

  std::size_t inputs() const;  // arguments of run
  std::vector<Spec> input_specs() const;
  std::vector<Spec> output_specs() const;
};

// ValueError: `verify: node 3 (add): expected ...`. Everything else here expects programs that it has passed.
void verify(const Program&);

// The text. with_values: also the bytes of captured memory, so that parse() gives a program that runs.
std::string str(const Program&, bool with_values = false);
// Reads what str() wrote, and verifies it. ValueError with the line. Operations do not check their attributes: read
// trusted text only (foreign.h has the other case).
Program parse(std::string_view text);
// For Graphviz: values as edges with dtype and sizes, devices on nodes.
std::string to_dot(const Program&);

// Runs it: the same kernels in the same order on other inputs, unrecorded. Results are new tensors, or memory that the
// program updates where an output is that memory's new value. Inputs have the specs of the program (another order of
// dimensions is copied); ValueError, ShapeError, DTypeError, DeviceError otherwise, before anything is written.
std::vector<Tensor> run(const Program&, std::span<const Tensor> inputs);

// Parts that passes use.
std::vector<ValueId> written_by(const Node&);          // old values that it overwrites, in the order of their new ones
std::vector<Spec> infer(const Program&, const Node&);  // specs of its results and new values
bool varies(const Row&, const void* op);               // has it such attributes?
std::size_t uses_end(const Program&);                  // the place of outputs and updates in last_uses
std::vector<std::size_t> last_uses(const Program&);    // by value: the last node that reads it; uses_end; npos: none

}  // namespace neura::graph
