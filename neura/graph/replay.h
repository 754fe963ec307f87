// A program as one launch of a CUDA graph.
#pragma once
#include <memory>

#include "neura/graph/program.h"

namespace neura::graph {

// Calls are run(program, inputs), bit for bit. The first runs call by call, so that all kernels are there; the second
// is captured, and this one and those after it are replays: inputs are copied to where the graph reads them, results
// from where it writes them, so that no later call changes what an earlier one gave. Random numbers and the numbers of
// optimizers' steps continue. Where captured memory has moved since, such as a parameter that was given other data, it
// is captured again. One thread at a time.
//
// ValueError for a program that is not of one CUDA device; NotImplementedError where numbers vary from run to run that
// no optimizer has; CudaError where a call of it waits for the device.
//
//   graph::Replay step(optimized(graph::trace(f, inputs)));
//   for (...) loss = step({{x, labels}})[0];
class Replay {
 public:
  explicit Replay(Program);
  Replay(Replay&&) noexcept;
  Replay& operator=(Replay&&) noexcept;
  ~Replay();

  std::vector<Tensor> operator()(std::span<const Tensor> inputs);
  const Program& program() const;
  std::int64_t captures() const;  // so far

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace neura::graph
