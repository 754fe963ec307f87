// What neura.utils.data and neura.data need of C++: batches of tensors, memory that processes share, files.
#include "common.h"
#include "neura/core/parallel.h"
#include "neura/core/precision.h"
#include "neura/data/csv.h"
#include "neura/data/dataset.h"
#include "neura/data/idx.h"
#include "neura/data/image_sets.h"
#include "neura/data/mnist.h"
#include "neura/data/placement.h"
#include "neura/data/png.h"
#include "neura/data/shared.h"
#include "neura/data/text.h"
#include "neura/data/transforms.h"
#include "numbers.h"

namespace neura::python {
namespace {

using Unlocked = nb::call_guard<nb::gil_scoped_release>;

// Rows of each tensor; negative indices count from the end.
std::vector<Tensor> gather(const std::vector<Tensor>& tensors, std::vector<std::int64_t> indices) {
  std::vector<Tensor> rows;
  rows.reserve(tensors.size());
  for (const Tensor& t : tensors) {
    check<ShapeError>(t.dim() > 0, [] { return "TensorDataset: expected tensors of at least one dimension, got 0-d"; });
    const std::int64_t n = t.shape()[0];
    for (std::int64_t& i : indices) {
      check<IndexError>(i >= -n && i < n, [&] {
        return "TensorDataset: expected an index in [" + std::to_string(-n) + ", " + std::to_string(n) + "), got " +
               std::to_string(i);
      });
      if (i < 0) i += n;
    }
    rows.push_back(data::gather_rows(t, indices));
  }
  return rows;
}

void bind_shared(nb::module_& m) {
  using data::Returns;
  using data::SharedBlock;
  nb::class_<Returns>(m, "Returns").def(nb::init<>()).def("take", [](Returns& r) {
    nb::list l;
    for (const auto& [number, again] : r.take()) l.append(nb::make_tuple(number, again));
    return l;
  });
  nb::class_<SharedBlock>(m, "Block")
      .def_static("create", &SharedBlock::create, "bytes"_a)
      .def_static("open", &SharedBlock::open, "file"_a, "returns"_a, "number"_a)
      .def_static("local", &SharedBlock::local, "bytes"_a)
      .def_prop_ro("size", &SharedBlock::size)
      .def_prop_ro("file", &SharedBlock::file)
      .def_prop_ro("idle", &SharedBlock::idle)
      .def("close_file", &SharedBlock::close_file)
      .def("tensor", &SharedBlock::tensor, "offset"_a, "dtype"_a, "shape"_a)
      .def("offset_of", &SharedBlock::offset_of, "tensor"_a)
      .def(
          "put",
          [](const SharedBlock& b, std::size_t offset, const Tensor& t) {
            Tensor to = b.tensor(offset, t.dtype(), t.shape());
            const NoGrad off;
            copy_(to, t);
          },
          "offset"_a, "tensor"_a, Unlocked());
}

void bind_placement(nb::module_& m) {
  using data::Arrival;
  using data::Placement;
  nb::class_<Arrival>(m, "Arrival").def(nb::init<>()).def("take", &Arrival::take);
  nb::class_<Placement>(m, "Placement")
      .def(nb::init<std::optional<Device>, bool>(), "device"_a.none(), "pin_memory"_a)
      .def_prop_ro("pinned", &Placement::pinned)
      .def("send", &Placement::send, "tensor"_a, "arrival"_a, Unlocked())
      .def("finish", &Placement::finish, "arrival"_a);
  m.def("set_pinned_batches", &data::set_pinned_batches, "on"_a);
}

data::ImageMode mode_of(const std::string& name) {
  using data::ImageMode;
  const std::pair<const char*, ImageMode> modes[] = {{"unchanged", ImageMode::unchanged},
                                                     {"gray", ImageMode::gray},
                                                     {"gray_alpha", ImageMode::gray_alpha},
                                                     {"rgb", ImageMode::rgb},
                                                     {"rgb_alpha", ImageMode::rgb_alpha}};
  for (const auto& [text, mode] : modes)
    if (name == text) return mode;
  throw ValueError("png: expected mode unchanged, gray, gray_alpha, rgb or rgb_alpha, got " + name);
}
std::span<const std::byte> bytes_of(const nb::bytes& b) { return {static_cast<const std::byte*>(b.data()), b.size()}; }

void bind_reading(nb::module_& m) {
  m.def("read_idx", &data::read_idx, "path"_a, Unlocked());
  m.def("write_idx", &data::write_idx, "path"_a, "tensor"_a, Unlocked());
  m.def(
      "read_png", [](const std::string& path, const std::string& mode) { return data::read_png(path, mode_of(mode)); },
      "path"_a, "mode"_a, Unlocked());
  m.def("write_png", &data::write_png, "path"_a, "image"_a, Unlocked());
  m.def("decode_png", [](const nb::bytes& b, const std::string& mode) {
    const auto bytes = bytes_of(b);
    const data::ImageMode wanted = mode_of(mode);
    nb::gil_scoped_release unlocked;
    return data::decode_png(bytes, wanted);
  });
  m.def("encode_png", [](const Tensor& image) {
    const std::string text = data::encode_png(image);
    return nb::bytes(text.data(), text.size());
  });
  const auto table = [](const data::Table& t) {
    nb::list names;
    for (const std::string& name : t.names) names.append(name);
    return nb::make_tuple(t.values, names);
  };
  m.def("read_csv", [table](const std::string& path, char delimiter, bool header) {
    return table(data::read_csv(path, {.delimiter = delimiter, .header = header}));
  });
  m.def("parse_csv", [table](const std::string& text, char delimiter, bool header) {
    return table(data::parse_csv(text, {.delimiter = delimiter, .header = header}));
  });
}

nb::tuple parts(const Tensor& images, const Tensor& labels, const std::vector<std::string>& classes) {
  nb::list names;
  for (const std::string& c : classes) names.append(c);
  return nb::make_tuple(images, labels, names);
}
void bind_sets(nb::module_& m) {
  m.def("mnist", [](const std::string& root, bool train) {
    const data::MNIST set({.root = root, .train = train});
    return parts(set.images(), set.labels(), set.classes());
  });
  m.def("fashion_mnist", [](const std::string& root, bool train) {
    const data::FashionMNIST set({.root = root, .train = train});
    return parts(set.images(), set.labels(), set.classes());
  });
  m.def("cifar10", [](const std::string& root, bool train) {
    const data::CIFAR10 set(root, train);
    return parts(set.images(), set.labels(), data::CIFAR10::class_names());
  });
  const auto labelled = [](const std::vector<std::string>& classes, const auto& all) {
    nb::list files, names;
    for (const auto& [path, label] : all) files.append(nb::make_tuple(path, label));
    for (const std::string& c : classes) names.append(c);
    return nb::make_tuple(files, names);
  };
  m.def("image_folder", [labelled](const std::string& root) {
    const data::ImageFolder set(root);
    return labelled(set.classes(), set.files());
  });
  m.def("text_folder", [labelled](const std::string& root, const nb::list& classes) {
    std::vector<std::string> names;
    for (nb::handle c : classes) names.push_back(nb::cast<std::string>(c));
    const data::TextFolder set(root, names);
    return labelled(set.classes(), set.files());
  });
  m.def("read_text", &data::read_text, "path"_a, Unlocked());
}

void bind_transforms(nb::module_& m) {
  const auto numbers = [](const nb::list& l) { return numbers_of(l, "normalize", "mean and std"); };
  m.def(
      "to_float", [](const Tensor& x, DType dtype) { return data::ToFloat{dtype}(x); }, "image"_a, "dtype"_a,
      Unlocked());
  m.def(
      "normalize",
      [numbers](const Tensor& x, const nb::list& mean, const nb::list& std) {
        const data::Normalize normalize{numbers(mean), numbers(std)};
        nb::gil_scoped_release unlocked;
        return normalize(x);
      },
      "image"_a, "mean"_a, "std"_a);
  m.def(
      "random_flip", [](const Tensor& x, double p) { return data::RandomHorizontalFlip{p}(x); }, "image"_a, "p"_a,
      Unlocked());
  m.def(
      "random_crop",
      [](const Tensor& x, std::int64_t height, std::int64_t width, std::int64_t padding, double fill) {
        return data::RandomCrop{height, width, padding, fill}(x);
      },
      "image"_a, "height"_a, "width"_a, "padding"_a, "fill"_a, Unlocked());
}

}  // namespace

void bind_loading(const Names& n) {
  nb::module_ m = nb::module_(n.functions).def_submodule("_data");
  m.def("gather", &gather, "tensors"_a, "indices"_a, Unlocked());
  m.def(
      "stack", [](const std::vector<Tensor>& items) { return data::stack_items(items); }, "items"_a, Unlocked());
  bind_shared(m);
  bind_placement(m);
  bind_reading(m);
  bind_sets(m);
  bind_transforms(m);
  n.function("get_num_threads", &get_num_threads, "How many threads an operation may use.");
  n.function("set_num_threads", &set_num_threads, "n"_a, "Lets operations use up to n threads, the caller's included.");
  n.function("get_float32_matmul_precision", &get_float32_matmul_precision);
  n.function(
      "set_float32_matmul_precision", [](const std::string& word) { set_float32_matmul_precision(word); },
      "precision"_a);
  n.function(
      "use_deterministic_algorithms", [](bool mode, bool) { use_deterministic_algorithms(mode); }, "mode"_a,
      nb::kw_only(), "warn_only"_a = false);
  n.function("are_deterministic_algorithms_enabled", &are_deterministic_algorithms_enabled);
}

}  // namespace neura::python
