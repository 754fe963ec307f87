// neura.nn.init and the clipping of neura.nn.utils.
#include "neura/nn/init.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string_view.h>

#include "common.h"
#include "neura/nn/clip.h"
#include "neura/nn/parameter.h"

namespace neura::python {
namespace {

namespace init = nn::init;
using T = const Tensor&;
using G = Generator*;
#define GENERATOR "generator"_a = nb::none()

void bind_distributions(const Names& n) {
  n.function("uniform_", &init::uniform_, "tensor"_a, "a"_a = 0.0, "b"_a = 1.0, GENERATOR,
             R"(Fills the tensor in place with numbers drawn evenly from [a, b); returns it.

>>> w = neura.nn.init.uniform_(neura.empty(3, 5), -1, 1)
>>> bool((w.abs() <= 1).all())
True)");
  n.function("normal_", &init::normal_, "tensor"_a, "mean"_a = 0.0, "std"_a = 1.0, GENERATOR,
             "Fills the tensor in place from the normal distribution of this mean and deviation; returns it.");
  n.function("trunc_normal_", &init::trunc_normal_, "tensor"_a, "mean"_a = 0.0, "std"_a = 1.0, "a"_a = -2.0,
             "b"_a = 2.0, GENERATOR,
             R"(Fills the tensor in place from a normal distribution of which only [a, b] is left; returns it.

Raises ValueError unless std > 0 and a < b.)");
}

void bind_constants(const Names& n) {
  n.function("constant_", &init::constant_, "tensor"_a, "val"_a, "Fills the tensor in place with val; returns it.");
  n.function("ones_", &init::ones_, "tensor"_a, "Fills the tensor in place with 1; returns it.");
  n.function("zeros_", &init::zeros_, "tensor"_a, "Fills the tensor in place with 0; returns it.");
  n.function("eye_", &init::eye_, "tensor"_a,
             R"(Makes the matrix the identity, in place; returns it. Raises ShapeError unless it has two dimensions.

>>> neura.nn.init.eye_(neura.empty(2, 3))
tensor([[1., 0., 0.],
        [0., 1., 0.]]))");
  n.function("dirac_", &init::dirac_, "tensor"_a, "groups"_a = 1,
             R"(Makes the weight of a convolution pass its channels on unchanged, group by group; returns it.

Of 3 to 5 dimensions (ShapeError), the first a multiple of groups (ValueError).)");
}

void bind_fans(const Names& n) {
  n.function("xavier_uniform_", &init::xavier_uniform_, "tensor"_a, "gain"_a = 1.0, GENERATOR,
             R"(Glorot's: even within gain * sqrt(6 / (fan_in + fan_out)), in place; returns the tensor.

Raises ShapeError for a tensor of fewer than two dimensions.

>>> w = neura.nn.init.xavier_uniform_(neura.empty(3, 5), gain=neura.nn.init.calculate_gain('relu'))
>>> w.shape
neura.Size([3, 5]))");
  n.function("xavier_normal_", &init::xavier_normal_, "tensor"_a, "gain"_a = 1.0, GENERATOR,
             R"(Glorot's: normal with deviation gain * sqrt(2 / (fan_in + fan_out)), in place; returns the tensor.

Raises ShapeError for a tensor of fewer than two dimensions.)");
  n.function(
      "kaiming_uniform_",
      [](T t, double a, std::string_view mode, std::string_view f, G g) {
        return init::kaiming_uniform_(t, {a, mode, f, g});
      },
      "tensor"_a, "a"_a = 0.0, "mode"_a = "fan_in", "nonlinearity"_a = "leaky_relu", GENERATOR,
      R"(He's: even within gain * sqrt(3 / fan), in place; returns the tensor.

a: the slope of leaky_relu, of which gain is calculated
mode: 'fan_in' keeps the variance of the forward pass, 'fan_out' that of the backward pass
nonlinearity: see calculate_gain

Raises ValueError for another mode or nonlinearity, ShapeError below two dimensions.)");
  n.function(
      "kaiming_normal_",
      [](T t, double a, std::string_view mode, std::string_view f, G g) {
        return init::kaiming_normal_(t, {a, mode, f, g});
      },
      "tensor"_a, "a"_a = 0.0, "mode"_a = "fan_in", "nonlinearity"_a = "leaky_relu", GENERATOR,
      R"(He's: normal with deviation gain / sqrt(fan), in place; returns the tensor. See kaiming_uniform_.)");
  n.function("orthogonal_", &init::orthogonal_, "tensor"_a, "gain"_a = 1.0, GENERATOR,
             R"(Makes the rows (or, if there are fewer, the columns) orthonormal, times gain; returns the tensor.

Further dimensions count as columns. Raises ShapeError below two dimensions.)");
  n.function(
      "sparse_", &init::sparse_, "tensor"_a, "sparsity"_a, "std"_a = 0.01, GENERATOR,
      R"(Normal with deviation std, and in each column this fraction of zeros in random places; returns the tensor.

Raises ShapeError unless it has two dimensions.)");
  n.function(
      "_calculate_fan_in_and_fan_out",
      [](T t) {
        const init::Fans f = init::calculate_fan_in_and_fan_out(t);
        return std::pair(f.in, f.out);
      },
      "tensor"_a, "How many inputs and outputs one element of this weight meets. ShapeError below two dimensions.");
}

void bind_gain(const Names& n) {
  n.function(
      "calculate_gain",
      [](std::string_view f, std::optional<double> param) -> nb::object {
        const double gain = init::calculate_gain(f, param);
        if (gain == 1 && f != "leaky_relu") return nb::int_(1);  // as in PyTorch
        return nb::float_(gain);
      },
      "nonlinearity"_a, "param"_a = nb::none(),
      R"(By which factor a nonlinearity asks the deviation of its weights to grow.

linear, conv1d to conv3d, conv_transpose1d to conv_transpose3d and sigmoid: 1; tanh: 5 / 3; relu: sqrt(2);
leaky_relu: sqrt(2 / (1 + param ** 2)), param 0.01 if not given; selu: 3 / 4. ValueError for another.

>>> neura.nn.init.calculate_gain('tanh')
1.6666666666666667)");
}

// One tensor, or any iterable of them.
std::vector<Tensor> tensors_of(const char* function, nb::handle given) {
  if (is_tensor(given.ptr())) return {tensor_in(given.ptr())};
  nb::object all = nb::steal(PyObject_GetIter(given.ptr()));
  if (!all) {
    PyErr_Clear();
    throw nb::type_error(
        (std::string(function) + ": expected a tensor or an iterable of tensors, got " + Py_TYPE(given.ptr())->tp_name)
            .c_str());
  }
  std::vector<Tensor> out;
  while (PyObject* next = PyIter_Next(all.ptr())) {
    const nb::object item = nb::steal(next);
    if (!is_tensor(next))
      throw nb::type_error(
          (std::string(function) + ": expected tensors, got " + Py_TYPE(next)->tp_name + " among them").c_str());
    out.push_back(tensor_in(next));
  }
  if (PyErr_Occurred()) throw nb::python_error();
  return out;
}

void bind_clipping(const Names& n) {
#define FOREACH "foreach"_a = nb::none()  // torch's choice of an implementation; there is one here
  n.function(
      "clip_grad_norm_",
      [](nb::handle p, double max_norm, double type, bool error, nb::handle) {
        return nn::utils::clip_grad_norm_(tensors_of("clip_grad_norm_", p), max_norm, {type, error});
      },
      "parameters"_a, "max_norm"_a, "norm_type"_a = 2.0, "error_if_nonfinite"_a = false, FOREACH,
      R"(Scales all gradients in place so that their norm together is at most max_norm; returns the norm before, 0-d.

parameters: a tensor or an iterable of them; those without a gradient are passed over
norm_type: the p of the norm; inf for the largest magnitude
error_if_nonfinite: raise ValueError for a norm that is NaN or infinite, before anything is changed; otherwise such
    a norm makes the gradients NaN or 0

>>> w = neura.ones(4, requires_grad=True)
>>> (3 * w).sum().backward()
>>> neura.nn.utils.clip_grad_norm_(w, 1.0)
tensor(6.)
>>> w.grad
tensor([0.5000, 0.5000, 0.5000, 0.5000]))");
  n.function(
      "clip_grad_value_",
      [](nb::handle p, double value, nb::handle) {
        nn::utils::clip_grad_value_(tensors_of("clip_grad_value_", p), value);
      },
      "parameters"_a, "clip_value"_a, FOREACH,
      "Brings each element of the gradients within [-clip_value, clip_value], in place. ValueError below 0.");
  n.function(
      "get_total_norm",
      [](nb::handle t, double type, bool error, nb::handle) {
        return nn::utils::get_total_norm(tensors_of("get_total_norm", t), type, error);
      },
      "tensors"_a, "norm_type"_a = 2.0, "error_if_nonfinite"_a = false, FOREACH,
      "The norm of these tensors together, 0-d. ValueError for one that is not finite, if wanted.");
  n.function(
      "clip_grads_with_norm_",
      [](nb::handle p, double max_norm, T total, nb::handle) {
        nn::utils::clip_grads_with_norm_(tensors_of("clip_grads_with_norm_", p), max_norm, total);
      },
      "parameters"_a, "max_norm"_a, "total_norm"_a, FOREACH,
      "Scales all gradients in place by max_norm / (total_norm + 1e-6) where that is below 1.");
}

void bind_flattening(const Names& n) {
  n.function(
      "parameters_to_vector",
      [](nb::handle p) { return nn::utils::parameters_to_vector(tensors_of("parameters_to_vector", p)); },
      "parameters"_a, R"(All elements of these parameters in one tensor of one dimension, differentiable.

>>> neura.nn.utils.parameters_to_vector([neura.ones(2, 2), neura.zeros(3)])
tensor([1., 1., 1., 1., 0., 0., 0.]))");
  n.function(
      "vector_to_parameters",
      [](T vec, nb::handle p) { nn::utils::vector_to_parameters(vec, tensors_of("vector_to_parameters", p)); }, "vec"_a,
      "parameters"_a,
      R"(The inverse of parameters_to_vector: each parameter's data becomes a part of vec, without a copy.

Raises ValueError unless vec has one dimension and as many elements as the parameters together.)");
}

}  // namespace

void bind_init(const Names& initial, const Names& utils) {
  bind_distributions(initial);
  bind_constants(initial);
  bind_fans(initial);
  bind_gain(initial);
  bind_clipping(utils);
  bind_flattening(utils);
}

}  // namespace neura::python
