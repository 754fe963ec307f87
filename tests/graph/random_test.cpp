// Random programs: rows of all tables on views, in place, broadcast, halves, sizes 0, 1 and odd, and some of several
// blocks of a fused call. A program runs as eager does, and every pass leaves its bits.
#include <algorithm>
#include <cmath>

#include "neura/graph/fused.h"
#include "neura/graph/passes.h"
#include "neura/graph/trace.h"
#include "neura/graph/window.h"
#include "neura/neura.h"
#include "tests/support/close.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

using Tensors = std::vector<Tensor>;
using graph::Program;

constexpr DType kDtypes[] = {float32, float32, float32, float16, bfloat16, float64, int64, int32, boolean, complex64};
constexpr DType kFloats[] = {float32, float32, float16, bfloat16, float64};
constexpr int kFusibleFrom = 300;  // parameters
constexpr std::int64_t kSizes[] = {0, 1, 1, 3, 4, 7, 33};
constexpr std::int64_t kLargeSizes[] = {2, 3, 20, 60, 700, 1100};  // of which three are several blocks

class Author {  // of one function: the same for the same seed. fusible: mainly of calls that are fused
 public:
  Author(std::uint64_t seed, bool fusible, const Tensors& memory, std::span<const Tensor> inputs)
      : dice_{seed}, fusible_(fusible) {
    pool_ = memory;
    if (seed % 2) pool_.push_back(tensor({1.5f, -0.5f, 2.0f})), pool_.push_back(exp(pool_.back()));
    pool_.insert(pool_.end(), inputs.begin(), inputs.end());
    written_ = memory.size();  // and what was made since, seldom
  }
  Tensors write(int calls) {
    for (int i = 0; i < calls; ++i) {
      try {
        step();
      } catch (const Error&) {  // dtypes or sizes that do not go together
      }
    }
    return {pool_.end() - std::min<std::ptrdiff_t>(4, std::ptrdiff_t(pool_.size())), pool_.end()};
  }
  const Tensors& pool() const { return pool_; }
  double read() {  // one value
    const Tensor t = pick().detach().flatten();
    return t.numel() ? sum(to(t.narrow(0, t.numel() / 2, 1), float64)).item<double>() : 0;
  }

 private:
  Tensor pick() {
    const auto all = std::int64_t(pool_.size());
    return pool_[std::size_t(fusible_ && dice_.below(3) ? all - 1 - dice_.below(std::min<std::int64_t>(all, 3))
                                                        : dice_.below(all))];
  }
  Tensor own() {
    return std::size_t(dice_.below(3)) ? pick() : pool_[std::size_t(dice_.below(std::int64_t(written_)))];
  }
  const Row& row() {
    const auto rows = all_rows();
    for (;;) {
      const Row& r = *rows[std::size_t(dice_.below(std::int64_t(rows.size())))];
      if (fusible_ && !r.types.accepts(float32)) continue;
      if (!r.types.divides) return r;  // division by zero reads values
    }
  }
  Operand operand() {
    const std::int64_t kind = dice_.below(8);
    if (kind == 0) return Operand(dice_.uniform() * 4 - 2);
    if (kind == 1) return Operand(dice_.below(5));
    pinned_.push_back(pick());
    return Operand(pinned_.back());
  }
  Tensor view(const Tensor& t) {
    const int d = t.dim() ? int(dice_.below(t.dim())) : 0;
    switch (dice_.below(7)) {
      case 0:
        return t.t();
      case 1:
        return t.slice(d, dice_.below(3), t.size(d) - dice_.below(2), 1 + dice_.below(2));
      case 2:
        return t.select(d, 0);
      case 3:
        return t.unsqueeze(d);
      case 4:
        return t.detach().flatten();
      case 5:
        return t.unsqueeze(0).expand({3, -1, -1});
      default:
        return t.narrow(d, 0, t.size(d) / 2);
    }
  }
  void step() {
    pinned_.clear();
    pinned_.reserve(3);
    switch (fusible_ ? 6 + dice_.below(9) : dice_.below(10)) {
      case 0:
      case 1:
        return pool_.push_back(view(pick()));
      case 2: {  // in place, maybe of a view
        Tensor self = dice_.below(2) ? view(own()) : own();
        const Row& r = row();
        Operand in[] = {self, operand(), operand()};
        Call call{&r, r.attributes.fallback, in, r.inputs, &self, Destination::in_place};
        return apply(call);
      }
      case 3: {
        Tensor out = own().detach();  // of another shape it takes other memory
        const Row& r = row();
        Operand in[] = {operand(), operand(), operand()};
        Call call{&r, r.attributes.fallback, in, r.inputs, &out, Destination::out};
        return apply(call);
      }
      case 4:
        return pool_.push_back(sum(pick(), {0}));
      case 5:
        return pool_.push_back(cat({pick(), pick()}, 0));
      case 6:
        return pool_.push_back(to(pick(), fusible_ ? kFloats[dice_.below(5)] : kDtypes[dice_.below(10)]));
      case 14: {
        const Tensor x = pick();
        if (x.dim() == 0) return;
        return pool_.push_back(sum(x, {dice_.below(x.dim())}, true));
      }
      default: {
        const Row& r = row();
        Operand in[] = {operand(), operand(), operand()};
        Tensor out;
        Call call{&r, r.attributes.fallback, in, r.inputs, &out};
        return apply(call), pool_.push_back(out);
      }
    }
  }

