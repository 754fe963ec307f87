// Kernels given as text: neura.cuda.compile_kernel.
#include "common.h"

#include <nanobind/stl/vector.h>

#include "neura/cuda/compile.h"
#include "neura/cuda/kernel.h"
#include "neura/cuda/stream.h"

namespace neura::python {
namespace {

using cuda::Extent;
using cuda::Kernel;
using cuda::KernelArgument;

Extent extent_of(nb::handle h, const char* what) {
  Shape s;
  if (h.is_none() || !to_shape(h.ptr(), s) || s.size() > 3)
    throw nb::type_error(
        (std::string("kernel: expected ") + what + " to be an integer or up to three of them").c_str());
  Extent e;
  std::int64_t* const to[] = {&e.x, &e.y, &e.z};
  for (int i = 0; i < s.size(); ++i) *to[i] = s[i];
  return e;
}
KernelArgument argument_of(nb::handle h) {
  if (is_tensor(h.ptr())) return tensor_in(h.ptr());
  if (h.is_none()) return static_cast<void*>(nullptr);
  if (PyBool_Check(h.ptr())) return h.ptr() == Py_True;
  if (PyFloat_Check(h.ptr())) return PyFloat_AS_DOUBLE(h.ptr());
  if (PyLong_Check(h.ptr())) {
    const std::uint64_t large = PyLong_AsUnsignedLongLong(h.ptr());  // a negative one is an error here
    if (!PyErr_Occurred()) return large;
    PyErr_Clear();
  }
  Scalar s;
  if (!to_scalar(h.ptr(), s) || s.category() == Category::complex)
    throw nb::type_error("kernel: expected args of tensors, numbers and None, got something else");
  if (s.category() == Category::boolean) return s.integer() != 0;
  if (s.category() == Category::integer) return s.integer();
  return s.real();
}

void launch(const Kernel& kernel, nb::handle grid, nb::handle block, nb::handle args, std::int64_t shared_mem,
            const cuda::Stream* stream) {
  std::vector<KernelArgument> all;
  if (!args.is_none())
    for (nb::handle a : nb::iter(args)) all.push_back(argument_of(a));
  const cuda::LaunchSize size{extent_of(grid, "grid"), extent_of(block, "block"), shared_mem};
  const std::optional<cuda::StreamGuard> on =
      stream ? std::optional<cuda::StreamGuard>(std::in_place, *stream) : std::nullopt;
  kernel.launch(size, all);
}

}  // namespace

void bind_kernels(nb::module_& m) {
  nb::class_<Kernel>(m, "Kernel", "A kernel that neura.cuda.compile_kernel compiled. Called, it is launched.")
      .def(nb::init<std::string, std::string, std::vector<std::string>>(), "kernel_source"_a, "kernel_name"_a,
           "options"_a = std::vector<std::string>())
      .def_prop_ro("name", &Kernel::name, "The kernel's name in the source.")
      .def("__call__", &launch, "grid"_a = nb::make_tuple(1, 1, 1), "block"_a = nb::make_tuple(1, 1, 1),
           "args"_a = nb::none(), "shared_mem"_a = 0, "stream"_a.none() = nb::none(),
           "Launches the kernel: grid and block are integers or tuples of up to three, args tensors and numbers.\n\n"
           "Tensors must be on one device, and need no gradient; numbers are converted to the parameters' types. It "
           "runs\n"
           "on the current stream of that device, or on `stream`.");
  m.def("nvrtc_version", &cuda::nvrtc_version);
  m.def("compile_counts", [] {
    const cuda::CompileCounts c = cuda::compile_counts();
    return nb::make_tuple(c.compiled, c.remembered, c.read);
  });
}

}  // namespace neura::python
