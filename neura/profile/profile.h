// The profiler: records every operation of a thread with its time, and ranges that the program names.
//     profiler::Profile profile({.shapes = true});
//     { profiler::Range range("step"); model(x); }
//     profile.stop();
//     for (const profiler::Event& e : profile.events()) std::cout << e.name << ' ' << e.end - e.begin << " ns\n";
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "neura/core/shape.h"
#include "neura/core/tensor.h"

namespace neura::profiler {

struct Options {
  bool shapes = false;   // sizes and dtypes of operands
  bool memory = false;   // bytes that each operation allocated, less those it gave back
  bool devices = false;  // on CUDA, when the device began and ended: costs two events an operation
};

struct Event {
  enum Kind : std::uint8_t { operation, range, module };
  struct Operand {
    DType dtype;
    Shape sizes;
  };
  std::string name;
  Kind kind = operation;
  bool backward = false;                           // during a backward
  Device device;                                   // of its operands, or of its result
  std::int64_t begin = 0, end = 0;                 // nanoseconds of the steady clock
  std::int64_t device_begin = -1, device_end = 0;  // the same clock; -1: not measured
  std::int64_t bytes = 0;
  std::vector<Operand> operands;
};

struct Recorder;

// Records this thread from its construction to stop(), one at a time. Modes that see calls (vmap, forward mode) end in
// the opposite order to that in which they began. An operation that runs by its definition is one event.
class Profile {
 public:
  explicit Profile(Options o = {});  // ValueError inside another one
  Profile(const Profile&) = delete;
  ~Profile();
  void stop();                        // ValueError on another thread, or inside of a mode that began later
  std::vector<Event> events() const;  // in the order in which they began, after stop()

 private:
  std::unique_ptr<Recorder> recorder_;
};

// A range of this thread's profile; without a profile 0, and nothing happens. It may end in any order.
std::uint64_t begin_range(std::string name, Event::Kind kind = Event::range);
void end_range(std::uint64_t);

class Range {
 public:
  explicit Range(std::string name) : range_(begin_range(std::move(name))) {}
  Range(const Range&) = delete;
  ~Range() { end_range(range_); }

 private:
  const std::uint64_t range_;
};

}  // namespace neura::profiler