  Dice dice_;
  const bool fusible_;
  Tensors pool_, pinned_;
  std::size_t written_;
};

Shape large_shape(Dice& dice) {
  Shape s{kLargeSizes[dice.below(6)]};
  while (s.size() < 3 && s.numel() < 2000) s.insert(0, kLargeSizes[dice.below(4)]);
  return s;
}
Tensors drawn(Dice& dice, int count, bool fusible) {
  Tensors all;
  Shape whole{kSizes[dice.below(7)], kSizes[dice.below(7)]};
  if (fusible && dice.below(3) == 0) whole = large_shape(dice);
  for (int i = 0; i < count; ++i) {
    Shape s = whole;
    for (int d = 0; d < s.size() && !(fusible && i % 2); ++d)
      if (dice.below(4) == 0) s[d] = 1;
    all.push_back(sample(s, fusible ? kFloats[dice.below(5)] : kDtypes[dice.below(10)], {.seed = dice.bits()}));
  }
  return all;
}
Tensors copies(const Tensors& t) {
  Tensors all;
  for (const Tensor& x : t) all.push_back(x.clone());
  return all;
}

const std::vector<std::pair<const char*, Program (*)(const Program&)>> kPasses = {
    {"as traced", [](const Program& p) { return p; }},
    {"without_dead", graph::without_dead},
    {"without_repeats", graph::without_repeats},
    {"folded", graph::folded},
    {"fused", graph::fused},
    {"optimized", graph::optimized},
};

struct Fusions {  // fused calls, and those of them that ...
  int all = 0, several_results = 0, rows = 0, columns = 0, conversions = 0, blocks = 0;
  void add(const Program& p, const graph::Node& n) {
    ++all, several_results += n.out.size() > 1, blocks += p.values[n.out[0]].numel > 1024;
    bool row = false, column = false, converts = false;
    for (const graph::Arg& a : n.in) {
      const auto b = graph::broadcast_of(p.values[a.id], p.values[n.out[0]].sizes());
      row |= b->repeat == 1 && b->count > 1 && b->count<p.values[n.out[0]].numel, column |= b->repeat> 1;
    }
    for (const graph::FusedCall& c : static_cast<const graph::Fused*>(n.op->get())->calls)
      converts |= graph::is_conversion(*graph::row_of_number(c.row));
    rows += row, columns += column, conversions += converts;
  }
};

class RandomProgram : public testing::TestWithParam<int> {
 protected:
  static void TearDownTestSuite() {
    if (programs < kFusibleFrom) return;  // by a filter
    EXPECT_GT(fusions.all, 150);
    EXPECT_GT(fusions.several_results, 60);
    EXPECT_GT(fusions.rows, 5);
    EXPECT_GT(fusions.columns, 5);
    EXPECT_GT(fusions.conversions, 40);
    EXPECT_GT(fusions.blocks, 20);
  }
  static inline Fusions fusions;
  static inline int programs = 0;
};
INSTANTIATE_TEST_SUITE_P(Seeds, RandomProgram, testing::Range(0, kFusibleFrom + 200));

// By plain counting: at each node, all that is read there or later and was made before lies apart.
void expect_apart(const Program& p) {
  const graph::MemoryPlan plan = plan_memory(p);
  std::vector<graph::ValueId> root(p.values.size());
  for (graph::ValueId v = 0; v < root.size(); ++v) root[v] = v;
  for (const graph::Node& n : p.nodes)
    if (n.row->kind == Row::view) root[n.out[0]] = root[n.in[0].id];
  const auto reads = [&](std::size_t i, graph::ValueId v) {
    const auto is = [&](const graph::Arg& a) { return a.is_value() && root[a.id] == v; };
    const graph::Node& n = p.nodes[i];
    return std::any_of(n.in.begin(), n.in.end(), is) || (n.into != graph::kNoValue && root[n.into] == v);
  };
  for (std::size_t i = 0; i < p.nodes.size(); ++i) {
    std::vector<std::pair<std::size_t, std::size_t>> live;
    for (std::size_t made = 0; made <= i; ++made)
      for (const graph::ValueId v : p.nodes[made].out) {
        bool later = made == i;
        for (std::size_t k = i; k < p.nodes.size(); ++k) later = later || reads(k, v);
        for (const graph::Update& u : p.updates) later = later || root[u.value] == v;
        if (!later || plan.offset[v] == std::string::npos) continue;
        live.emplace_back(plan.offset[v], plan.offset[v] + p.values[v].bytes());
      }
    std::sort(live.begin(), live.end());
    for (std::size_t k = 1; k < live.size(); ++k) EXPECT_LE(live[k - 1].second, live[k].first) << "at node " << i;
    if (!live.empty()) EXPECT_LE(live.back().second, plan.bytes);
  }
}

