// Convolutions by cuDNN. An execution plan is made once for a shape and kept; a call then sets its pointers and runs
// it.
#include <cuda_runtime_api.h>

#include <atomic>
#include <cstring>

#include "neura/backend/cuda/conv/conv.h"
#include "neura/core/settings.h"

#ifdef NEURA_CUDNN
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "neura/backend/cuda/conv/cudnn_session.h"
#include "neura/backend/cuda/runtime/capture.h"
#include "neura/backend/cuda/runtime/precision.h"
#include "neura/backend/cuda/runtime/scratch.h"
#endif

namespace neura::cuda {
namespace {
std::atomic<std::int64_t> done{0};  // convolutions that cuDNN has computed

std::atomic<bool>& wanted() {
  static std::atomic<bool> on{setting_on(Setting::cudnn, true)};
  return on;
}
}  // namespace

#ifdef NEURA_CUDNN
namespace {

constexpr std::int64_t kMostWorkspace = std::int64_t{1} << 30;
constexpr std::size_t kMostPlans = 2048;  // of a session
constexpr int kTimed = 6;                 // plans that NEURA_CUDNN_BENCHMARK=1 compares

struct Key {
  ConvShape shape;
  Convolve what;
  DType dtype;
  bool bias, aligned, tf32;
  bool deterministic;
  bool frugal = false;       // without a workspace
  std::uint8_t unused = {};  // every byte counts

  bool operator==(const Key& o) const { return !std::memcmp(this, &o, sizeof *this); }
};
static_assert(sizeof(Key) == sizeof(ConvShape) + 8);
struct HashOfKey {
  std::size_t operator()(const Key& k) const {
    std::uint64_t words[sizeof(Key) / 8], h = 0;
    std::memcpy(words, &k, sizeof k);
    for (std::uint64_t w : words) h = (h ^ w) * 0x9e3779b97f4a7c15u, h ^= h >> 29;
    return h;
  }
};

enum Id : std::int64_t { image_id = 1, filter_id, result_id, bias_id, sum_id };
struct Plan {
  std::shared_ptr<std::vector<Descriptor>> graph;  // which `plan` was made of, with its configuration
  Descriptor config, plan, pack;
  void* pointers[5] = {};  // of `pack`: image, filter, result, bias, workspace
  std::int64_t workspace = 0;
  bool biased = false, captured = false;  // a graph may replay its kernels
  std::uint64_t used = 0;
};
struct Session : CudnnSession {
  std::unordered_map<Key, Plan, HashOfKey> plans;
  std::uint64_t calls = 0;
};

cudnnDataType_t type_of(DType d) {
  switch (d) {
    case DType::float64:
      return CUDNN_DATA_DOUBLE;
    case DType::float16:
      return CUDNN_DATA_HALF;
    case DType::bfloat16:
      return CUDNN_DATA_BFLOAT16;
    default:
      return CUDNN_DATA_FLOAT;
  }
}

struct Sizes {  // batch, channels, spatial..
  std::int64_t n[5];
  int rank;
};
Sizes sizes_of(const ConvShape& s, std::int64_t first, std::int64_t second, const std::int64_t (&spatial)[3]) {
  // cuDNN has more ways for two dimensions than for three.
  const bool flat = s.in[0] == 1 && s.kernel[0] == 1 && s.out[0] == 1 && s.padding[0] == 0;
  Sizes z{{first, second}, 2};
  for (int d = flat; d < 3; ++d) z.n[z.rank++] = spatial[d];
  return z;
}
Descriptor tensor_of(Id id, cudnnDataType_t type, const Sizes& z, const Key& k, bool is_virtual = false) {
  std::int64_t strides[5];
  for (std::int64_t d = z.rank - 1, step = 1; d >= 0; step *= z.n[d--]) strides[d] = step;
  Descriptor t(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  t.set(CUDNN_ATTR_TENSOR_DATA_TYPE, type).set(CUDNN_ATTR_TENSOR_DIMENSIONS, z.n, z.rank);
  t.set(CUDNN_ATTR_TENSOR_STRIDES, strides, z.rank).set(CUDNN_ATTR_TENSOR_UNIQUE_ID, std::int64_t(id));
  t.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, std::int64_t(k.aligned ? 16 : size_of(k.dtype)));
  t.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, is_virtual).finish();
  return t;
}

// Padding after the input: as much as before it where that gives the same windows, for which cuDNN has more ways.
bool pad_behind(const ConvShape& s, int d, std::int64_t* behind) {
  const std::int64_t before = s.padding[d], window = (s.kernel[d] - 1) * s.dilation[d] + 1;
  if (before < 0) return false;
  const auto windows = [&](std::int64_t after) {
    const std::int64_t room = s.in[d] + before + after - window;
    return room < 0 ? 0 : room / s.stride[d] + 1;
  };
  for (std::int64_t after : {before, std::max<std::int64_t>(0, s.reach(d) - s.in[d] - before)})
    if (windows(after) == s.out[d]) return *behind = after, true;
  return false;
}
Descriptor convolution_of(const Key& k, cudnnDataType_t compute, int dims) {
  const ConvShape& s = k.shape;
  std::int64_t behind[3];
  for (int d = 3 - dims; d < 3; ++d)
    if (!pad_behind(s, d, &behind[d])) return {};
  const int first = 3 - dims;
  Descriptor c(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  c.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, compute).set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CROSS_CORRELATION);
  c.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, std::int64_t(dims));
  c.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, s.dilation + first, dims);
  c.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, s.stride + first, dims);
  c.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, s.padding + first, dims);
  c.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, behind + first, dims).finish();
  return c;
}

