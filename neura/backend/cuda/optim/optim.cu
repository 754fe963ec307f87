// Optimizer steps: many tensors in one launch, described in its parameters. A block takes a part of one tensor, through
// registers: every element is read once and written once.
#include "neura/backend/cuda/optim/optim.cuh"

#include "neura/backend/cuda/runtime/failure.h"
#include "neura/backend/cuda/runtime/stream.h"

namespace neura::cuda {
namespace {

template <class N> __device__ N maximum(N a, N b) { return max(a, b); }
template <class N> __device__ N minimum(N a, N b) { return a < b ? a : b; }
template <class N> __device__ N if_greater(N a, N b, N yes, N no) { return a > b ? yes : no; }
#define NEURA_RULE NEURA_HD
#include "neura/backend/number/optim.h"
#undef NEURA_RULE

constexpr int kTensors = 64, kRules = 4;  // of a launch: its parameters fit in 4 KiB
constexpr std::uint32_t kRounds = 4;      // packs of a thread
template <int States> struct Part {
  char* at[2 + States];  // param, grad, states; null where one is not there
  std::int64_t size;
  std::uint32_t block;  // the first one of this tensor
  std::uint16_t rule;   // of those here, or of the steps there
  bool packs;           // all are aligned to 16 bytes
};
template <class Rule, class Step, int States> struct Arguments {
  Part<States> part[kTensors];
  const Step* there = nullptr;
  union Rules {
    Rule rule[kRules];
    Rules() {}
  } rules;
  std::uint32_t parts = 0, blocks = 0, used = 0;  // rules that are used
  DType dtype;
};

template <class N, bool half, int V> __device__ void load(N (&to)[V], const char* p, DType d, std::uint32_t i) {
  if constexpr (!half) load_as<N, V>(to, p, i);
  else if (d == DType::bfloat16) load_as<BFloat16, V>(to, p, i);
  else load_as<Half, V>(to, p, i);
}
template <class N, bool half, int V> __device__ void store(const N (&from)[V], char* p, DType d, std::uint32_t i) {
  if constexpr (!half) store_as<N, V>(from, p, i);
  else if (d == DType::bfloat16) store_as<BFloat16, V>(from, p, i);
  else store_as<Half, V>(from, p, i);
}
// V elements from the i-th.
template <int V, bool half, int States, class N, class Rule>
__device__ __forceinline__ void advance(const Rule& rule, char* const (&at)[2 + States], DType d, std::uint32_t i) {
  N p[V], g[V], s[States + 1][V] = {};
  load<N, half>(p, at[0], d, i);
  load<N, half>(g, at[1], d, i);
#pragma unroll
  for (int k = 0; k < States; ++k)
    if (at[2 + k]) load<N, half>(s[k], at[2 + k], d, i);
#pragma unroll
  for (int v = 0; v < V; ++v) {
    N state[States + 1];
#pragma unroll
    for (int k = 0; k < States; ++k) state[k] = s[k][v];
    rule.template step<States>(p[v], g[v], state);
#pragma unroll
    for (int k = 0; k < States; ++k) s[k][v] = state[k];
  }
  store<N, half>(p, at[0], d, i);
#pragma unroll
  for (int k = 0; k < States; ++k)
    if (at[2 + k]) store<N, half>(s[k], at[2 + k], d, i);
}

template <template <class> class Rule, class N, bool half, int States, class Step>
__global__ void __launch_bounds__(kThreads) update(const __grid_constant__ Arguments<Rule<N>, Step, States> a) {
  constexpr std::uint32_t V = half ? 8 : kPack<N>, most = kThreads * V * kRounds;
  const Part<States>& part = part_of_block(a.part, a.parts);
  const Rule<N> rule = a.there ? Rule<N>(a.there[part.rule]) : a.rules.rule[part.rule];
  const std::int64_t begin = std::int64_t(blockIdx.x - part.block) * most, left = part.size - begin;
  const std::uint32_t size = left < most ? std::uint32_t(left) : most, whole = part.packs ? size / V * V : 0;
  char* at[2 + States];
#pragma unroll
  for (int k = 0; k < 2 + States; ++k)
    at[k] = part.at[k] ? part.at[k] + begin * std::int64_t(half ? 2 : sizeof(N)) : nullptr;
  for (std::uint32_t i = threadIdx.x * V; i < whole; i += kThreads * V)
    advance<V, half, States, N>(rule, at, a.dtype, i);
  for (std::uint32_t i = whole + threadIdx.x; i < size; i += kThreads)
    advance<1, half, States, N>(rule, at, a.dtype, i);
}

template <template <class> class Rule, class N, bool half, int States, class Step>
Failed run(std::span<const OptimTensors> tensors, std::span<const Step> steps, const Step* there, cudaStream_t stream,
           int index) {
  using Args = Arguments<Rule<N>, Step, States>;
  static_assert(sizeof(Args) <= 4096);
  constexpr std::int64_t most = std::int64_t(kThreads) * (half ? 8 : kPack<N>)*kRounds;
  Args a;
  const auto launch = [&](std::size_t next) {
    if (a.parts) update<Rule, N, half, States><<<a.blocks, kThreads, 0, stream>>>(a);
    a.parts = a.blocks = a.used = 0, a.there = there ? there + next : nullptr;
  };
  launch(0);
  std::size_t first = 0, last = 0;  // steps: of the launch, and of the last rule
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const OptimTensors& t = tensors[i];
    const std::int64_t size = t.param.numel() * (neura::is_complex(t.param.dtype()) ? 2 : 1);
    if (!size) continue;
    const std::int64_t blocks = (size + most - 1) / most;
    const bool other = !there && (!a.used || !(steps[last] == steps[i]));
    if (a.parts == kTensors || std::int64_t(a.blocks) + blocks > INT32_MAX || (other && a.used == kRules) ||
        i - first > UINT16_MAX)
      launch(i), first = i;
    if (!there && (other || !a.used)) new (&a.rules.rule[a.used++]) Rule<N>(steps[i]), last = i;
    Part<States>& part = a.part[a.parts++];
    part.packs = true;
    for (int k = 0; k < 2 + States; ++k) {
      part.at[k] = k == 0 ? t.param.data : k == 1 ? t.grad.data : t.state[k - 2].data;
      part.packs = part.packs && reinterpret_cast<std::uintptr_t>(part.at[k]) % 16 == 0;
    }
    part.size = size, part.block = a.blocks, a.dtype = t.param.dtype();
    part.rule = std::uint16_t(there ? i - first : a.used - 1);
    a.blocks += std::uint32_t(blocks);
  }
  launch(0);
  return launched(index);
}

// Which numbers of states an optimizer has: the lowest and the highest.
struct States {
  int least, most;
};
template <template <class> class Rule, States states, class Step, int K = states.most>
void choose(Context& c, std::span<const OptimTensors> tensors, std::span<const Step> steps, const Step* there) {
  if (tensors.empty()) return;
  if constexpr (K > states.least)
    if (!tensors[0].state[K - 1]) return choose<Rule, states, Step, K - 1>(c, tensors, steps, there);
  const OnDevice on(c.device.index);
  const cudaStream_t stream = current_stream(c.device.index);
  const DType d = tensors[0].param.dtype();
  // A complex number is two real ones to every optimizer.
  if (bit(d) & dtypes::halves) c.fail(run<Rule, float, true, K>(tensors, steps, there, stream, c.device.index));
  else if (to_real(d) == DType::float32)
    c.fail(run<Rule, float, false, K>(tensors, steps, there, stream, c.device.index));
  else if (to_real(d) == DType::float64)
    c.fail(run<Rule, double, false, K>(tensors, steps, there, stream, c.device.index));
  else
    c.fail(fail(DeviceFailure::absent,
                "expected a parameter of float32, float64, float16, bfloat16 or complex "
                "numbers, got %s; convert it with .to()",
                name(d)));
}

}  // namespace

const optim_kernels* optim() {
  static constexpr optim_kernels table{
#define OPTIMIZER_STEP(name, Step, least, most, ...) .name = choose<name, States{least, most}, Step>,
#include "neura/tables/optimizers.def"
      .norm_of_all = norm_of_all, .clip_all = clip_all, .unscale_all = unscale_all};
  return &table;
}

}  // namespace neura::cuda
