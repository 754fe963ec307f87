// The one thread-local object: all state of its thread that a hot path reads. No destructor, so no wrapper call on
// access. Only the library neura itself sees it: other libraries call the functions of autograd/grad_mode.h and others.
#pragma once
#include <cstdint>

namespace neura {

struct Interceptor;
struct History;
namespace memory {
struct ThreadCache;
extern ThreadCache empty;  // a cache whose lists are all empty: the first use of a thread meets the slow path by itself
}  // namespace memory

enum Active : std::uint32_t {
  kNoGrad = 1,
  kIntercepted = 2,
  kInference = 4,
  kAnomaly = 8,
  kPacked = 16,
  kAnomalyTraceOnly = 32,
  kDeferred = 64,
  kAutocast = 128,
  kUnobserved = 256  // op/launch.h
};

struct TensorImpl;
struct ReadObserver {  // called when values are read on the host
  virtual void reads(const TensorImpl*) = 0;

 protected:
  ~ReadObserver() = default;
};

struct State {
  std::uint32_t active = 0;  // 0: plain eager mode with recording
  bool parallel = false;     // inside a parallel region
  bool deleting = false;     // inside the loop that destroys graph nodes
  bool dying = false;        // the thread's cache has been handed back
  memory::ThreadCache* cache = &memory::empty;
  Interceptor* top = nullptr;
  ReadObserver* reader = nullptr;  // while kDeferred is set
  History* deferred_deletes = nullptr;
  std::uint64_t sequence = 0;
  std::uint64_t id = 0;  // of the last value made here; the thread's number is in the high bits
};

// initial-exec: a fixed offset from the thread pointer, inside a shared library too. constinit here as well: the
// compiler then needs no check for a dynamic initialiser (1 ns of 60).
[[gnu::tls_model("initial-exec"), gnu::visibility("hidden")]] extern constinit thread_local State state;

}  // namespace neura