struct Names {  // an operation's attributes
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t image, filter, result, convolution, alpha, beta;
};
constexpr Names kNames[] = {
#define NAMES(type, of, image, filter, result)                                                                \
  {                                                                                                           \
    CUDNN_BACKEND_OPERATION_CONVOLUTION_##type##_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_##of##_##image, \
        CUDNN_ATTR_OPERATION_CONVOLUTION_##of##_##filter, CUDNN_ATTR_OPERATION_CONVOLUTION_##of##_##result,   \
        CUDNN_ATTR_OPERATION_CONVOLUTION_##of##_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_##of##_ALPHA,     \
        CUDNN_ATTR_OPERATION_CONVOLUTION_##of##_BETA                                                          \
  }
    NAMES(FORWARD, FORWARD, X, W, Y), NAMES(BACKWARD_DATA, BWD_DATA, DX, W, DY),
    NAMES(BACKWARD_FILTER, BWD_FILTER, X, DW, DY)
#undef NAMES
};

// The convolution, with the bias added if `biased`, as a graph: the last of the parts. Empty: cuDNN refuses it.
std::vector<Descriptor> graph_of(const Session& session, const Key& k, bool biased) {
  const ConvShape& s = k.shape;
  const cudnnDataType_t type = type_of(k.dtype), compute = type == CUDNN_DATA_DOUBLE ? type : CUDNN_DATA_FLOAT;
  const Sizes result = sizes_of(s, s.n, s.filters, s.out);
  std::vector<Descriptor> parts;
  parts.push_back(tensor_of(image_id, type, sizes_of(s, s.n, s.channels, s.in), k));
  parts.push_back(tensor_of(filter_id, type, sizes_of(s, s.filters, s.group_channels(), s.kernel), k));
  parts.push_back(tensor_of(biased ? sum_id : result_id, biased ? compute : type, result, k, biased));
  parts.push_back(convolution_of(k, compute, result.rank - 2));
  const Names& name = kNames[int(k.what)];
  Descriptor op(name.type);
  op.set(name.image, parts[0]).set(name.filter, parts[1]).set(name.result, parts[2]).set(name.convolution, parts[3]);
  if (compute == CUDNN_DATA_DOUBLE) op.set(name.alpha, 1.0).set(name.beta, 0.0);
  else op.set(name.alpha, 1.0f).set(name.beta, 0.0f);
  parts.push_back(std::move(op.finish()));
  if (biased) {
    const std::int64_t one[3] = {1, 1, 1};
    parts.push_back(tensor_of(bias_id, type, sizes_of(s, 1, s.filters, one), k));
    parts.push_back(tensor_of(result_id, type, result, k));
    Descriptor add(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    add.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_POINTWISE_ADD).set(CUDNN_ATTR_POINTWISE_MATH_PREC, compute);
    parts.push_back(std::move(add.finish()));
    Descriptor sum(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    sum.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, parts[7]);
    sum.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, parts[2]).set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, parts[5]);
    parts.push_back(std::move(sum.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, parts[6]).finish()));
  }
  for (const Descriptor& d : parts)
    if (!d) return {};
  const cudnnBackendDescriptor_t ops[] = {parts[4].raw(), parts.back().raw()};
  Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1 + biased, ops);
  parts.push_back(std::move(graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, session.handle).finish()));
  if (!parts.back()) return {};
  return parts;
}

