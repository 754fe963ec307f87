#include "neura/graph/fused_cuda.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <map>
#include <mutex>

#include "neura/core/interpreter.h"
#include "neura/cuda/tables.h"
#include "neura/graph/fused_text.h"
#include "neura/op/registry.h"

namespace neura::graph {
namespace {

constexpr std::int64_t kMostBlocks = 1 << 20;

std::atomic<std::int64_t> compiled_calls, apart_calls;

// Two calls with the same one have the same text.
std::string key_of(const Fused& f, const FusedLayout& l, Device d) {
  std::string key;
  const auto add = [&](std::int64_t n) { key.append(reinterpret_cast<const char*>(&n), 3); };
  for (const std::int64_t n :
       {std::int64_t(d.index), std::int64_t(l.rank), std::int64_t(l.pack), std::int64_t(l.wide),
        std::int64_t(l.operands.size()), std::int64_t(f.numbers.size()), std::int64_t(f.also.size())})
    add(n);
  for (const std::int64_t i : f.also) add(i);
  for (const FusedOperand& o : l.operands) add(std::int64_t(o.dtype) << 8 | o.access);
  for (const FusedCall& c : f.calls) {
    key.append(reinterpret_cast<const char*>(&c.row), sizeof c.row);  // a number made from a name: all of it counts
    add(std::int64_t(c.computed) << 8 | std::int64_t(c.result));
    for (const std::int64_t s : c.in) add(s);
  }
  return key;
}

// A kernel of the device, or null: then it is not asked for again.
void* compile(const Fused& f, const FusedLayout& l, Device d) {
  try {
    const auto made =
        cuda::compile_kernel(text_of(f, l), kFusedName, {"-std=c++20"}, cuda::architecture_of(d), fused_headers());
    void* kernel = nullptr;
    return cuda::libraries_of(d).load(made->code.data(), made->code.size(), made->name.c_str(), &kernel) ? nullptr
                                                                                                         : kernel;
  } catch (const std::exception&) {
    return nullptr;
  }
}
void* found(const Fused& f, const FusedLayout& l, Device d) {
  static std::mutex* const mutex = new std::mutex;
  static auto* const kernels = new std::map<std::string, std::shared_future<void*>>;
  std::promise<void*> mine;
  std::shared_future<void*> kernel;
  {
    const std::lock_guard lock(*mutex);
    std::shared_future<void*>& known = (*kernels)[key_of(f, l, d)];
    kernel = known;
    if (!known.valid()) known = mine.get_future().share();
  }
  if (kernel.valid()) {
    using namespace std::chrono_literals;
    const GilRelease unlocked(kernel.wait_for(0s) != std::future_status::ready);
    return kernel.get();
  }
  void* const made = compile(f, l, d);
  mine.set_value(made);
  return made;
}

// Memory of calls' values. What is no result is given again once the last call that reads it has run.
class Between {
 public:
  Between(const Fused& f, Context& c, std::size_t first, std::span<const View> results)
      : context_(c), last_(f.calls.size(), f.calls.size()), data_(f.calls.size()) {
    for (std::size_t i = 0; i < f.calls.size(); ++i) {
      for (const std::int64_t s : f.calls[i].in)
        if (s >= std::int64_t(first)) last_[std::size_t(s) - first] = i;
      specs_.push_back(Spec::dense(f.calls[i].result, f.size, c.device));
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      const auto call = std::size_t(&result_of(f, i) - f.calls.data());
      data_[call] = results[i].data, last_[call] = f.calls.size();
    }
  }
  View view(std::size_t i) const { return {data_[i], &specs_[i]}; }
  View make(std::size_t i) {
    if (data_[i]) return view(i);
    const auto free =
        std::find_if(free_.begin(), free_.end(), [&](std::size_t k) { return specs_[k].bytes() == specs_[i].bytes(); });
    if (free == free_.end()) return data_[i] = static_cast<char*>(context_.scratch(specs_[i].bytes())), view(i);
    data_[i] = data_[*free];
    free_.erase(free);
    return view(i);
  }
  void done(std::size_t call) {
    for (std::size_t i = 0; i < call; ++i)
      if (last_[i] == call) free_.push_back(i);
  }

 private:
  Context& context_;
  std::vector<std::size_t> last_, free_;
  std::vector<char*> data_;
  std::vector<Spec> specs_;
};

}  // namespace

bool run_compiled(const Fused& f, Context& c, std::span<const View> operands, std::span<const View> results) {
  if (!results[0].numel()) return true;
  std::vector<const Spec*> specs;
  std::vector<const char*> data;
  for (const View& y : results) data.push_back(y.data);
  for (const View& v : operands) specs.push_back(v.spec), data.push_back(v.data);
  FusedLayout l;
  void* const kernel = lay_out(f, specs, l) ? found(f, l, c.device) : nullptr;
  if (!kernel) return false;
  std::vector<std::uint64_t> words = words_of(f, l, data);
  const std::int64_t each = std::int64_t(kFusedThreads) * l.pack;
  const auto blocks = unsigned(std::min((l.numel + each - 1) / each, kMostBlocks));
  void* arguments[] = {words.data()};
  c.fail(cuda::libraries_of(c.device).launch(c.device.index, kernel, {{blocks, 1, 1}, {kFusedThreads, 1, 1}, 0},
                                             arguments));
  ++compiled_calls;
  return true;
}

void run_apart(const Fused& f, Context& c, std::span<const View> operands, std::span<const View> results) {
  const std::size_t numbers = operands.size(), first = numbers + f.numbers.size();
  Between between(f, c, first, results);
  for (std::size_t i = 0; i < f.calls.size() && !c.failure; ++i) {
    const FusedCall& call = f.calls[i];
    const Row& row = *row_of_number(call.row);
    View in[kMaxPlan - 1];
    Spec number[kMaxPlan - 1];
    DType wants[kMaxPlan - 1];
    alignas(16) char bytes[kMaxPlan - 1][16];
    for (int k = 0; k < row.inputs; ++k) {
      wants[k] = wanted(row, k, call.computed);
      if (call.in[std::size_t(k)] < 0) continue;
      const auto slot = std::size_t(call.in[std::size_t(k)]);
      if (slot < numbers) {
        in[k] = operands[slot];
      } else if (slot >= first) {
        in[k] = between.view(slot - first);
      } else {
        f.numbers[slot - numbers].store(wants[k], bytes[k]);
        number[k] = Spec::dense(wants[k], {}), in[k] = {bytes[k], &number[k]};
      }
    }
    const View out = between.make(i);
    c.fail(c.backend.execute(c.device.index, make_plan(out, call.natural, in, wants, row.inputs),
                             kernel_of(row, c.backend, call.computed), call.attributes.data(),
                             int(call.attributes.size())));
    between.done(i);
  }
  ++apart_calls;
}

FusedCounts fused_counts() { return {compiled_calls, apart_calls}; }

}  // namespace neura::graph
