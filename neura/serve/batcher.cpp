#include "neura/serve/batcher.h"

#include <algorithm>
#include <cstring>

#include "neura/autograd/grad_mode.h"
#include "neura/serve/error_response.h"

namespace neura::serve {
namespace {

double seconds(Clock::duration d) { return std::chrono::duration<double>(d).count(); }

// True if rows of both may be batched in one tensor.
bool fit_together(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Spec &x = a[i].spec(), &y = b[i].spec();
    if (x.rank != y.rank || !std::equal(x.shape + 1, x.shape + x.rank, y.shape + 1)) return false;
  }
  return true;
}

}  // namespace

Batcher::Batcher(std::shared_ptr<const Model> model, const BatchOptions& options, std::shared_ptr<ModelMetrics> metrics)
    : model_(std::move(model)), options_(options), metrics_(std::move(metrics)) {
  batch_.reserve(options.queue + 1);
}

Batcher::Arrival::Arrival(Batcher& b) : batcher_(&b) {
  const std::scoped_lock lock(b.mutex_);
  since_ = b.arriving_.insert(Clock::now());
}
void Batcher::Arrival::end() {
  batcher_->arriving_.erase(since_);
  batcher_ = nullptr;
}
Batcher::Arrival::~Arrival() {
  if (!batcher_) return;
  Batcher& b = *batcher_;
  const std::scoped_lock lock(b.mutex_);
  end();
  if (b.gathering_) b.gathering_->wake.notify_one();
}

std::int64_t Batcher::rows_of(const std::vector<Tensor>& inputs) const {
  if (!model_->batches() || options_.max_rows < 2) return 0;
  for (const Tensor& t : inputs)
    if (t.size(0) != inputs[0].size(0)) return 0;
  return inputs[0].size(0);
}

std::vector<Tensor> Batcher::run(std::vector<Tensor> inputs, Clock::time_point deadline, Arrival* arrival) {
  Job job;
  job.rows = rows_of(inputs);
  job.inputs = std::move(inputs);
  job.arrived = Clock::now();
  Lock lock(mutex_);
  if (queue_.size() >= options_.queue)
    throw ErrorResponse(429, "expected at most " + std::to_string(options_.queue) +
                                 " requests that wait for the model, got one more; try again later");
  queue_.push_back(&job);
  if (arrival) arrival->end();
  metrics_->waiting = std::int64_t(queue_.size());
  if (gathering_) gathering_->wake.notify_one();
  if (!busy_) busy_ = job.leads = true;
  while (!job.done) {
    if (job.leads) {
      lead(lock, job);
    } else if (job.taken) {
      job.wake.wait(lock);
    } else if (job.wake.wait_until(lock, deadline) == std::cv_status::timeout && !job.leads && !job.taken) {
      queue_.erase(std::find(queue_.begin(), queue_.end(), &job));
      metrics_->waiting = std::int64_t(queue_.size());
      throw ErrorResponse(
          503,
          "expected the model to begin before the request's deadline, got it busy until then; send fewer requests, or "
          "allow more time");
    }
  }
  lock.unlock();
  if (job.error) std::rethrow_exception(job.error);
  return std::move(job.results);
}

// The first of the queue runs the model, until it is done.
void Batcher::lead(Lock& lock, Job& own) {
  gather(lock, own);
  lock.unlock();
  compute();
  lock.lock();
  for (Job* job : batch_) {
    job->done = true;
    if (job != &own) job->wake.notify_one();
  }
  busy_ = !queue_.empty();
  if (!busy_) return;
  queue_.front()->leads = true;
  queue_.front()->wake.notify_one();
}

// The leader, which is the queue's first, and those that fit to it.
void Batcher::gather(Lock& lock, Job& own) {
  const auto fits = [&](const Job& job) { return job.rows && fit_together(own.inputs, job.inputs); };
  if (own.rows) {
    const auto start = Clock::now();
    const auto enough = [&] {
      std::int64_t rows = 0;
      for (const Job* job : queue_) rows += fits(*job) ? job->rows : 0;
      const bool none = arriving_.empty() || *arriving_.rbegin() + options_.max_delay <= start;
      return none || rows >= options_.max_rows;
    };
    gathering_ = &own;
    own.wake.wait_until(lock, start + options_.max_delay, enough);
    gathering_ = nullptr;
  }
  std::int64_t rows = 0;
  batch_.clear();
  for (auto at = queue_.begin(); at != queue_.end();) {
    Job& job = **at;
    const bool take = &job == &own || (own.rows && fits(job) && rows + job.rows <= options_.max_rows);
    if (!take) {
      ++at;
      continue;
    }
    job.taken = true, rows += job.rows;
    batch_.push_back(&job);
    at = queue_.erase(at);
  }
  metrics_->waiting = std::int64_t(queue_.size());
}

// An error belongs to a request: where several fail together, each is run alone.
void Batcher::compute() const {
  for (const Job* job : batch_) metrics_->queue.add(seconds(Clock::now() - job->arrived));
  try {
    if (batch_.size() > 1) return together();
  } catch (...) {
    for (Job* job : batch_) job->results.clear();
  }
  for (Job* job : batch_) try {
      job->results = timed(job->inputs, std::max<std::int64_t>(job->rows, 1));
    } catch (...) {
      job->error = std::current_exception();
    }
}

std::vector<Tensor> Batcher::timed(const std::vector<Tensor>& inputs, std::int64_t rows) const {
  const Clock::time_point start = Clock::now();
  std::vector<Tensor> results = model_->run(inputs);
  metrics_->compute.add(seconds(Clock::now() - start));
  metrics_->rows.add(double(rows));
  return results;
}

void Batcher::together() const {
  std::int64_t rows = 0;
  for (const Job* job : batch_) rows += job->rows;
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < batch_[0]->inputs.size(); ++i) {
    Shape shape = batch_[0]->inputs[i].shape();
    shape[0] = rows;
    inputs.push_back(Tensor::empty(Spec::dense(batch_[0]->inputs[i].dtype(), shape)));
    auto* to = static_cast<std::byte*>(inputs.back().raw_data());
    for (const Job* job : batch_) {
      const std::size_t bytes = job->inputs[i].nbytes();
      if (bytes) std::memcpy(to, job->inputs[i].const_raw_data(), bytes);
      to += bytes;
    }
  }
  const std::vector<Tensor> results = timed(inputs, rows);
  for (const Tensor& t : results)
    check<ShapeError>(t.dim() > 0 && t.size(0) == rows,
                      [&] { return "expected results of " + std::to_string(rows) + " rows, got " + t.spec().str(); });
  const InferenceMode mode;
  std::int64_t first = 0;
  for (Job* job : batch_) {
    for (const Tensor& t : results) job->results.push_back(t.narrow(0, first, job->rows));
    first += job->rows;
  }
}

}  // namespace neura::serve