// Engines that are not as exact as the dtype, or whose result is another at every run where that is not wanted; of a
// fused bias, those that are compiled at their first use.
bool is_unwanted(const Descriptor& config, const Key& k, bool biased) {
  Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t raw = engine.raw();
  if (!config.get(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw)) return true;
  const auto notes = [&](cudnnBackendNumericalNote_t n) { return engine.has(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, n); };
  if (notes(CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION)) return true;
  if (k.deterministic && notes(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC)) return true;
  if (k.dtype == DType::float32 && notes(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS)) return true;
  if (k.dtype == DType::float32 && !k.tf32 && notes(CUDNN_NUMERICAL_NOTE_TENSOR_CORE)) return true;
  return biased && engine.has(CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION);
}

// The first `most` plans that heuristics propose and cuDNN accepts, the best first.
std::vector<Plan> plans_of(const Session& session, const Key& k, bool biased, std::size_t most) {
  std::vector<Plan> plans;
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    if (!plans.empty()) break;
    const auto parts = std::make_shared<std::vector<Descriptor>>(graph_of(session, k, biased));
    if (parts->empty()) break;
    Descriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, parts->back()).set(CUDNN_ATTR_ENGINEHEUR_MODE, mode).finish();
    const std::int64_t n = heuristics.get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, nullptr);
    std::vector<Descriptor> configs;
    std::vector<cudnnBackendDescriptor_t> raw;
    for (std::int64_t i = 0; i < n; ++i)
      configs.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR), raw.push_back(configs.back().raw());
    const std::int64_t got =
        heuristics.get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, n, raw.data());
    for (std::int64_t i = 0; i < got && plans.size() < most; ++i) {
      if (is_unwanted(configs[std::size_t(i)], k, biased)) continue;
      Plan p;
      p.plan = Descriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
      p.plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, session.handle);
      p.plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configs[std::size_t(i)]).finish();
      if (!p.plan.get(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &p.workspace)) continue;
      if (p.workspace > (k.frugal ? 0 : kMostWorkspace)) continue;
      p.graph = parts, p.config = std::move(configs[std::size_t(i)]), p.biased = biased;
      plans.push_back(std::move(p));
    }
  }
  return plans;
}

Failed run(Session& session, Plan& p, int index, const ConvData& data) {
  Scratch scratch(index, session.stream);
  void* pointers[5] = {data.image, data.filter, data.result, p.biased ? data.bias : nullptr, nullptr};
  if (p.workspace)
    if (Failed f = scratch.take(std::size_t(p.workspace), &pointers[4])) return f;
  if (!p.pack || std::memcmp(pointers, p.pointers, sizeof pointers) != 0) {
    const std::int64_t ids[] = {image_id, filter_id, result_id, bias_id}, n = p.biased ? 4 : 3;
    p.pack = Descriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    p.pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids, n).set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, pointers, n);
    p.pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, pointers[4]).finish();
    std::memcpy(p.pointers, pointers, sizeof pointers);
  }
  if (!p.pack) return fail(DeviceFailure::device, "cuDNN: a convolution's operands were refused");
  return failed(cudnn().cudnnBackendExecute(session.handle, p.plan.raw(), p.pack.raw()), "a convolution");
}

