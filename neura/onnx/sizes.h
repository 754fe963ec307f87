// Numbers of a program that follow the sizes of its inputs. A model is traced with several sizes; a number that is
// another one each time is written as a formula of them.
#pragma once
#include "neura/onnx/graph_writer.h"

namespace neura::onnx {

// factor * (product of sizes) / divisor + offset; of one size, or without an offset.
struct Size {
  std::int64_t value = 0;         // with the example's sizes
  std::vector<int> symbols = {};  // none: it is always `value`
  std::int64_t factor = 1, divisor = 1, offset = 0;
  bool known = true;  // a formula was found
  bool fixed() const { return known && symbols.empty(); }
};

struct Symbols {
  struct Symbol {
    std::string name;
    int input = 0, dim = 0;  // where the graph reads it
  };
  std::vector<Symbol> all;
  std::vector<std::vector<std::int64_t>> values;  // by trace: the example's; one with each size changed; all changed

  std::size_t traces() const { return values.size(); }
  // From the number in each trace.
  Size explain(const std::vector<std::int64_t>& seen) const;
};

// Writes sizes as tensors of the graph.
class SizeWriter {
 public:
  SizeWriter(GraphWriter& to, const Symbols& symbols, const Names& inputs)
      : to_(to), symbols_(symbols), inputs_(inputs) {}
  std::string one(const Size&);                // int64 [1]; ValueError where no formula was found
  std::string list(const std::vector<Size>&);  // int64 [n]
  // The same for Reshape, in which one size may follow from the others.
  std::string shape(const std::vector<Size>&);

 private:
  GraphWriter& to_;
  const Symbols& symbols_;
  const Names& inputs_;
};

}  // namespace neura::onnx