TEST_P(RandomProgram, RunsAsEagerDoes) {
  const auto seed = std::uint64_t(GetParam());
  const bool fusible = GetParam() >= kFusibleFrom;
  Dice dice{seed * 977 + 5};
  const Tensors memory = drawn(dice, 2, fusible), inputs = drawn(dice, 3, fusible), traced = copies(memory);
  const auto f = [&](const Tensors& m, std::span<const Tensor> in) { return Author(seed, fusible, m, in).write(14); };
  Program p;
  try {
    p = graph::trace([&](auto in) { return f(traced, in); }, copies(inputs));
  } catch (const ValueError& e) {
    EXPECT_NE(std::string(e.what()).find("of one dtype"), std::string::npos) << e.what();
    return;
  }
  EXPECT_EQ(str(graph::parse(str(p, true)), true), str(p, true));
  expect_apart(p), expect_apart(optimized(p));
  ++programs;
  const Program fast = optimized(p);
  for (const graph::Node& n : fast.nodes)
    if (graph::is_fused(*n.row)) fusions.add(fast, n);
  for (const auto& [name, pass] : kPasses) {
    SCOPED_TRACE(std::string(name) + "\n" + str(p));
    const Program q = pass(p);
    verify(q);
    const Tensors eager = copies(memory), in = copies(inputs), in_eager = copies(inputs);
    for (std::size_t k = 0; k < memory.size(); ++k) Tensor(traced[k]).copy_(memory[k]);
    for (int step = 0; step < 2; ++step) {
      const Tensors want = f(eager, in_eager), got = run(q, in);
      ASSERT_EQ(got.size(), want.size());
      for (std::size_t k = 0; k < want.size(); ++k) expect_same(got[k], want[k]);
      for (std::size_t k = 0; k < memory.size(); ++k) expect_same(traced[k], eager[k]);
      for (std::size_t k = 0; k < in.size(); ++k) expect_same(in[k], in_eager[k]);
    }
    if (HasFailure()) break;
  }
}

// The same functions compiled, which may read values, and record.
TEST_P(RandomProgram, RunsAsEagerDoesWhenCompiled) {
  for (int part = 0; part < 10; ++part) {
    const auto seed = std::uint64_t(GetParam() * 10 + part);
    const bool fusible = GetParam() >= kFusibleFrom;
    SCOPED_TRACE(seed);
    Dice dice{seed * 677 + 5};
    const Tensors memory = drawn(dice, 2, fusible), inputs = drawn(dice, 3, fusible);
    const bool records = dice.below(2);
    struct Outcome {
      Tensors results, memory, grads;
      double value;
      std::string error;
    };
    const auto f = [&](const Tensors& m, const Tensors& given) {
      Outcome o;
      Tensors in = given;
      for (Tensor& x : in)
        if (records && is_floating(x.dtype())) x.requires_grad_(), o.grads.push_back(x);
      Author author(seed, fusible, m, in);
      author.write(8);
      o.value = author.read();
      author.write(8);
      o.results = author.pool();
      for (const Tensor& y : o.results)
        if (records && y.requires_grad() && is_floating(y.dtype()) && !y.is_leaf()) {
          try {
            sum(y).backward({}, true);
          } catch (const Error& e) {
            o.error += e.what();
          }
        }
      return o;
    };
    auto compiled = graph::compile(f, {.least = 1});
    for (int call = 0; call < 2; ++call) {
      const Tensors m = copies(memory), n = copies(memory);
      const Outcome want = f(m, copies(inputs)), got = compiled(n, copies(inputs));
      ASSERT_EQ(got.results.size(), want.results.size());
      for (std::size_t k = 0; k < want.results.size(); ++k) expect_same(got.results[k], want.results[k]);
      for (std::size_t k = 0; k < m.size(); ++k) expect_same(n[k], m[k]);
      for (std::size_t k = 0; k < want.grads.size(); ++k) {
        ASSERT_EQ(got.grads[k].grad().defined(), want.grads[k].grad().defined());
        if (want.grads[k].grad()) expect_same(got.grads[k].grad(), want.grads[k].grad());
      }
      EXPECT_TRUE(got.value == want.value || (std::isnan(got.value) && std::isnan(want.value)));
      EXPECT_EQ(got.error, want.error);
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace neura::test
