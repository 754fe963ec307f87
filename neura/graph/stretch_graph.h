// A stretch as one launch of a CUDA graph; a part of automatic_replay.cpp.
#pragma once
#include "neura/cuda/graph.h"
#include "neura/graph/stretch_run.h"

namespace neura::graph {

// What it makes is in memory of its own, which is lent to the storages of results until the next replay.
class StretchGraph {
 public:
  explicit StretchGraph(std::shared_ptr<const Stretch> s) : stretch_(std::move(s)) {}
  StretchGraph(const StretchGraph&) = delete;
  ~StretchGraph();
  // The launches of a run that has all of them. False: they cannot be captured, or draw other numbers than in order;
  // nothing has run then.
  bool replay(StretchRun&);

 private:
  struct Loan final : PromisedStorage {
    void keep() override {}
  };
  static void end_of_loan(Storage*);
  bool fits(StretchRun&);
  bool capture(StretchRun&);
  void move_results();
  void copy_inputs(const StretchRun&, bool back);
  void send_steps(const StretchRun&);
  void lend_results(StretchRun&);

  const std::shared_ptr<const Stretch> stretch_;
  std::optional<cuda::Graph> graph_;
  int captures_ = 0;
  std::vector<bool> copied_;             // external memory, by id, whose bytes are copied to where the graph has them
  std::vector<bool> kept_;               // results whose bytes are there after a replay
  std::vector<Tensor> memory_;           // of those two kinds, by id: the graph's own
  std::vector<const void*> addresses_;   // of other external memory
  std::vector<Tensor> steps_;            // by launch: the numbers of an optimizer's step, on the device
  std::vector<std::vector<char>> sent_;  // and what they were last
  std::vector<std::pair<std::size_t, PhiloxState>> draws_;  // of the capture, by launch
  std::vector<std::pair<MemoryId, Ref<Loan>>> loans_;
  std::optional<cuda::Stream> last_;
};

}  // namespace neura::graph
