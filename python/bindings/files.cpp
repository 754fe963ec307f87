// Files: safetensors as they are, and the bytes of other files as tensors. What a file means is said in Python.
#include "common.h"

#include <nanobind/stl/map.h>

#include <algorithm>

#include "neura/core/file.h"
#include "neura/io/safetensors.h"

namespace neura::python {
namespace {

// None, a device, {"cuda:1": "cpu"}, or a function of the saved device's name that returns a device.
MapLocation location_of(nb::handle h) {
  if (h.is_none()) return {};
  Device device;
  if (to_device(h.ptr(), device)) return device;
  if (PyDict_Check(h.ptr())) {
    std::map<std::string, std::string> devices;
    for (auto [from, to] : nb::cast<nb::dict>(h)) devices[nb::str(from).c_str()] = nb::str(to).c_str();
    return devices;
  }
  if (!PyCallable_Check(h.ptr()))
    throw nb::type_error("load: expected map_location to be a device, a dict of devices or a function");
  return [f = nb::borrow(h)](Device saved) {
    nb::gil_scoped_acquire gil;
    nb::object result = f(saved.str());
    Device device;
    if (result.is_none()) return saved;
    if (!to_device(result.ptr(), device)) throw nb::type_error("load: expected map_location to return a device");
    return device;
  };
}

nn::StateDict state_dict_of(nb::dict tensors) {
  nn::StateDict out;
  for (auto [name, tensor] : tensors) {
    if (!PyUnicode_Check(name.ptr())) throw nb::type_error("save_file: expected the names of tensors to be text");
    if (!is_tensor(tensor.ptr())) {
      PyErr_Format(PyExc_TypeError, "save_file: expected a tensor for %R, got %s", name.ptr(),
                   Py_TYPE(tensor.ptr())->tp_name);
      throw nb::python_error();
    }
    Py_ssize_t size;
    const char* text = PyUnicode_AsUTF8AndSize(name.ptr(), &size);
    if (!text) throw nb::python_error();  // lone surrogates
    out.append(std::string(text, std::size_t(size)), tensor_in(tensor.ptr()));
  }
  return out;
}
nb::tuple result_of(const TensorFile& file) {
  nb::dict tensors;
  for (const auto& [name, tensor] : file.tensors) tensors[nb::str(name.data(), name.size())] = nb::steal(wrap(tensor));
  return nb::make_tuple(tensors, file.metadata);
}

struct Buffer {  // the bytes of a Python object
  Py_buffer view;
  explicit Buffer(nb::handle h) {
    if (PyObject_GetBuffer(h.ptr(), &view, PyBUF_SIMPLE)) throw nb::python_error();
  }
  Buffer(const Buffer&) = delete;
  ~Buffer() { PyBuffer_Release(&view); }
  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(view.buf), std::size_t(view.len)}; }
};

nb::tuple load_file_of(const std::string& path, nb::handle map_location, bool mmap) {
  const MapLocation location = location_of(map_location);
  TensorFile file;
  {
    nb::gil_scoped_release alone;
    file = load_file(path, location, mmap);
  }
  return result_of(file);
}
nb::tuple load_bytes_of(nb::handle data, nb::handle map_location, const std::string& name) {
  const Buffer buffer(data);
  return result_of(load_bytes(buffer.bytes(), location_of(map_location), name));
}
void save_file_of(const std::string& path, nb::dict tensors, const Metadata& metadata) {
  const nn::StateDict state = state_dict_of(tensors);
  nb::gil_scoped_release alone;
  save(path, state, metadata);
}
nb::bytes save_bytes_of(nb::dict tensors, const Metadata& metadata) {
  const std::string text = save_bytes(state_dict_of(tensors), metadata);
  return nb::bytes(text.data(), text.size());
}

using Held = std::shared_ptr<io::Mapping>;

