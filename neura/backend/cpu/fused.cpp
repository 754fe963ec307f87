// Fused pointwise calls: all steps over one line after another.
#include "neura/backend/fused.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "neura/backend/backend.h"
#include "neura/backend/cpu/fused_input.h"
#include "neura/backend/cpu/streaming_store.h"
#include "neura/core/parallel.h"

namespace neura {
namespace {

constexpr std::int64_t kBytes = 4096;  // of a line
constexpr int kMostAhead = 6;          // operands whose next lines are fetched: more would push out the lines between

class FusedWalk {
 public:
  explicit FusedWalk(const FusedPlan& p) : p_(p), convert_(*cpu_backend().convert) {
    std::int64_t widest = 1;
    for (const FusedInput& i : p.inputs) widest = std::max(widest, std::int64_t(size_of(i.dtype)));
    for (const FusedStep& s : p.steps) {
      widest = std::max({widest, std::int64_t(size_of(s.natural)), std::int64_t(size_of(s.result))});
      for (int k = 0; k < s.operands; ++k)
        if (s.in[k] >= 0) widest = std::max(widest, std::int64_t(size_of(s.wanted[k])));
      stream_ = stream_ || streams(s);
    }
    block_ = std::min(std::max(kBytes / widest & -kFusedGrain, kFusedGrain), fused_padded(p.numel));
    line_ = std::size_t(block_ * widest);
    lay_out();
  }

  std::int64_t blocks() const { return (p_.numel + block_ - 1) / block_; }
  void range(std::int64_t begin, std::int64_t end) {  // blocks
    for (std::int64_t b = begin; b < end; ++b) block(b * block_, std::min(block_, p_.numel - b * block_));
    if (stream_) stream_done();
  }

 private:
  static constexpr std::size_t kMostUses = kMaxPlan - 1;
  struct Use {  // an operand of a step
    int slot = -1;
    ConvertFn* convert = nullptr;  // null: it is read unconverted
    const char* splat = nullptr;   // a line of one element's copies
  };

  int slots() const { return int(p_.inputs.size() + p_.steps.size()); }
  DType dtype_of(int slot) const {
    const int inputs = int(p_.inputs.size());
    return slot < inputs ? p_.inputs[std::size_t(slot)].dtype : p_.steps[std::size_t(slot - inputs)].result;
  }
  ConvertFn* converter(DType from, DType to) const { return from == to ? nullptr : convert_.pair[int(from)][int(to)]; }
  bool streams(const FusedStep& s) const { return s.out && p_.numel * size_of(s.result) >= kStreamFrom; }
  bool is_single(int slot) const {
    return slot >= 0 && slot < int(p_.inputs.size()) && p_.inputs[std::size_t(slot)].count == 1;
  }

  // Lines: results of steps, inputs, converted operands, a result before it is rounded, numbers.
  void lay_out() {
    const int results = place_steps();
    std::size_t input_lines = 0, splats = 0;
    for (const FusedInput& i : p_.inputs) input_lines += std::size_t(FusedReader::lines(i, p_.numel, block_));
    for (const Use& u : uses_) splats += is_single(u.slot);
    temporaries_ = results + int(input_lines);
    memory_.reset(new char[(std::size_t(temporaries_ + kMaxPlan) + splats) * line_ + 64]);
    base_ = memory_.get() + (-reinterpret_cast<std::uintptr_t>(memory_.get()) & 63);
    int next = results;
    readers_.reserve(p_.inputs.size());
    for (const FusedInput& i : p_.inputs) {
      readers_.emplace_back(i, p_.numel, block_, at(next));
      next += FusedReader::lines(i, p_.numel, block_);
    }
    place_numbers();
    at_.resize(std::size_t(slots()));
  }
  // Which line each step writes, and how it reads its operands. Returns the number of lines.
  int place_steps() {
    const int inputs = int(p_.inputs.size());
    std::vector<int> last(std::size_t(slots()), -1), free;
    for (std::size_t i = 0; i < p_.steps.size(); ++i)
      for (int k = 0; k < p_.steps[i].operands; ++k)
        if (const int s = p_.steps[i].in[k]; s >= 0) last[std::size_t(s)] = int(i);
    uses_.resize(p_.steps.size() * kMostUses), target_.resize(p_.steps.size());
    int lines = 0;
    for (std::size_t i = 0; i < p_.steps.size(); ++i) {
      const FusedStep& step = p_.steps[i];
      if (free.empty()) free.push_back(lines++);
      target_[i] = free.back(), free.pop_back();
      for (int s = inputs; s < inputs + int(i); ++s)
        if (last[std::size_t(s)] == int(i)) free.push_back(target_[std::size_t(s - inputs)]);
      for (int k = 0; k < step.operands; ++k)
        uses_[i * kMostUses + std::size_t(k)] = {
            step.in[k], step.in[k] < 0 ? nullptr : converter(dtype_of(step.in[k]), step.wanted[k]), nullptr};
    }
    return lines;
  }
  void place_numbers() {
    char* next = at(temporaries_ + kMaxPlan);
    for (std::size_t i = 0; i < uses_.size(); ++i) {
      Use& use = uses_[i];
      if (!is_single(use.slot)) continue;
      const FusedInput& one = p_.inputs[std::size_t(use.slot)];
      const DType wanted = p_.steps[i / kMostUses].wanted[i % kMostUses];
      convert_.pair[int(one.dtype)][int(wanted)](one.data, 0, next, size_of(wanted), std::size_t(block_));
      use.splat = next, next += line_;
    }
  }
  char* at(int line) const { return base_ + std::size_t(line) * line_; }

