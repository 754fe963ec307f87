// The interpreter of a host language, if there is one: Python has a lock (the GIL) that long work must not hold, and
// keeps one object for each tensor. A C++ program leaves `interpreter` null and pays a load.
#pragma once

namespace neura {

struct TensorImpl;

struct Interpreter {
  void* (*unlock)();             // releases the lock; null if this thread does not hold it
  void (*lock)(void* unlocked);  // takes it again
  void (*last_handle)(
      TensorImpl*);  // the last handle of a tensor that has a kept object: the object takes over its reference
  void (*warn)(const char* text);  // takes the lock for it; throws where warnings are errors (core/warning.h)
};
extern const Interpreter* interpreter;  // set before a second thread can see it

// Releases the lock for its scope: for work above about 20 µs and for every wait.
class GilRelease {
 public:
  explicit GilRelease(bool is_long) : unlocked_(is_long && interpreter ? interpreter->unlock() : nullptr) {}
  GilRelease(const GilRelease&) = delete;
  ~GilRelease() {
    if (unlocked_) interpreter->lock(unlocked_);
  }

 private:
  void* unlocked_;
};

}  // namespace neura