nb::capsule map_file(const std::string& path) {
  const io::Source source(path, true);
  return nb::capsule(new Held(source.mapping()), [](void* p) noexcept { delete static_cast<Held*>(p); });
}
Tensor make_tensor(const Spec& spec, Storage* storage) {
  return Tensor(Ref<TensorImpl>::adopt(TensorImpl::make(spec, storage)));
}
Tensor mapped_bytes(nb::capsule mapping, std::uint64_t offset, std::uint64_t size) {
  const Held& held = *static_cast<Held*>(mapping.data());
  check<FormatError>(offset <= held->size && size <= held->size - offset, [&] {
    return "load: expected bytes " + std::to_string(offset) + " to " + std::to_string(offset + size) +
           " within the file, got one of " + std::to_string(held->size);
  });
  const Spec spec = Spec::dense(DType::uint8, Shape{std::int64_t(size)});
  if (!size) return Tensor::empty(spec);
  const auto release = [](Storage* s) { delete static_cast<Held*>(s->context); };
  return make_tensor(spec, Storage::wrap(held->data + offset, size, release, new Held(held)));
}

// A tensor of any dtype and geometry over bytes, sharing them. Everything a file may claim is checked here.
Tensor strided(const Tensor& bytes, DType dtype, std::int64_t offset, const std::vector<std::int64_t>& size,
               const std::vector<std::int64_t>& stride) {
  Spec spec;
  const std::int64_t item = size_of(dtype), there = std::int64_t(bytes.nbytes()) / item;
  bool fits = size.size() == stride.size() && size.size() <= std::size_t(kMaxRank) && offset >= 0 && offset <= there;
  std::int64_t last = offset, elements = 1, step;
  bool none = false;
  for (std::size_t i = 0; fits && i < size.size(); ++i) {
    fits = size[i] >= 0 && stride[i] >= 0;
    if (size[i] == 0) none = true;
    else
      fits = fits && !__builtin_mul_overflow(elements, size[i], &elements) && elements <= INT64_MAX / 16 &&
             !__builtin_mul_overflow(size[i] - 1, stride[i], &step) && !__builtin_add_overflow(last, step, &last);
    if (fits) spec.shape[i] = size[i], spec.strides[i] = stride[i];
  }
  check<FormatError>(fits && (none || last < there), [&] {
    return std::string("load: expected a tensor within its storage of ") + std::to_string(there) + " elements of " +
           name(dtype) + ", got one that reaches beyond it";
  });
  check<FormatError>(
      reinterpret_cast<std::uintptr_t>(bytes.const_raw_data()) % std::size_t(size_of(to_real(dtype))) == 0,
      [] { return std::string("load: expected a storage aligned to its elements"); });
  spec.dtype = dtype, spec.rank = std::uint8_t(size.size()), spec.offset = offset, spec.device = bytes.device();
  spec.finish();
  Storage* storage = bytes.impl()->storage;
  storage->count.fetch_add(1, std::memory_order_relaxed);
  return make_tensor(spec, storage);
}

bool all_bools(const Tensor& bytes) {
  const auto* p = bytes.const_data<std::uint8_t>();
  return std::all_of(p, p + bytes.numel(), [](std::uint8_t b) { return b < 2; });
}

}  // namespace

void bind_files(nb::module_& parent) {
  nb::module_ m = parent.def_submodule("_io", "Safetensors files, and bytes as tensors.");
  m.def("load_file", &load_file_of, "path"_a, "map_location"_a = nb::none(), "mmap"_a = false);
  m.def("load_bytes", &load_bytes_of, "data"_a, "map_location"_a = nb::none(), "name"_a = "safetensors");
  m.def("save_file", &save_file_of, "path"_a, "tensors"_a, "metadata"_a);
  m.def("save_bytes", &save_bytes_of, "tensors"_a, "metadata"_a);
  m.def("map_file", &map_file, "path"_a);
  m.def("mapped_bytes", &mapped_bytes, "mapping"_a, "offset"_a, "size"_a);
  m.def("strided", &strided, "bytes"_a, "dtype"_a, "offset"_a, "size"_a, "stride"_a);
  m.def("all_bools", &all_bools, "bytes"_a);
}

}  // namespace neura::python
