// What neura.utils.data and neura.data need of C++: batches of tensors, memory that processes share, files.
#include "common.h"
#include "neura/core/parallel.h"
#include "neura/core/precision.h"
#include "neura/data/csv.h"
#include "neura/data/dataset.h"
#include "neura/data/device_copy.h"
#include "neura/data/distributed_sampler.h"
#include "neura/data/idx.h"
#include "neura/data/image_sets.h"
#include "neura/data/mnist.h"
#include "neura/data/shared.h"
#include "neura/data/text.h"
#include "neura/data/transforms.h"
#include "numbers.h"

namespace neura::python {

void bind_audio_files(nb::module_&);  // audio_files.cpp
namespace {

using GilRelease = nb::call_guard<nb::gil_scoped_release>;

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
          "offset"_a, "tensor"_a, GilRelease());
}

void bind_device_copy(nb::module_& m) {
  using data::CopyEvent;
  using data::DeviceCopy;
  nb::class_<CopyEvent>(m, "CopyEvent").def(nb::init<>()).def("take", &CopyEvent::take);
  nb::class_<DeviceCopy>(m, "DeviceCopy")
      .def(nb::init<std::optional<Device>, bool>(), "device"_a.none(), "pin_memory"_a)
      .def_prop_ro("pinned", &DeviceCopy::pinned)
      .def("send", &DeviceCopy::send, "tensor"_a, "arrival"_a, GilRelease())
      .def("finish", &DeviceCopy::finish, "arrival"_a);
  m.def("set_pinned_batches", &data::set_pinned_batches, "on"_a);
}

void bind_reading(nb::module_& m) {
  m.def("read_idx", &data::read_idx, "path"_a, GilRelease());
  m.def("write_idx", &data::write_idx, "path"_a, "tensor"_a, GilRelease());
  const auto table = [](const data::Table& t) { return nb::make_tuple(t.values, listed(t.names)); };
  m.def("read_csv", [table](const std::string& path, char delimiter, bool header) {
    return table(data::read_csv(path, {.delimiter = delimiter, .header = header}));
  });
  m.def("parse_csv", [table](const std::string& text, char delimiter, bool header) {
    return table(data::parse_csv(text, {.delimiter = delimiter, .header = header}));
  });
}

// Sets of pictures in one tensor, each a class of neura.data (python/neura/data/sets.py): its name, its text, and how a
// folder is read: pictures, labels, the classes' names.
using Pictures = std::tuple<Tensor, Tensor, std::vector<std::string>>;
void bind_pictures_in_memory(nb::module_& m) {
  nb::dict sets;
  const auto add = [&](const char* name, Pictures (*read)(const std::string& root, bool train), const char* text) {
    const auto parts = [read](const std::string& root, bool train) {
      const auto [images, labels, classes] = read(root, train);
      return nb::make_tuple(images, labels, listed(classes));
    };
    sets[name] = nb::make_tuple(nb::cpp_function(parts), text);
  };
  add(
      "MNIST",
      [](const std::string& root, bool train) {
        const data::MNIST set({.root = root, .train = train});
        return Pictures(set.images(), set.labels(), set.classes());
      },
      R"(Four idx files in the folder ``root``, with ".gz" or without: {train,t10k}-{images-idx3,labels-idx1}-ubyte.

``train``: the 60,000 pictures for training, or the 10,000 for testing. IoError where files are missing, FormatError
where they are damaged or do not belong together.)");
  add(
      "FashionMNIST",
      [](const std::string& root, bool train) {
        const data::FashionMNIST set({.root = root, .train = train});
        return Pictures(set.images(), set.labels(), set.classes());
      },
      R"(Zalando's pictures of clothes, in files as those of MNIST; without ``root``, Debian's package
dataset-fashion-mnist, and an IoError that says so where that is not installed.)");
  add(
      "CIFAR10",
      [](const std::string& root, bool train) {
        const data::CIFAR10 set(root, train);
        return Pictures(set.images(), set.labels(), data::CIFAR10::class_names());
      },
      R"(CIFAR-10, the binary version: data_batch_1.bin to data_batch_5.bin or test_batch.bin in the folder ``root``.
Pictures are uint8 [3, 32, 32].)");
  m.attr("picture_sets") = sets;
}
void bind_sets(nb::module_& m) {
  bind_pictures_in_memory(m);
  const auto labelled = [](const std::vector<std::string>& classes, const auto& all) {
    nb::list files;
    for (const auto& [path, label] : all) files.append(nb::make_tuple(path, label));
    return nb::make_tuple(files, listed(classes));
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
  m.def("read_text", &data::read_text, "path"_a, GilRelease());
}

void bind_transforms(nb::module_& m) {
  const auto numbers = [](const nb::list& l) { return numbers_of(l, "normalize", "mean and std"); };
  m.def(
      "to_float", [](const Tensor& x, DType dtype) { return data::ToFloat{dtype}(x); }, "image"_a, "dtype"_a,
      GilRelease());
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
      GilRelease());
  m.def(
      "random_crop",
      [](const Tensor& x, std::int64_t height, std::int64_t width, std::int64_t padding, double fill) {
        return data::RandomCrop{height, width, padding, fill}(x);
      },
      "image"_a, "height"_a, "width"_a, "padding"_a, "fill"_a, GilRelease());
}

}  // namespace

void bind_loading(const Names& n) {
  nb::module_ m = nb::module_(n.functions).def_submodule("_data");
  m.def("gather", &gather, "tensors"_a, "indices"_a, GilRelease());
  m.def(
      "stack", [](const std::vector<Tensor>& items) { return data::stack_items(items); }, "items"_a, GilRelease());
  m.def(
      "share_size",
      [](std::int64_t size, std::int64_t replicas, std::int64_t rank, bool drop_last) {
        return data::DistributedSampler(size, {.num_replicas = replicas, .rank = rank, .drop_last = drop_last}).size();
      },
      "size"_a, "num_replicas"_a, "rank"_a, "drop_last"_a);
  m.def(
      "share",
      [](std::int64_t size, std::int64_t replicas, std::int64_t rank, bool shuffle, std::int64_t seed, bool drop_last,
         std::int64_t epoch) {
        data::DistributedSampler sampler(size, {replicas, rank, shuffle, seed, drop_last});
        sampler.set_epoch(epoch);
        return listed(sampler.indices());
      },
      "size"_a, "num_replicas"_a, "rank"_a, "shuffle"_a, "seed"_a, "drop_last"_a, "epoch"_a);
  bind_shared(m);
  bind_device_copy(m);
  bind_reading(m);
  bind_image_files(m), bind_audio_files(m);
  bind_image_transforms(m);
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
