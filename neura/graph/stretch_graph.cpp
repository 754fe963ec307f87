#include "neura/graph/stretch_graph.h"

#include <algorithm>
#include <cstring>

#include "neura/ops/create/copy.h"
#include "neura/ops/training/optimizer_step.h"

namespace neura::graph {
namespace {

constexpr int kMostCaptures = 6;

Spec bytes(std::size_t n, Device d) { return Spec::dense(DType::uint8, Shape{std::int64_t(n)}, d); }
PhiloxState numbers_of(const StretchRun& run, std::size_t launch) {
  return *run.stretch->launches[launch].row->numbers(run.attributes_of(launch));
}

}  // namespace

StretchGraph::~StretchGraph() {
  const EagerKernels eager;  // streams are asked
  try {
    move_results();
  } catch (...) {  // there is no memory left: their bytes are those of the last replay
  }
  graph_.reset(), last_.reset();
}

void StretchGraph::end_of_loan(Storage* s) {
  auto* loan = static_cast<Loan*>(s->context);
  loan->forgotten();
  Ref<Promise>::drop(loan);
}

// Does the graph read external memory where it is now, and keep what is wanted?
bool StretchGraph::fits(StretchRun& run) {
  bool same = graph_.has_value();
  for (MemoryId m = 0; m < stretch_->memory.size(); ++m) {
    if (!stretch_->memory[m].external) {
      if (run.is_wanted(m) && !kept_[m]) same = false, kept_[m] = true;
    } else if (!copied_[m] && graph_ && run.external(m)->data != addresses_[m]) {
      same = false, copied_[m] = true;
    }
  }
  return same;
}

bool StretchGraph::capture(StretchRun& run) {
  if (++captures_ > kMostCaptures) return false;
  const std::size_t n = stretch_->memory.size();
  graph_.reset(), memory_.assign(n, {}), addresses_.assign(n, nullptr), draws_.clear();
  steps_.assign(stretch_->launches.size(), {}), sent_.assign(stretch_->launches.size(), {});
  MemoryOfRun memory(n);
  for (MemoryId m = 0; m < n; ++m) {
    if (!stretch_->memory[m].external) continue;
    if (copied_[m]) memory_[m] = Tensor::empty(bytes(run.external(m)->bytes, stretch_->device));
    else addresses_[m] = run.external(m)->data;
    memory[m] = Ref<Storage>::share(copied_[m] ? memory_[m].impl()->storage : run.external(m));
  }
  for (std::size_t i = 0; i < stretch_->launches.size(); ++i) {
    if (const std::size_t size = stretch_->launches[i].step_bytes)
      steps_[i] = Tensor::empty(bytes(size, stretch_->device));
    if (stretch_->launches[i].draws()) draws_.emplace_back(i, numbers_of(run, i));
  }
  graph_.emplace(stretch_->device);
  try {
    graph_->capture([&] { run.execute(memory, kept_, steps_); });
  } catch (const Error&) {  // a launch that waits, or that the library does not let be captured
    return graph_.reset(), false;
  }
  for (MemoryId m = 0; m < n; ++m)
    if (!stretch_->memory[m].external && memory[m]) memory_[m] = bytes_of(memory[m]);
  count_replays([](ReplayCounts& c) { ++c.captures; });
  return true;
}

// What storages still have of the last replay is theirs from now on. Where somebody knows its address it stays there,
// and the graph goes.
void StretchGraph::move_results() {
  for (const auto& [m, loan] : loans_) {
    const Ref<Storage> s = loan->hold();
    if (!s) continue;
    if (s->exposed) {
      exchange_bytes(s.get(), std::exchange(memory_[m], {}));
      graph_.reset();
      continue;
    }
    const Tensor own = Tensor::empty(bytes(s->bytes, s->device));
    throw_failure(device_api(s->device).copy(s->device, own.impl()->data(), s->device, s->data, s->bytes), "replay");
    exchange_bytes(s.get(), own);
    count_replays([](ReplayCounts& c) { ++c.moved; });
  }
  loans_.clear();
}

void StretchGraph::copy_inputs(const StretchRun& run, bool back) {
  for (MemoryId m = 0; m < stretch_->memory.size(); ++m) {
    if (!copied_[m] || (back && !stretch_->memory[m].written)) continue;
    Storage* s = run.external(m);
    const std::uint32_t version = s->version;
    // Storages of other sizes may be in its place: what the launches use is at the beginning of both.
    const auto size = std::min(std::int64_t(s->bytes), memory_[m].numel());
    Tensor there = bytes_of(Ref<Storage>::share(s)).narrow(0, 0, size), here = memory_[m].narrow(0, 0, size);
    if (back) there.copy_(here);
    else here.copy_(there);
    s->version = version;  // the write was counted when its call was made
  }
}

void StretchGraph::send_steps(const StretchRun& run) {
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (!steps_[i]) continue;
    const std::span<const char> now = bytes_of_steps(*stretch_->launches[i].row, run.attributes_of(i));
    if (std::equal(now.begin(), now.end(), sent_[i].begin(), sent_[i].end())) continue;
    Tensor here = Tensor::empty(bytes(now.size(), {}));
    std::memcpy(here.impl()->data(), now.data(), now.size());
    steps_[i].copy_(here);
    sent_[i].assign(now.begin(), now.end());
  }
}

void StretchGraph::lend_results(StretchRun& run) {
  for (MemoryId m = 0; m < stretch_->memory.size(); ++m) {
    LaunchResult* result = run.result(m);
    const Ref<Storage> s = result ? result->hold() : Ref<Storage>();
    if (!s) continue;
    Ref<Loan> loan = Ref<Loan>::adopt(new Loan);
    loan->promises(s.get());
    Storage* lent = Storage::wrap(memory_[m].impl()->storage->data, s->bytes, &end_of_loan, Ref<Loan>(loan).leave());
    lent->device = s->device;
    keep_promise(s.get(), bytes_of(Ref<Storage>::adopt(lent)));
    loans_.emplace_back(m, std::move(loan));
  }
}

bool StretchGraph::replay(StretchRun& run) {
  const EagerKernels eager;
  copied_.resize(stretch_->memory.size()), kept_.resize(stretch_->memory.size());
  const cuda::Stream here = cuda::current_stream(stretch_->device);
  if (last_ && *last_ != here) here.wait_stream(*last_);
  last_ = here;
  move_results();
  if (!fits(run) && !capture(run)) return false;
  std::uint64_t shift = 0, seed = 0;
  for (const auto& [at, then] : draws_) {
    const PhiloxState now = numbers_of(run, at);
    if (at == draws_[0].first) shift = now.offset - then.offset, seed = now.seed ^ then.seed;
    if (now.offset - then.offset != shift || (now.seed ^ then.seed) != seed) return false;
  }
  copy_inputs(run, false);
  send_steps(run);
  graph_->replay_shifted(shift, seed);
  copy_inputs(run, true);
  lend_results(run);
  count_replays([&](ReplayCounts& c) { ++c.replays, c.launches += std::int64_t(stretch_->launches.size()); });
  return true;
}

}  // namespace neura::graph