// Milliseconds that a plan takes; an hour if it fails.
float time_of(Session& session, Plan& p, int index, const ConvData& data) {
  constexpr int kRuns = 5;
  cudaEvent_t begin, end;
  float ms = 3.6e6f;
  if (run(session, p, index, data) || cudaEventCreate(&begin) != cudaSuccess) return ms;
  if (cudaEventCreate(&end) == cudaSuccess) {
    bool fine = cudaEventRecord(begin, session.stream) == cudaSuccess;
    for (int i = 0; i < kRuns; ++i) fine = fine && !run(session, p, index, data);
    fine = fine && cudaEventRecord(end, session.stream) == cudaSuccess;
    float measured;
    if (fine && cudaEventSynchronize(end) == cudaSuccess && cudaEventElapsedTime(&measured, begin, end) == cudaSuccess)
      ms = measured / kRuns;
    discard(cudaEventDestroy(end));
  }
  discard(cudaEventDestroy(begin));
  return ms;
}
Plan best_plan(Session& session, const Key& k, int index, const ConvData& data, bool may_wait) {
  static const bool timed = setting_on(Setting::cudnn_benchmark, false);
  const std::size_t most = timed && may_wait ? kTimed : 1;
  std::vector<Plan> plans;
  if (k.bias) plans = plans_of(session, k, true, most);
  if (plans.empty()) plans = plans_of(session, k, false, most);
  if (plans.empty()) return {};  // remembered as well
  std::size_t best = 0;
  float least = 3.6e6f;
  for (std::size_t i = 0; i < plans.size() && plans.size() > 1; ++i) {
    const float ms = time_of(session, plans[i], index, data);
    if (ms < least) least = ms, best = i;
  }
  return std::move(plans[best]);
}
// Drops the half that was not used for longest, except for what a graph may replay.
void make_room(Session& session) {
  std::vector<std::uint64_t> times;
  for (const auto& [key, plan] : session.plans) times.push_back(plan.used);
  const auto middle = times.begin() + std::ptrdiff_t(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  if (cudaDeviceSynchronize() != cudaSuccess) return void(cudaGetLastError());  // some may still be running
  std::erase_if(session.plans,
                [&](const auto& entry) { return !entry.second.captured && entry.second.used < *middle; });
}
Plan& plan_for(Session& session, const Key& k, int index, const ConvData& data, bool may_wait) {
  auto at = session.plans.find(k);
  if (at == session.plans.end()) {
    if (session.plans.size() >= kMostPlans && may_wait) make_room(session);
    at = session.plans.emplace(k, best_plan(session, k, index, data, may_wait)).first;
  }
  at->second.used = ++session.calls;
  return at->second;
}

}  // namespace

bool cudnn_wanted() { return wanted() && cudnn().loaded; }

bool by_cudnn(Convolve what, int index, DType dtype, const ConvShape& s, const ConvData& data, bool* biased,
              Failed* failure) {
  constexpr std::int64_t kMost = INT32_MAX;  // elements of an operand
  if (!cudnn_wanted() || !is_floating(dtype)) return false;
  if (s.n * s.channels * s.in_size() > kMost || s.n * s.filters * s.out_size() > kMost) return false;
  std::uintptr_t bits = 0;
  for (const char* p : {data.image, data.filter, data.result, data.bias}) bits |= reinterpret_cast<std::uintptr_t>(p);
  const bool tf32 = dtype == DType::float32 && convolution_may_use_tf32();
  Key key{s, what, dtype, data.bias != nullptr, bits % 16 == 0, tf32, deterministic_algorithms()};
  const bool may_wait = !captures(index), recorded = !may_wait && capturing(index);
  std::optional<RelaxedCapture> relaxed;
  if (!may_wait) relaxed.emplace();
  CudnnLease<Session> lease(index);
  if ((*failure = lease.open(current_stream(index)))) return true;
  for (const bool frugal : {false, true}) {  // where memory runs out
    key.frugal = frugal;
    Plan& p = plan_for(*lease, key, index, data, may_wait);
    if (!p.plan) return *failure = nullptr, false;
    p.captured |= recorded;
    *biased = p.biased;
    *failure = run(*lease, p, index, data);
    if (!*failure || (*failure)->kind != DeviceFailure::memory) break;
  }
  done += !*failure;
  return true;
}
#else
bool by_cudnn(Convolve, int, DType, const ConvShape&, const ConvData&, bool*, Failed*) { return false; }
#endif

}  // namespace neura::cuda

// For tests and for programs that ask: its version (0: not there), how many convolutions it has computed, and a switch
// (NEURA_CUDNN=0 starts without it).
extern "C" __attribute__((visibility("default"))) std::int64_t neura_cudnn_version() {
#ifdef NEURA_CUDNN
  if (neura::cuda::cudnn().loaded) return std::int64_t(neura::cuda::cudnn().cudnnGetVersion());
#endif
  return 0;
}
extern "C" __attribute__((visibility("default"))) std::int64_t neura_cudnn_convolutions() { return neura::cuda::done; }
extern "C" __attribute__((visibility("default"))) void neura_cudnn_use(bool use) { neura::cuda::wanted() = use; }
