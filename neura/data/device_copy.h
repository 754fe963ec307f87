// Copies of batches to a loader's device: assembled in pinned memory and copied on a separate stream, so that neither
// the host nor the computing stream waits.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "neura/core/tensor.h"
#include "neura/cuda/stream.h"

namespace neura::data {

// Uninitialised, for code that collates a batch: in pinned memory within a PinnedBatches, else as always.
Tensor empty_batch(DType, const Shape&);

bool set_pinned_batches(bool on);  // of this thread; returns the previous value
class PinnedBatches {              // of this thread, while it lives
 public:
  explicit PinnedBatches(bool on) : before_(set_pinned_batches(on)) {}
  PinnedBatches(const PinnedBatches&) = delete;
  ~PinnedBatches() { set_pinned_batches(before_); }

 private:
  bool before_;
};

// Asynchronous copies of tensors to a device.
class CopyEvent {
 public:
  // Makes this thread's current stream wait for the copies.
  void take();

 private:
  friend class DeviceCopy;
  std::optional<cuda::Event> event_;
  std::vector<Tensor> tensors_;
};

class DeviceCopy {  // of one loader, for all of its threads
 public:
  // Without a device batches stay where they are. DeviceError if the device cannot be used; `pin_memory` does nothing
  // where there is no CUDA.
  DeviceCopy(std::optional<Device> device, bool pin_memory);
  bool pinned() const { return pinned_; }
  std::string str() const { return device_ ? device_->str() : "pinned memory"; }
  // The tensor there, or on its way. `finish` comes after those of a batch.
  Tensor send(const Tensor&, CopyEvent&) const;
  void finish(CopyEvent&) const;

 private:
  std::optional<Device> device_;
  bool pinned_ = false;
  std::optional<cuda::Stream> stream_;  // where the device has streams
};

}  // namespace neura::data
