#include "neura/cuda/kernel.h"

#include <array>
#include <atomic>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>

#include "neura/core/error.h"
#include "neura/core/extension.h"
#include "neura/core/interpreter.h"
#include "neura/core/state.h"
#include "neura/core/storage.h"
#include "neura/cuda/compile.h"
#include "neura/cuda/tables.h"

namespace neura::cuda {
namespace {

using Kind = ParameterKind;

std::string words_of(int parameter) {
  if (parameter >= Kind::pointer) {
    const int to = parameter - Kind::pointer;
    return to == Kind::other ? "a pointer" : "a pointer to " + words_of(to);
  }
  const std::string bits = std::to_string(parameter % 32 * 8);
  if (parameter == Kind::boolean) return "bool";
  if (parameter >= Kind::floating) return bits == "32" ? "float" : "double";
  return (parameter >= Kind::natural ? "uint" : "int") + bits;
}
std::string words_of(const KernelArgument& a) {
  switch (a.kind) {
    case KernelArgument::tensor:
      return a.t ? a.t.spec().str() : "an undefined tensor";
    case KernelArgument::boolean:
      return a.i ? "true" : "false";
    case KernelArgument::integer:
      return std::to_string(a.i);
    case KernelArgument::natural:
      return std::to_string(a.u);
    case KernelArgument::floating:
      return Scalar(a.d).str();
    default:
      return "an address";
  }
}

// Are these what elements of the dtype are to a kernel? A pointer to anything else (half, a struct) is the program's
// matter.
bool points_to(int parameter, DType d) {
  const int to = parameter - Kind::pointer;
  if (to == Kind::other) return true;
  const int size = size_of(d);
  if (to == Kind::boolean) return d == DType::boolean;
  if (to >= Kind::floating) return to - Kind::floating == size && is_floating(d);
  return to % 32 == size && is_integral(d);
}

// The arguments of one launch, as the parameters want them.
class Arguments {
 public:
  Arguments(const std::string& name, const CompiledKernel& kernel, std::span<const KernelArgument> given)
      : name_(name), total_(kernel.parameters.size()) {
    check<ValueError>(given.size() == total_, [&] {
      return name_ + ": expected " + std::to_string(total_) + " arguments, as the kernel has, got " +
             std::to_string(given.size());
    });
    values_.resize(total_);
    for (std::size_t i = 0; i < total_; ++i) put(i, kernel.parameters[i], given[i]);
    for (std::uint64_t& v : values_) pointers_.push_back(&v);
  }
  void** data() { return pointers_.data(); }

 private:
  template <class E> void demand(bool ok, std::size_t i, int parameter, const KernelArgument& a, const char* do_this) {
    check<E>(ok, [&] {
      return name_ + ": expected " + words_of(parameter) + " as argument " + std::to_string(i + 1) + " of " +
             std::to_string(total_) + ", got " + words_of(a) + do_this;
    });
  }
  template <class T> void store(std::size_t i, T value) { std::memcpy(&values_[i], &value, sizeof value); }

  void put(std::size_t i, int parameter, const KernelArgument& a) {
    check<NotImplementedError>(parameter != Kind::other, [&] {
      return name_ + ": expected parameters that are numbers and pointers, got another one, " + std::to_string(i + 1) +
             " of " + std::to_string(total_) + "; pass a pointer to it";
    });
    if (parameter >= Kind::pointer) return put_pointer(i, parameter, a);
    demand<ValueError>(a.kind != KernelArgument::tensor && a.kind != KernelArgument::address, i, parameter, a,
                       "; pass a number");
    if (parameter >= Kind::floating) {
      const double value = a.kind == KernelArgument::floating  ? a.d
                           : a.kind == KernelArgument::natural ? double(a.u)
                                                               : double(a.i);
      return parameter - Kind::floating == 4 ? store(i, float(value)) : store(i, value);
    }
    demand<ValueError>(a.kind != KernelArgument::floating, i, parameter, a, "; pass a whole number");
    demand<ValueError>(fits(parameter, a), i, parameter, a, ", which is out of its range");
    store(i, a.u);  // the low bytes come first
  }
  static bool fits(int parameter, const KernelArgument& a) {
    const bool large =
        a.kind == KernelArgument::natural && a.u > std::uint64_t(std::numeric_limits<std::int64_t>::max());
    if (parameter == Kind::boolean) return a.u <= 1;
    const int bits = parameter % 32 * 8;
    if (parameter >= Kind::natural) return (large || a.i >= 0) && (bits == 64 || a.u < std::uint64_t{1} << bits);
    return !large && (bits == 64 || (a.i >= -(std::int64_t{1} << (bits - 1)) && a.i < std::int64_t{1} << (bits - 1)));
  }
  void put_pointer(std::size_t i, int parameter, const KernelArgument& a) {
    if (a.kind == KernelArgument::address) return store(i, a.p);
    demand<ValueError>(a.kind == KernelArgument::tensor && a.t, i, parameter, a, "; pass a tensor");
    demand<DTypeError>(points_to(parameter, a.t.dtype()), i, parameter, a, "; convert it with .to()");
    check_dense("kernel", a.t);
    Storage* const storage = a.t.impl()->storage;
    storage->own();  // it may be written
    store(i, static_cast<void*>(a.t.impl()->data()));
  }

