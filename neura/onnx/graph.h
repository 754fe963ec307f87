// A graph of a model, compiled: a list of bound nodes over numbered slots.
#pragma once
#include <unordered_map>

#include "neura/onnx/operators.h"

namespace neura::onnx {

// True if a step computes sizes. follows: where all its operands are sizes and constants; few: and where it fills no
// more integers than a tensor has dimensions.
enum class Host : std::uint8_t { never, always, follows, few };

struct Step {
  BoundNode call;
  const Operator* op = nullptr;  // null for a function of the model
  std::string where;             // "node \"x\" (Conv)", for errors
  std::vector<int> in, out;      // slots; -1 for what has no name
  std::vector<int> last;         // slots that are not read afterwards
  Host host = Host::never;
};

struct Member {  // a tensor that the model owns
  std::string name;
  Value value;
  bool trainable = false;
};

struct Graph {
  int slots = 0;
  std::vector<Step> steps;
  std::vector<int> inputs, outputs;  // slots
  std::vector<std::pair<int, Value>> constants;
  std::vector<std::pair<int, std::size_t>> members;               // slots, and places in the model's list
  Results run(std::span<const Value> given, const State&) const;  // with its inputs, and after them what it captured
};

struct CompiledModel {
  std::vector<Member> members;
  std::shared_ptr<const Graph> main = std::make_shared<const Graph>();
  std::vector<ValueInfoProto> inputs, outputs;
};

// NotImplementedError that lists all operators the table lacks; ValueError and FormatError for an invalid graph.
std::shared_ptr<const CompiledModel> compile(const ModelProto&);

}  // namespace neura::onnx
