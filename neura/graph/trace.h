// From calls to a program.
#pragma once
#include "neura/graph/program.h"

namespace neura::graph {

using Function = std::function<std::vector<Tensor>(std::span<const Tensor>)>;
struct Named {
  std::string name;
  Tensor tensor;
};

// Calls f(inputs), eagerly, and writes down what it computes on this thread: forward and, where f has them, backward
// and the optimizer's step. Parameters and states are captured as memory: a run reads and updates it. Random numbers
// are drawn again by each run, and the numbers of optimizers' steps continue with their optimizer, which must live as
// long as the program.
//
// f is called until two calls after another do the same, at most four times: the first step of an optimizer makes its
// states. What it does besides operations (branches, prints) is as in the last call. ValueError or NotImplementedError
// where a program could not continue like f: it reads values on the host, keeps a tensor that its next call reads,
// seeds a generator. names: of captured memory, for people.
//
//   const graph::Program p = graph::trace([&](auto in) { return std::vector{net(in[0])}; }, {{x}});
//   const Tensor y = graph::run(p, {{x2}})[0];
Program trace(const Function& f, std::span<const Tensor> inputs, std::span<const Named> names = {});

}  // namespace neura::graph
