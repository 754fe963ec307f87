// DLPack: the bytes of a tensor handed to another library, or taken from one, without a copy. The structs follow the
// published layout of version 1 and of the older form without a version.
#include "common.h"
#include "neura/core/dlpack.h"
#include "neura/core/memory_api.h"
#include "neura/core/meta.h"
#include "neura/core/storage_lock.h"
#include "neura/core/stream_api.h"
#include "neura/core/wrapped.h"
#include "neura/op/defer.h"

namespace neura::python {
namespace {

struct DLDevice {
  std::int32_t type;  // 1: cpu, 2: CUDA
  std::int32_t index;
};
struct DLDataType {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  std::int32_t ndim;
  DLDataType dtype;
  std::int64_t *shape, *strides;  // in elements; no strides: row-major
  std::uint64_t byte_offset;
};
struct Managed {
  DLTensor tensor;
  void* context;
  void (*deleter)(Managed*);
};
struct Versioned {
  std::uint32_t major, minor;
  void* context;
  void (*deleter)(Versioned*);
  std::uint64_t flags;
  DLTensor tensor;
};
constexpr std::uint64_t kReadOnly = 1, kCopied = 2;
constexpr std::int32_t kCpu = 1, kCuda = 2, kOther = 12;  // another library knows no device that was registered

// ---- The order of work. A stream of a CUDA device is a number to other libraries, as the array API has it: 1, the
// device's default stream; 2, the thread's default one; else the address of a stream. CUDA takes 1 and 2 as addresses.

constexpr std::int64_t kDefaultStream = 1, kNoOrder = -1;

void* current_stream(Device d) {
  const StreamApi* s = device_api(d).streams;
  return s ? s->current(d.index) : nullptr;
}
std::int64_t number_of(void* stream) {
  return stream ? std::int64_t(reinterpret_cast<std::intptr_t>(stream)) : kDefaultStream;
}
void* stream_of(std::int64_t number) { return reinterpret_cast<void*>(std::intptr_t(number)); }
// Work queued on stream `later` from now on waits for what stream `earlier` has been given so far; the host does not.
Failed order(Device d, void* earlier, void* later) {
  const StreamApi* s = device_api(d).streams;
  if (!s || number_of(earlier) == number_of(later)) return nullptr;
  void* mark = nullptr;
  if (Failed f = s->make_event(d.index, false, false, &mark)) return f;
  Failed f = s->record(d.index, mark, earlier);
  if (!f) f = s->wait(d.index, later, mark);
  s->destroy_event(d.index, mark);
  return f;
}

// ---- Out: the exported struct holds a tensor of its own, so that it outlives ours and any change of ours.

template <class M> struct Export {
  M managed;
  Tensor tensor;
  std::int64_t shape[kMaxRank], strides[kMaxRank];
};
std::pair<int, int> device_of(const Tensor& t) {
  const Device d = t.device();
  return {d.is_cpu() ? kCpu : d.is_cuda() ? kCuda : kOther, d.is_cpu() ? 0 : int(d.index)};
}
template <class M> M* exported(const Tensor& t) {
  check_readable("dlpack", t);
  check_values("__dlpack__", t.device(), t.spec());
  check<DeviceError>(t.device().is_cpu() || t.device().is_cuda(), [&] {
    return "__dlpack__: expected a tensor on the cpu or a CUDA device, got " + t.spec().str() + "; move it with .cpu()";
  });
  notify_read(t);
  auto* e = new Export<M>{{}, t.detach(), {}, {}};
  const Spec& s = e->tensor.spec();
  std::copy(s.shape, s.shape + s.rank, e->shape), std::copy(s.strides, s.strides + s.rank, e->strides);
  const DlpackCode& c = dlpack_code(s.dtype);
  const DLDevice device{s.device.is_cpu() ? kCpu : kCuda, s.device.is_cpu() ? 0 : s.device.index};
  e->managed.tensor = {e->tensor.raw_data(), device, s.rank, {c.code, c.bits, 1}, e->shape, e->strides, 0};
  e->managed.context = e;
  e->managed.deleter = [](M* m) { delete static_cast<Export<M>*>(m->context); };
  return &e->managed;
}
// The consumer's stream waits for the work so far, and the memory is not given again before the work that the stream
// has when the consumer lets go: which Neura's allocator sees to for memory of its own.
void hand_over(const Tensor& t, std::int64_t number) {
  const Device d = t.device();
  if (!d.is_cuda() || number == kNoOrder) return;
  throw_failure(order(d, current_stream(d), stream_of(number)), "__dlpack__");
  const StreamApi* s = device_api(d).streams;
  const Storage* storage = t.impl()->storage;
  if (s && storage->bytes && has_block(storage))
    throw_failure(s->memory->used_on(d.index, storage->data, stream_of(number)), "__dlpack__");
}
template <class M> nb::object capsule(M* m, const char* name) {
  PyObject* c = PyCapsule_New(m, name, [](PyObject* c) {
    // Whoever took the struct has renamed the capsule, and deletes it.
    const char* now = PyCapsule_GetName(c);
    if (std::string_view(now) != "dltensor" && std::string_view(now) != "dltensor_versioned") return;
    auto* held = static_cast<M*>(PyCapsule_GetPointer(c, now));
    held->deleter(held);
  });
  if (!c) m->deleter(m), throw nb::python_error();
  return nb::steal(c);
}

std::pair<int, int> two_integers(nb::handle h, const char* what) {
  Shape s;
  if (!PyTuple_Check(h.ptr()) || !to_shape(h.ptr(), s) || s.size() != 2)
    throw nb::type_error((std::string("__dlpack__: expected ") + what + " to be a pair of integers").c_str());
  return {int(s[0]), int(s[1])};
}
nb::object to_dlpack(const Tensor& x, nb::handle stream, nb::handle max_version, nb::handle dl_device,
                     std::optional<bool> copy) {
  check<AutogradError>(!x.requires_grad(), [] {
    return std::string("__dlpack__: expected a tensor that requires no gradient; call detach() first");
  });
  if (!stream.is_none() && !PyLong_Check(stream.ptr()))
    throw nb::type_error("__dlpack__: expected stream to be None or an integer");
  std::int64_t number = 0;
  check<ValueError>(stream.is_none() || nb::try_cast<std::int64_t>(stream, number),
                    [] { return std::string("__dlpack__: expected stream to be the address of a stream, got more"); });
  check<ValueError>(!x.device().is_cpu() || stream.is_none() || number == kNoOrder, [] {
    return std::string("__dlpack__: expected no stream for a tensor on the cpu, got one; pass stream=None");
  });
  if (stream.is_none()) number = kDefaultStream;
  check<ValueError>(number > 0 || number == kNoOrder, [&] {
    return "__dlpack__: expected stream to be -1, 1, 2 or the address of a stream, got " + std::to_string(number) +
           "; 1 is the default stream";
  });
  Tensor t = x;
  bool copied = false;
  if (!dl_device.is_none()) {
    const auto [type, index] = two_integers(dl_device, "dl_device");
    const bool same = type == device_of(x).first && (type == kCpu || index == device_of(x).second);
    if (!same) {
      if (type != kCpu || (copy && !*copy)) {
        PyErr_SetString(PyExc_BufferError,
                        "__dlpack__: expected dl_device to be the tensor's own or the cpu (which copies)");
        throw nb::python_error();
      }
      t = x.detach().to(Device()), copied = true;
    }
  }
  if (copy.value_or(false) && !copied) t = x.detach().clone(), copied = true;
  if (!max_version.is_none() && two_integers(max_version, "max_version").first >= 1) {
    Versioned* m = exported<Versioned>(t);
    m->major = 1, m->minor = 0, m->flags = copied ? kCopied : 0;
    const nb::object c = capsule(m, "dltensor_versioned");
    return hand_over(t, number), c;
  }
  const nb::object c = capsule(exported<Managed>(t), "dltensor");
  return hand_over(t, number), c;
}

// ---- In

// DeviceError where there is no such device.
Device device_at(std::int32_t type, std::int32_t index) {
  check<DeviceError>(type == kCpu || type == kCuda, [&] {
    return "from_dlpack: expected memory of the cpu or of a CUDA device, got device type " + std::to_string(type) +
           "; this build of neura has no back end for it";
  });
  if (type == kCpu) return {};
  const int count = device_api(DeviceType::cuda).count();
  check<DeviceError>(index >= 0 && index < count, [&] {
    return "from_dlpack: expected memory of one of " + std::to_string(count) +
           " CUDA devices, got cuda:" + std::to_string(index);
  });
  return {DeviceType::cuda, index};
}
// What the producer gives its default stream from now on waits for what this thread has given the device: the memory
// goes back to it. The host does not wait, and at the end of the process nothing is left to wait for.
void hand_back(const Storage& s) {
  if (s.device.is_cuda()) static_cast<void>(order(s.device, current_stream(s.device), stream_of(kDefaultStream)));
}

template <class M> Tensor imported(M* m, bool read_only, std::optional<bool> copy) {
  std::unique_ptr<M, void (*)(M*)> held(m, [](M* p) {
    if (p->deleter) p->deleter(p);
  });
  const DLTensor& d = m->tensor;
  const DlpackCode* c = dlpack_code(d.dtype.code, d.dtype.bits, d.dtype.lanes);
  check<DTypeError>(c, [&] {
    return "from_dlpack: expected a dtype that tensors have, got code " + std::to_string(d.dtype.code) + " of " +
           std::to_string(d.dtype.bits) + " bits";
  });
  const Device device = device_at(d.device.type, d.device.index);
  check<ShapeError>(d.ndim >= 0 && d.ndim <= kMaxRank,
                    [&] { return "from_dlpack: expected at most 8 dimensions, got " + std::to_string(d.ndim); });
  Spec spec;
  spec.dtype = c->dtype, spec.rank = std::uint8_t(d.ndim), spec.device = device;
  std::int64_t dense = 1;
  for (int i = d.ndim; i-- > 0; dense *= std::max<std::int64_t>(d.shape[i], 1)) {
    spec.shape[i] = d.shape[i], spec.strides[i] = d.strides ? d.strides[i] : dense;
    check<ValueError>(d.shape[i] >= 0 && (spec.strides[i] >= 0 || d.shape[i] < 2), [&] {
      return std::string("from_dlpack: expected no negative sizes or strides; make a copy of the array first");
    });
    if (spec.strides[i] < 0) spec.strides[i] = dense;  // of one element or none it says nothing
  }
  spec.finish();
  char* data = static_cast<char*>(d.data) + d.byte_offset;
  const auto bytes = std::size_t(spec.span() * size_of(spec.dtype));
  Storage* storage = Storage::wrap(
      data, bytes,
      [](Storage* s) {
        hand_back(*s);
        when_locked(
            [](void* p) {
              if (auto* m = static_cast<M*>(p); m->deleter) m->deleter(m);
            },
            s->context);
      },
      held.release());
  storage->device = device;
  Tensor t(Ref<TensorImpl>::adopt(TensorImpl::make(spec, storage)));
  const bool aligned = reinterpret_cast<std::uintptr_t>(data) % std::uintptr_t(size_of(to_real(spec.dtype))) == 0;
  if (copy.value_or(false)) return t.clone();
  if (!read_only && aligned) return t;
  check<ValueError>(!copy, [] {
    return std::string(
        "from_dlpack: expected memory that may be written, got read-only or unaligned memory; "
        "leave copy at None, which copies it");
  });
  return t.clone();  // a tensor has no read-only form
}

Tensor from_capsule(nb::handle o, std::optional<bool> copy) {
  if (PyCapsule_IsValid(o.ptr(), "dltensor_versioned")) {
    auto* m = static_cast<Versioned*>(PyCapsule_GetPointer(o.ptr(), "dltensor_versioned"));
    check<ValueError>(m->major == 1,
                      [&] { return "from_dlpack: expected version 1 of DLPack, got " + std::to_string(m->major); });
    PyCapsule_SetName(o.ptr(), "used_dltensor_versioned");
    return imported(m, m->flags & kReadOnly, copy);
  }
  if (!PyCapsule_IsValid(o.ptr(), "dltensor"))
    throw nb::value_error(
        "from_dlpack: expected a capsule of DLPack, got a used or another one; make a new one, which serves once");
  auto* m = static_cast<Managed*>(PyCapsule_GetPointer(o.ptr(), "dltensor"));
  PyCapsule_SetName(o.ptr(), "used_dltensor");
  return imported(m, false, copy);
}

// What the producer is to be told: None for memory of the cpu, else the number of this thread's stream on its device.
nb::object stream_for(nb::handle producer) {
  if (!nb::hasattr(producer, "__dlpack_device__")) return nb::none();
  const nb::object where = producer.attr("__dlpack_device__")();
  Shape at;
  if (!to_shape(where.ptr(), at) || at.size() != 2 || at[0] == kCpu) return nb::none();
  const Device d = device_at(std::int32_t(at[0]), std::int32_t(at[1]));
  return nb::int_(number_of(current_stream(d)));
}

Tensor from_dlpack(nb::handle o, nb::handle device, std::optional<bool> copy) {
  Device wanted;
  if (!device.is_none() && !to_device(device.ptr(), wanted))
    throw nb::type_error("from_dlpack: expected device to be a device or its name");
  Tensor t;
  if (PyCapsule_CheckExact(o.ptr())) {
    t = from_capsule(o, copy);
    // Its producer was asked for no stream, and has ordered its work before what its default stream gets.
    if (const Device d = t.device(); d.is_cuda())
      throw_failure(order(d, stream_of(kDefaultStream), current_stream(d)), "from_dlpack");
  } else {
    if (!nb::hasattr(o, "__dlpack__"))
      throw nb::type_error(
          (std::string("from_dlpack: expected an object with __dlpack__, got ") + Py_TYPE(o.ptr())->tp_name).c_str());
    const nb::object method = o.attr("__dlpack__"), stream = stream_for(o);
    nb::object given;
    try {
      given = method("stream"_a = stream, "max_version"_a = nb::make_tuple(1, 0));
    } catch (nb::python_error& e) {  // an older producer
      if (!e.matches(PyExc_TypeError)) throw;
      given = stream.is_none() ? method() : method("stream"_a = stream);
    }
    t = from_capsule(given, copy);
  }
  return device.is_none() ? t : t.to(wanted);
}

}  // namespace

void bind_dlpack(const Names& n) {
  n.method("__dlpack__", &to_dlpack, "self"_a, nb::kw_only(), "stream"_a = nb::none(), "max_version"_a = nb::none(),
           "dl_device"_a = nb::none(), "copy"_a = nb::none());
  n.method("__dlpack_device__", [](const Tensor& t) {
    const auto [type, index] = device_of(t);
    return nb::make_tuple(type, index);
  });
  n.function(
      "from_dlpack", &from_dlpack, "ext_tensor"_a, nb::kw_only(), "device"_a = nb::none(), "copy"_a = nb::none(),
      "A tensor over the memory of an object with __dlpack__, such as an array of another library; writes to one\n"
      "are seen by the other. Read-only memory is copied. copy=True always copies; copy=False raises ValueError\n"
      "where a copy would be needed. Memory of a CUDA device is taken where it is: the current stream waits for the\n"
      "producer's work, and the producer's default stream for work here when the tensor is let go of.");
  n.function("_to_dlpack", [](const Tensor& t) { return to_dlpack(t, nb::none(), nb::none(), nb::none(), {}); });
}

}  // namespace neura::python
