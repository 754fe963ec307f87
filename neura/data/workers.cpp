#include "neura/data/workers.h"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "neura/core/error.h"
#include "neura/core/scalar.h"
#include "neura/data/random.h"

namespace neura::data {
namespace {

struct Outcome {
  std::unique_ptr<BuiltBatch> batch;
  std::exception_ptr error;
};

struct Epoch {
  std::shared_ptr<BatchSource> source;
  std::mutex drawing;  // around draw(): one at a time, in order
  std::int64_t drawn = 0, taken = 0;
  bool ended = false;                               // draw() is exhausted
  std::map<std::int64_t, Outcome> ready;            // by number of the batch
  std::vector<std::unique_ptr<Progress>> progress;  // by worker
  bool stopped = false;
};

}  // namespace

struct Workers::State {
  std::mutex mutex;  // of everything below and of an Epoch's fields
  std::condition_variable work, done;
  std::shared_ptr<Epoch> epoch;
  std::exception_ptr init_error;
  bool quit = false, stuck = false;
  int count = 0, ahead = 0;
  WorkerInit init;
  std::uint64_t seed = 0;
  std::vector<std::thread> threads;

  void stop_epoch() {
    if (!epoch) return;
    epoch->stopped = true;
    for (auto& p : epoch->progress) p->stopped = true;
  }

  // One batch; false when there is nothing more to do in this epoch.
  bool one(Epoch& e, Progress& progress) {
    std::unique_lock drawing(e.drawing);
    std::unique_lock lock(mutex);
    work.wait(lock, [&] { return quit || e.stopped || e.ended || e.drawn - e.taken < ahead; });
    if (quit || e.stopped || e.ended) return false;
    const std::int64_t number = e.drawn;
    lock.unlock();

    Outcome outcome;
    std::unique_ptr<WorkItem> item;
    bool last = false;
    try {
      item = e.source->draw(progress);
      last = !item;
    } catch (...) {
      outcome.error = std::current_exception();
      last = true;
    }
    lock.lock();
    if (last) e.ended = true;
    if (!last || outcome.error) e.drawn = number + 1;
    lock.unlock();
    drawing.unlock();
    if (item) {
      try {
        outcome.batch = e.source->make(*item, progress);
      } catch (...) {
        outcome.error = std::current_exception();
      }
      item.reset();
    }
    progress.item = -1;
    lock.lock();
    if (!last || outcome.error) e.ready[number] = std::move(outcome);
    lock.unlock();
    if (last) work.notify_all();
    done.notify_all();
    return !last;
  }

  void run(int worker) {
    if (init) {
      try {
        init(worker, derive_seed(seed, 2, std::uint64_t(worker)));
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!init_error) init_error = std::current_exception();
        done.notify_all();
        return;
      }
    }
    std::shared_ptr<Epoch> mine;
    while (true) {
      {
        std::unique_lock lock(mutex);
        work.wait(lock, [&] { return quit || epoch != mine; });
        if (quit) return;
        mine = epoch;
      }
      if (!mine) continue;
      while (one(*mine, *mine->progress[std::size_t(worker)])) {
      }
    }
  }

  std::string report() const {  // under the lock
    std::string text;
    for (std::size_t i = 0; i < epoch->progress.size(); ++i) {
      const std::int64_t item = epoch->progress[i]->item;
      text += (i ? ", worker " : "worker ") + std::to_string(i) +
              (item < 0 ? " is idle" : " is at item " + std::to_string(item));
    }
    return text;
  }
};

Workers::Workers(int count, int ahead, WorkerInit init, std::uint64_t seed) : state_(std::make_shared<State>()) {
  state_->count = count, state_->ahead = ahead, state_->init = std::move(init), state_->seed = seed;
}

Workers::~Workers() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->quit = true;
    state_->stop_epoch();
  }
  state_->work.notify_all();
  for (std::thread& t : state_->threads) {
    if (state_->stuck) t.detach();
    else t.join();
  }
}

void Workers::start(std::shared_ptr<BatchSource> source) {
  auto epoch = std::make_shared<Epoch>();
  epoch->source = std::move(source);
  for (int i = 0; i < state_->count; ++i) epoch->progress.push_back(std::make_unique<Progress>());
  {
    const std::lock_guard lock(state_->mutex);
    state_->stop_epoch();
    state_->epoch = std::move(epoch);
  }
  state_->work.notify_all();
  while (int(state_->threads.size()) < state_->count)
    state_->threads.emplace_back([state = state_, worker = int(state_->threads.size())] { state->run(worker); });
}

std::unique_ptr<BuiltBatch> Workers::next(double timeout) {
  State& s = *state_;
  std::unique_lock lock(s.mutex);
  Epoch& e = *s.epoch;
  const auto arrived = [&] { return s.init_error || e.ready.count(e.taken) || (e.ended && e.taken == e.drawn); };
  if (timeout <= 0) {
    s.done.wait(lock, arrived);
  } else if (!s.done.wait_for(lock, std::chrono::duration<double>(timeout), arrived)) {
    s.stuck = true;
    throw Error("DataLoader: expected batch " + std::to_string(e.taken) + " within " + Scalar(timeout).str() + " s; " +
                s.report());
  }
  if (s.init_error) std::rethrow_exception(s.init_error);
  const auto it = e.ready.find(e.taken);
  if (it == e.ready.end()) return nullptr;
  Outcome outcome = std::move(it->second);
  e.ready.erase(it);
  ++e.taken;
  lock.unlock();
  s.work.notify_all();
  if (outcome.error) std::rethrow_exception(outcome.error);
  return std::move(outcome.batch);
}

}  // namespace neura::data
