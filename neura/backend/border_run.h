// Calls of kernels through the C border and, where a back end has none, of the cpu's with copies of the operands.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "neura/backend/plan.h"
#include "neura/backend/registered.h"

namespace neura {

// The operation of a call: its attributes, as the functions of border.h read them. op/border.cpp sets `host`.
namespace detail {
inline const neura_host* border_host = nullptr;
}

// Runs the back end's kernel of that name. False: it has none for these operands, and nothing is written.
bool run_border_kernel(Device, const char* name, std::span<const View> in, std::span<const View> out,
                       const void* attributes);
bool run_border_kernel(Device, const char* name, const Plan&, const void* attributes);

// Counts a call that the host computes instead. NotImplementedError where that is forbidden.
void count_host_fallback(Device, const char* name);
struct HostFallback {
  std::string device, operation;  // "npu", "softmax"
  std::int64_t count;
};
std::vector<HostFallback> host_fallbacks();  // by device and operation, since the last reset
void reset_host_fallbacks();
// For all threads. Returns the previous value; the initial one is that of NEURA_FORBID_HOST_FALLBACK.
bool forbid_host_fallback(bool on);

// Copies of views in the host's memory, laid out as they are on the device.
class HostCopies {
 public:
  HostCopies() = default;
  HostCopies(const HostCopies&) = delete;
  ~HostCopies();
  // The bytes that the view spans, copied from the device where `read`.
  char* take(Device, char* data, std::size_t bytes, bool read);
  View take(const View&, bool read);
  void give_back(const View& there, const View& here) const;  // to the device

 private:
  struct Block {
    void* data;
    std::size_t bytes;
  };
  std::vector<Block> blocks_;
  std::vector<std::unique_ptr<Spec>> specs_;
};
void run_plan_on_host(Device, const Plan&, LineFn*, const double* attributes, int cost);

// to = from on one registered device, converted and broadcast; `from` may be a number of the cpu.
void assign_registered(const View& to, const View& from);

}  // namespace neura
