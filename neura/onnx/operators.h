// The table of operators: for each name and span of versions, the function that runs it. Importer and documentation
// read it; the rows are in the files of their families, operators_*.cpp.
//
//   {"Tanh", 1, kNewest, AS(tanh(x[0]))},            // without attributes: an expression of the operands
//   {"Softmax", 1, 12, softmax_flattened},           // BoundNode softmax_flattened(const Node&) reads the attributes
//   {"Softmax", 13, kNewest, softmax_along},         // once, at load; what it returns runs the node
#pragma once
#include <functional>
#include <limits>
#include <map>
#include <span>

#include "neura/onnx/value.h"

namespace neura::onnx {

inline constexpr std::int64_t kNewest = std::numeric_limits<std::int64_t>::max();

struct State {  // of the run of a model
  bool training = false;
  std::span<const Tensor> owned = {};  // the model's tensors as they are now
};

// The operands of one call. Tensors come on one device: that of the first one that is not on the cpu, where there is
// one. A tensor of sizes is read by integers() and stays on the host.
class Operands {
 public:
  Operands(std::span<const Value> values, const State& state);
  std::size_t size() const { return values_.size(); }
  bool has(std::size_t i) const { return i < values_.size() && values_[i].present(); }
  Tensor operator[](std::size_t i) const;  // ValueError where there is none
  Tensor maybe(std::size_t i) const { return has(i) ? (*this)[i] : Tensor(); }
  const Value& value(std::size_t i) const;  // ValueError where there is none
  Type type(std::size_t i) const { return value(i).type; }
  std::span<const Value> values() const { return values_; }
  std::vector<Tensor> tensors(std::size_t from = 0) const;
  std::vector<std::int64_t> integers(std::size_t i) const;
  std::vector<double> reals(std::size_t i) const;
  std::int64_t integer(std::size_t i) const;  // ValueError unless it is one
  double real(std::size_t i) const;
  const Text& text(std::size_t i) const;
  const Sequence& sequence(std::size_t i) const;
  const State& state() const { return state_; }
  bool training() const { return state_.training; }
  Device device() const { return device_; }

 private:
  std::span<const Value> values_;
  State state_;
  Device device_;
};

struct Results : std::vector<Value> {
  using std::vector<Value>::vector;
  Results(const Tensor& t) : std::vector<Value>{Value(t)} {}
  Results(Value v) { push_back(std::move(v)); }
  Results(const std::vector<Tensor>& tensors) : std::vector<Value>(tensors.begin(), tensors.end()) {}
};

// A node with its attributes read: what it makes of its operands.
using BoundNode = std::function<Results(const Operands&)>;

// A graph as an attribute, compiled: called with its inputs, and after them what it uses of the graphs around it.
struct Branch {
  BoundNode call;
  std::size_t inputs = 0, outputs = 0;
  std::size_t captured = 0, first = 0;   // how many operands of the node, and where they begin
  std::vector<ValueInfoProto> declared;  // its outputs
  // Runs it with those of the node's operands that it captured.
  Results operator()(Results given, const Operands& node) const;
};

// A node while it is bound: its attributes by name. ValueError for one that is of another kind or missing.
class Node {
 public:
  std::string op, name, domain;
  std::int64_t version = 0;   // of the operators' set
  std::size_t inputs = 0;     // without what its graphs capture
  std::vector<bool> present;  // which inputs have a name
  std::vector<bool> wanted;   // which outputs have a name
  std::map<std::string, AttributeProto> attributes;
  std::map<std::string, Branch> graphs;

  bool has(const std::string& attribute) const { return attributes.count(attribute) > 0; }
  bool wants(std::size_t output) const { return output < wanted.size() && wanted[output]; }
  std::int64_t integer(const std::string& attribute, std::int64_t otherwise) const;
  std::int64_t integer(const std::string& attribute) const;
  bool flag(const std::string& attribute, bool otherwise = false) const { return integer(attribute, otherwise) != 0; }
  double real(const std::string& attribute, double otherwise) const;
  std::string text(const std::string& attribute, const std::string& otherwise) const;
  std::vector<std::int64_t> integers(const std::string& attribute, std::vector<std::int64_t> otherwise = {}) const;
  std::vector<double> reals(const std::string& attribute) const;
  std::vector<std::string> texts(const std::string& attribute) const;
  Value tensor(const std::string& attribute) const;
  const Branch& graph(const std::string& attribute) const;

 private:
  const AttributeProto* find(const std::string& attribute) const;
  [[noreturn]] void missing(const std::string& attribute, const char* kind) const;
};

// How an operator treats element types that Neura has no dtype for.
enum class Types : std::uint8_t {
  plain,    // it takes none
  any,      // it takes them and says itself what comes out
  same,     // what comes out has the type of the first operand that is of one; integers wrap around
  ordered,  // the same, and of uint64 only numbers below 2^63
};
// At load, where all operands are constants. small: where few elements come out, which the operands say.
enum class Folding : std::uint8_t { allowed, small, never };

struct Operator {
  const char* name;
  std::int64_t first, last;  // versions of the operators' set
  BoundNode (*bind)(const Node&) = nullptr;
  Results (*run)(const Operands&) = nullptr;  // one of the two
  Types types = Types::plain;
  Folding folding = Folding::allowed;
  const char* domain = "";

  Operator(const char* n, std::int64_t f, std::int64_t l, BoundNode (*b)(const Node&), Types t = Types::plain,
           Folding g = Folding::allowed, const char* d = "")
      : name(n), first(f), last(l), bind(b), types(t), folding(g), domain(d) {}
  Operator(const char* n, std::int64_t f, std::int64_t l, Results (*r)(const Operands&), Types t = Types::plain,
           Folding g = Folding::allowed, const char* d = "")
      : name(n), first(f), last(l), run(r), types(t), folding(g), domain(d) {}
  BoundNode bound(const Node& n) const;
};
#define AS(...) []([[maybe_unused]] const Operands& x) -> Results { return __VA_ARGS__; }

std::vector<const Operator*> all_operators();
const Operator* find_operator(std::string_view domain, std::string_view name, std::int64_t version);

// The families.
std::span<const Operator> elementwise_operators();
std::span<const Operator> activation_operators();
std::span<const Operator> cast_operators();
std::span<const Operator> shape_operators();
std::span<const Operator> index_operators();
std::span<const Operator> reduce_operators();
std::span<const Operator> product_operators();
std::span<const Operator> quantised_operators();
std::span<const Operator> window_operators();
std::span<const Operator> norm_operators();
std::span<const Operator> control_operators();
std::span<const Operator> attention_operators();
std::span<const Operator> resize_operators();
std::span<const Operator> recurrent_operators();
std::span<const Operator> sequence_operators();
std::span<const Operator> loss_operators();
std::span<const Operator> signal_operators();
std::span<const Operator> region_operators();
std::span<const Operator> image_operators();
std::span<const Operator> text_operators();
std::span<const Operator> tree_operators();

// Shared by the families.
// Which element of a tensor each element of the broadcast shape is, in order.
std::vector<std::int64_t> broadcast_places(const Shape& from, const Shape& to);
int axis_of(const char* op, std::int64_t axis, int rank);
[[noreturn]] void refuse(const std::string& op, const std::string& expected, const std::string& got);  // ValueError

}  // namespace neura::onnx
