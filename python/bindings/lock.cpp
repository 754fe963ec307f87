// The interpreter's lock. Long work lets go of it (core/interpreter.h), and what a thread without it lets go of waits
// here.
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "common.h"
#include "neura/core/interpreter.h"

namespace neura::python {
namespace {

struct Waiting {
  struct Act {
    void (*act)(void*);
    void* what;
  };
  std::mutex mutex;
  std::vector<Act> acts;
  std::atomic<bool> any{false}, scheduled{false};
};
Waiting& waiting() {
  static Waiting* w = new Waiting;  // outlives the interpreter
  return *w;
}
int drain_later(void*) {
  waiting().scheduled = false;
  drain_released();
  return 0;
}
// Python runs it in its main thread, soon. Where that refuses, the next new tensor does.
void later(void (*act)(void*), void* what) {
  Waiting& w = waiting();
  {
    std::lock_guard lock(w.mutex);
    w.acts.push_back({act, what});
  }
  w.any = true;
  if (!w.scheduled.exchange(true) && Py_AddPendingCall(drain_later, nullptr)) w.scheduled = false;
}
// Never at once: what runs when an object is destroyed is arbitrary code, and C++ may hold locks here.
void last_handle(TensorImpl* t) {
  if (Py_IsInitialized()) later([](void* p) { take_last_handle(static_cast<TensorImpl*>(p)); }, t);
}
void* unlock() { return PyGILState_Check() ? PyEval_SaveThread() : nullptr; }
// At the interpreter's end a daemon thread that asks for the lock is unwound, and what unwinds may not leave here: the
// process would be aborted. Such a thread waits until the process is gone.
void lock(void* state) {
  try {
    PyEval_RestoreThread(static_cast<PyThreadState*>(state));
  } catch (...) {
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
  }
}
void warn(const char* text) {
  const nb::gil_scoped_acquire locked;
  if (PyErr_WarnEx(PyExc_UserWarning, text, 1)) throw nb::python_error();
}
constexpr Interpreter python{unlock, lock, last_handle, warn};

}  // namespace

bool released_waits() { return waiting().any.load(std::memory_order_relaxed); }

void drain_released() {
  Waiting& w = waiting();
  std::vector<Waiting::Act> acts;
  {
    std::lock_guard lock(w.mutex);
    w.any = false, acts.swap(w.acts);
  }
  PyObject *type, *value, *trace;  // no caller could receive an error of the code that runs here
  PyErr_Fetch(&type, &value, &trace);
  for (const auto& a : acts) a.act(a.what);
  PyErr_Restore(type, value, trace);
}

void when_locked(void (*act)(void*), void* what) {
  if (!Py_IsInitialized()) return;  // the process ends
  if (PyGILState_Check()) act(what);
  else later(act, what);
}
void drop_reference(PyObject* o) {
  if (o) when_locked([](void* p) { Py_DECREF(static_cast<PyObject*>(p)); }, o);
}

void bind_lock() { interpreter = &python; }

}  // namespace neura::python
