#include "neura/data/device_copy.h"

#include <utility>

#include "neura/backend/plugin.h"
#include "neura/cuda/memory.h"

namespace neura::data {
namespace {

thread_local bool pinning = false;

}  // namespace

bool set_pinned_batches(bool on) { return std::exchange(pinning, on); }

Tensor empty_batch(DType dtype, const Shape& size) {
  return pinning && size.numel() ? cuda::empty_pinned(size, dtype) : Tensor::empty(Spec::dense(dtype, size));
}

DeviceCopy::DeviceCopy(std::optional<Device> device, bool pin_memory) : device_(device) {
  if (device && !device->is_cpu()) {
    const DeviceApi& api = device_api(*device);
    pinned_ = api.pinned;
    if (api.streams) stream_.emplace(*device);
  } else if (pin_memory && unavailable(DeviceType::cuda).empty()) {
    pinned_ = device_api(DeviceType::cuda).pinned;
  }
}

Tensor DeviceCopy::send(const Tensor& t, CopyEvent& copied) const {
  if (!t) return t;
  const auto locked = [this](const Tensor& x) {
    return pinned_ && x.device().is_cpu() && x.numel() ? cuda::pin_memory(x) : x;
  };
  const Device to = device_.value_or(t.device());
  const bool queued = stream_ && t.device().is_cpu();
  const Tensor there = queued ? cuda::to(locked(t), to, *stream_) : t.device() == to ? t : t.to(to);
  if (!stream_) return locked(there);
  if (!queued) stream_->wait_stream(cuda::current_stream(to));  // it was made there
  copied.tensors_.push_back(there);
  return there;
}

void DeviceCopy::finish(CopyEvent& copied) const {
  if (stream_) copied.event_ = stream_->record_event();
}

void CopyEvent::take() {
  if (!event_) return;
  event_->wait();
  for (const Tensor& t : tensors_) cuda::record_stream(t, cuda::current_stream(t.device()));
  event_.reset();
  tensors_.clear();
}

}  // namespace neura::data
