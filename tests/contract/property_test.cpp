// Random programs of views and writes, against a model that knows nothing of strides: for every tensor the list of the
// base's elements that it shows. NEURA_SEED=<n> replays one program; a failure prints its seed.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/view.h"

namespace neura {
namespace {

struct Modelled {
  Tensor tensor;
  std::vector<std::size_t> places;  // in the base, in logical order
};

class Program {
 public:
  explicit Program(unsigned seed) : random_(seed) {
    Shape s;
    for (int d = pick(1, 4); d > 0; --d) s.push_back(pick(1, 5));
    base_ = arange(double(s.numel())).reshape(s).clone();
    values_.resize(std::size_t(s.numel()));
    Modelled all{base_, {}};
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = double(i), all.places.push_back(i);
    live_.push_back(all);
  }
  void run() {
    for (int step = 0; step < 12 && !testing::Test::HasFailure(); ++step) {
      if (pick(0, 3)) live_.push_back(view_of(live_[std::size_t(pick(0, int(live_.size()) - 1))]));
      else write(live_[std::size_t(pick(0, int(live_.size()) - 1))]);
      for (const Modelled& m : live_) compare(m);
    }
  }

 private:
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

  // The places of t's elements, by asking a tensor of places for the same view.
  template <class F> Modelled viewed(const Modelled& m, F f) {
    const Tensor places = tensor(std::vector<std::int64_t>(m.places.begin(), m.places.end()), m.tensor.shape());
    const Tensor shown = f(places).contiguous();  // the model's own layout is always dense
    Modelled out{f(m.tensor), {}};
    for (std::int64_t p : shown.to_vector<std::int64_t>()) out.places.push_back(std::size_t(p));
    return out;
  }
  Modelled view_of(const Modelled& m) {
    const Tensor& t = m.tensor;
    const int rank = t.dim(), d = rank ? pick(0, rank - 1) : 0;
    switch (rank ? pick(0, 6) : 4) {
      case 0:
        return viewed(m, [&](const Tensor& x) { return transpose(x, d, rank - 1); });
      case 1: {
        if (t.size(d) == 0) return m;
        const int i = pick(0, int(t.size(d)) - 1);
        return viewed(m, [&](const Tensor& x) { return select(x, d, i); });
      }
      case 2: {
        const int a = pick(0, int(t.size(d))), b = pick(a, int(t.size(d))), step = pick(1, 3);
        return viewed(m, [&](const Tensor& x) { return slice(x, d, a, b, step); });
      }
      case 3:
        return viewed(m, [&](const Tensor& x) { return squeeze(x); });
      case 4:
        return rank < 6 ? viewed(m, [&](const Tensor& x) { return unsqueeze(x, pick_at_ % (rank + 1)); }) : m;
      case 5:
        return rank > 1 ? viewed(m, [&](const Tensor& x) { return diagonal(x, 0, 0, rank - 1); }) : m;
      default:
        return viewed(m, [&](const Tensor& x) { return movedim(x, d, 0); });
    }
  }
  void write(Modelled& m) {
    const double factor = pick(1, 3);
    if (pick(0, 1)) {
      mul_(m.tensor, factor);
      for (std::size_t p : m.places) values_[p] *= factor;
    } else {
      m.tensor.fill_(factor);
      for (std::size_t p : m.places) values_[p] = factor;
    }
  }
  void compare(const Modelled& m) {
    const std::vector<double> got = m.tensor.contiguous().to(float64).to_vector<double>();
    ASSERT_EQ(got.size(), m.places.size());
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], values_[m.places[i]]) << "element " << i;
    double total = 0;
    for (double v : got) total += v;
    ASSERT_EQ(sum(m.tensor).item<double>(), total);  // whole numbers: exact in any order
  }

  std::mt19937 random_;
  int pick_at_ = int(random_() % 7);
  Tensor base_;
  std::vector<double> values_;
  std::vector<Modelled> live_;
};

TEST(Property, ViewsAndWritesAgreeWithAModelWithoutStrides) {
  const char* replay = std::getenv("NEURA_SEED");
  const unsigned first = replay ? unsigned(std::strtoul(replay, nullptr, 10)) : 1, last = replay ? first : 400;
  for (unsigned seed = first; seed <= last && !HasFailure(); ++seed) {
    SCOPED_TRACE("NEURA_SEED=" + std::to_string(seed));
    Program(seed).run();
  }
}

}  // namespace
}  // namespace neura
