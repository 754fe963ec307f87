// vmap: a level whose tensors show one sample of a batch; the tensors that they wrap have the batch as dimension 0. The
// batching rule of a row (vmap_rules.cpp) turns a call into one call, or a few, on whole batches; without a rule its
// definition runs, or a loop over the samples, which is always right.
#pragma once
#include <memory>
#include <set>
#include <vector>

#include "neura/autograd/level.h"

namespace neura {

enum class Randomness : std::uint8_t { error, same, different };  // what drawing random numbers means inside

struct BatchCall;

class BatchLevel final : public Level {
 public:
  BatchLevel(std::int64_t size, Randomness);
  std::int64_t size() const { return size_; }
  Randomness randomness() const { return randomness_; }
  Tensor in(const Tensor& t, int dim);         // wraps a tensor whose dimension `dim` is the batch
  Tensor out(const Tensor& t, int dim) const;  // unwraps it, with the batch at `dim`; expanded where it is not batched
  bool is_batched(const Tensor& t) const;
  Tensor lift(const Tensor& t) override;
  void join(const Tensor& view, const TensorImpl* of) { set_base(view, of); }

 private:
  friend struct BatchCall;
  struct Batched;
  Tensor make(Tensor value, bool batched) const;
  bool spreads(const Call&) const override;
  Tensor adopted(const Tensor& value) override;
  void run(Call&) override;
  void announce(const Call&, const PhiloxState&) override;
  bool draw(Call&) override;
  bool records_parts(const Call&) const override;
  bool draws_apart(const Call&) const;  // does each sample draw numbers of its own?

  const std::int64_t size_;
  const Randomness randomness_;
  // (seed, offset) of draws that were reserved here for all samples at once: each has its part of the numbers.
  std::set<std::pair<std::uint64_t, std::uint64_t>> apart_;
};

// The arguments of a batching rule.
struct BatchCall {
  BatchLevel& level;
  Call& call;              // sizes of one sample
  std::vector<Tensor> in;  // values: with the batch in front where `batched`; undefined for numbers and absent ones
  std::vector<bool> batched;
  bool own_numbers = false;

  BatchCall(BatchLevel&, Call&);
  const Row& row() const { return *call.row; }
  std::int64_t size() const { return level.size_; }
  int rank(int i) const { return call.in[i].tensor->spec.rank; }
  const Spec& spec(int i) const { return call.in[i].tensor->spec; }
  bool any_of(std::initializer_list<int> operands) const;
  void batch(int i);  // gives operand i a batch, expanding it if all samples share it
  void batch_all();
  void pad(int i, int rank);  // sizes of 1 after the batch, until a sample of operand i has that rank
  void lay_out();             // makes an operand contiguous whose samples are: kernels read the whole batch
  void finish(const Row&, const void* op);  // makes this call one level below and sets its results
  void define();                            // runs the operation's definition on this level's tensors
  void set_result(int k, Tensor value);     // a result, with the batch in front
  void write_result(const Tensor& value);   // the one result, into the destination if there is one
  Tensor beneath(const Row&, const void* op, std::vector<Tensor> operands, int result = 0) const;
};

using BatchRule = void (*)(BatchCall&);
BatchRule batch_rule(const Row&);  // null: by definition or by a loop
void loop_over_samples(BatchCall&);
// How often a call had no rule and looped, by the row's name, on this thread; for tests.
std::set<std::string>& looped_rows();

}  // namespace neura
