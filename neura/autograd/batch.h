// vmap: a level whose tensors represent one sample each of a batch. Beneath, the batch is dimension 0. A call on them
// becomes one call, or a few, on whole batches by the rule of its row (batch_rules.cpp); where there is no rule, its
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
  Tensor in(const Tensor& t, int dim);         // from outside: dim holds the samples
  Tensor out(const Tensor& t, int dim) const;  // to outside: dim holds the samples; expanded where all are one
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
  bool draws_apart(const Call&) const;  // has each sample its own part of the numbers?

  const std::int64_t size_;
  const Randomness randomness_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> apart_;  // numbers reserved here for all samples at once
};

// A call as its rule sees it.
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
  void batch(int i);  // that operand batched: expanded if it is one for all
  void batch_all();
  void pad(int i, int rank);  // ones behind the batch, so that a batched operand has that rank for each sample
  void lay_out();             // contiguous where one sample is: kernels read all at once
  void finish(const Row&, const void* op);  // the call beneath, to where the results belong
  void define();                            // its definition, of this level's tensors
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