  void block(std::int64_t begin, std::int64_t n) {
    const std::int64_t full = fused_padded(n);
    const std::size_t inputs = p_.inputs.size();
    for (std::size_t i = 0; i < inputs; ++i) at_[i] = readers_[i].line(begin, n, full);
    for (std::size_t i = 0; i < p_.steps.size(); ++i) {
      const FusedStep& s = p_.steps[i];
      char* const out = s.out ? s.out + begin * size_of(s.result) : nullptr;
      const bool streamed = streams(s);
      step(i, full, out && n == full && !streamed ? out : at(target_[i]));
      if (!out || at_[inputs + i] == out) continue;
      const auto bytes = std::size_t(n * size_of(s.result));
      if (n == full && streamed) stream(out, at_[inputs + i], bytes, begin + n);
      else std::memcpy(out, at_[inputs + i], bytes);
    }
  }
  void stream(char* out, const char* from, std::size_t bytes, std::int64_t next) {
    const char* ahead[kMostAhead];
    int count = 0;
    for (std::size_t i = 0; i < readers_.size() && count < kMostAhead; ++i)
      if (const char* const there = readers_[i].ahead(next, block_)) ahead[count++] = there;
    stream_copy(out, from, bytes, ahead, count);
  }
  void step(std::size_t i, std::int64_t full, char* target) {
    const FusedStep& s = p_.steps[i];
    ConvertFn* const round = converter(s.natural, s.result);
    Line l{round ? at(temporaries_ + kMaxPlan - 1) : target, {}, std::size_t(full), s.attributes};
    for (int k = 0; k < s.operands; ++k) {
      const Use& use = uses_[i * kMostUses + std::size_t(k)];
      if (use.slot < 0) continue;
      l.in[k] = use.splat ? use.splat : at_[std::size_t(use.slot)];
      if (use.splat || !use.convert) continue;
      char* const to = at(temporaries_ + k);
      use.convert(at_[std::size_t(use.slot)], size_of(dtype_of(use.slot)), to, size_of(s.wanted[k]), std::size_t(full));
      l.in[k] = to;
    }
    if (s.fn) s.fn(l);
    const auto* natural = static_cast<const char*>(s.fn ? l.out : l.in[0]);
    if (round) round(natural, size_of(s.natural), target, size_of(s.result), std::size_t(full));
    else if (!s.fn) std::memcpy(target, natural, std::size_t(full * size_of(s.result)));
    at_[p_.inputs.size() + i] = target;
  }

  const FusedPlan& p_;
  const ConvertTable& convert_;
  std::int64_t block_ = 0;
  std::size_t line_ = 0;  // bytes
  bool stream_ = false;   // any result
  int temporaries_ = 0;
  std::vector<FusedReader> readers_;
  std::vector<Use> uses_;  // so many of each step
  std::vector<int> target_;
  std::vector<const char*> at_;  // by slot, of this block
  std::unique_ptr<char[]> memory_;
  char* base_ = nullptr;
};

}  // namespace

void execute_fused(const FusedPlan& p) {
  if (!p.numel) return;
  FusedWalk walk(p);
  const std::int64_t grain = std::max<std::int64_t>(kSerial / 2 / p.cost, 64), blocks = walk.blocks();
  if (p.numel <= 2 * grain) return walk.range(0, blocks);
  const std::int64_t per_block = std::max<std::int64_t>(p.numel / blocks, 1);
  parallel_for(blocks, std::max<std::int64_t>(grain / per_block, 1),
               [&](std::int64_t b, std::int64_t e) { FusedWalk(p).range(b, e); });
}

}  // namespace neura
