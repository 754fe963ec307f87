// The language that calls Neura, if there is one: Python has a lock that long work must not keep, and objects that live
// as long as what they show. A C++ program leaves `host` null and pays a load.
#pragma once

namespace neura {

struct TensorImpl;

struct Host {
  void* (*unlock)();                 // lets go of the lock; null if this thread does not hold it
  void (*lock)(void* unlocked);      // takes it again
  void (*last_handle)(TensorImpl*);  // of a tensor whose object is kept: takes over the count of the last handle
};
extern const Host* host;  // set before a second thread can see it

// Releases the lock for its scope: for work above about 20 µs and for every wait.
class Unlocked {
 public:
  explicit Unlocked(bool is_long) : unlocked_(is_long && host ? host->unlock() : nullptr) {}
  Unlocked(const Unlocked&) = delete;
  ~Unlocked() {
    if (unlocked_) host->lock(unlocked_);
  }

 private:
  void* unlocked_;
};

}  // namespace neura