  const std::string& name_;
  std::size_t total_;
  std::vector<std::uint64_t> values_;
  std::vector<void*> pointers_;
};

// Where the kernel runs: where all tensors are.
Device place_of(const std::string& name, std::span<const KernelArgument> given) {
  const Tensor* first = nullptr;
  for (const KernelArgument& a : given) {
    if (a.kind != KernelArgument::tensor || !a.t) continue;
    check<DeviceError>(a.t.device().is_cuda(), [&] {
      return name + ": expected tensors on a device of CUDA, got " + a.t.spec().str() +
             " on the cpu; move it with .cuda()";
    });
    check<DeviceError>(!first || first->device() == a.t.device(), [&] {
      return name + ": expected all tensors on the same device, got " + first->spec().str() + " and " +
             a.t.spec().str() + "; move one with .to()";
    });
    check<AutogradError>(!a.t.requires_grad() || state.active & (kNoGrad | kInference), [&] {
      return name + ": expected tensors that need no gradient, got " + a.t.spec().str() +
             " that requires one; pass its detach(), or call within no_grad: the kernel has no derivative";
    });
    first = &a.t;
  }
  return first ? first->device() : current_device();
}

unsigned size_in(const std::string& name, const char* what, std::int64_t n, std::int64_t most) {
  check<ValueError>(n >= 0 && n <= most, [&] {
    return name + ": expected " + what + " from 0 to " + std::to_string(most) + ", got " + std::to_string(n);
  });
  return unsigned(n);
}
LaunchShape shape_of(const std::string& name, const LaunchSize& s) {
  LaunchShape shape{
      {size_in(name, "blocks along x", s.grid.x, 2147483647), size_in(name, "blocks along y", s.grid.y, 65535),
       size_in(name, "blocks along z", s.grid.z, 65535)},
      {size_in(name, "threads along x", s.block.x, 1024), size_in(name, "threads along y", s.block.y, 1024),
       size_in(name, "threads along z", s.block.z, 64)},
      size_in(name, "bytes of shared memory", s.shared, 1 << 30)};
  const unsigned threads = shape.block[0] * shape.block[1] * shape.block[2];
  check<ValueError>(threads >= 1 && threads <= 1024,
                    [&] { return name + ": expected blocks of 1 to 1024 threads, got " + std::to_string(threads); });
  return shape;
}

}  // namespace

std::string architecture_of(Device d) {
  DeviceInfo i;
  throw_failure(device_api(d).info(d.index, &i), "kernel");
  return "sm_" + std::to_string(i.major * 10 + i.minor);
}

struct Kernel::Parts {
  std::string source, name;
  std::vector<std::string> options;
  std::mutex mutex;
  struct Ready {
    std::shared_ptr<const CompiledKernel> compiled;
    void* kernel = nullptr;  // of the device
  };
  std::map<std::string, Ready> by_architecture;
  std::array<std::atomic<const Ready*>, 256> of_device{};

  const Ready& ready(Device d) {
    std::atomic<const Ready*>& known = of_device[d.index];
    if (const Ready* r = known.load(std::memory_order_acquire)) return *r;
    const GilRelease unlocked(true);  // before the lock: compilation releases Python's
    const std::lock_guard lock(mutex);
    const std::string architecture = architecture_of(d);
    Ready& r = by_architecture[architecture];
    if (!r.kernel) {
      r.compiled = compile_kernel(source, name, options, architecture);
      const LibraryApi& libraries = libraries_of(d);
      throw_failure(
          libraries.load(r.compiled->code.data(), r.compiled->code.size(), r.compiled->name.c_str(), &r.kernel),
          name.c_str());
    }
    known.store(&r, std::memory_order_release);
    return r;
  }
};

Kernel::Kernel(std::string source, std::string name, std::vector<std::string> options)
    : parts_(std::make_shared<Parts>()) {
  parts_->source = std::move(source), parts_->name = std::move(name), parts_->options = std::move(options);
  parts_->ready(current_device());
}
const std::string& Kernel::name() const { return parts_->name; }

void Kernel::launch(const LaunchSize& size, std::span<const KernelArgument> given) const {
  const std::string& name = parts_->name;
  const LaunchShape shape = shape_of(name, size);
  const Device d = place_of(name, given);
  const Parts::Ready& ready = parts_->ready(d);
  Arguments arguments(name, *ready.compiled, given);
  if (!shape.grid[0] || !shape.grid[1] || !shape.grid[2]) return;
  throw_failure(libraries_of(d).launch(d.index, ready.kernel, shape, arguments.data()), name.c_str());
}

}  // namespace neura::cuda
