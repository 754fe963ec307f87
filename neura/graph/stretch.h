// A part of a program that repeats: its launches on one device as they were seen, and the memory that they read and
// write, by number; a part of automatic_replay.cpp.
#pragma once
#include <memory>
#include <vector>

#include "neura/op/apply.h"
#include "neura/op/attributes.h"

namespace neura::graph {

using MemoryId = std::uint32_t;
inline constexpr MemoryId kNoMemory = MemoryId(-1);

// All of a call's attributes but those that vary from step to step, as words that can be compared.
void write_words(const Row&, const void* op, std::vector<std::uint64_t>& to);

struct LaunchOperand {
  Operand::Kind kind = Operand::absent;
  Scalar scalar;
  MemoryId memory = kNoMemory;
  Spec spec;
};
struct Launch {
  const Row* row;
  Destination destination;
  std::shared_ptr<OpMemory> op;  // as it was when the stretch was written down
  std::vector<std::uint64_t> words;
  std::vector<LaunchOperand> in;
  std::vector<std::pair<MemoryId, Spec>> out;  // fresh results, or the destination
  std::size_t step_bytes = 0;                  // of an optimizer's step: its numbers
  bool draws() const { return row->numbers; }
  bool varies() const { return draws() || step_bytes; }
};
struct StretchMemory {
  bool external = false, written = false;
  std::size_t last = 0;  // the last launch that uses it
};
struct Stretch {
  Device device;
  std::uint64_t modes = 0;            // kernel_modes()
  double seconds = 0;                 // that a device needs for it at least
  std::size_t bytes = 0;              // of its results
  std::vector<std::uint64_t> hashes;  // by launch: row, attributes, dtypes and sizes
  std::vector<Launch> launches;       // as far as they are written down
  std::vector<StretchMemory> memory;
  bool is_complete() const { return launches.size() == hashes.size(); }

  void add(const Call&, const Spec* results, std::span<const MemoryId> operands, std::span<const MemoryId> made);
  // The same first n launches, on the same memory; to be written down from there on as if they had been its own.
  bool begins_as(const Stretch&, std::size_t n) const;
  void begin_as(const Stretch&, std::size_t n);
  // Is the call launch `at`? Its operands' memory is compared by the caller.
  bool has(std::size_t at, const Call&, const Spec* results, std::vector<std::uint64_t>& scratch) const;
};

std::uint64_t kernel_modes();  // of the process, which kernels read: how exactly float32 is multiplied and the like
std::uint64_t hash_of(const Call&, std::vector<std::uint64_t>& scratch);
// Seconds that a device needs for a launch at least: moving its operands and results, multiplying.
double device_time(const Call&, const Spec* results);

}  // namespace neura::graph
