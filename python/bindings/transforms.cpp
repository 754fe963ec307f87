// The levels of vmap and forward mode, for neura.func and neura.autograd.forward_ad.
#include "common.h"
#include "neura/autograd/autograd.h"
#include "neura/autograd/forward_ad.h"
#include "neura/autograd/vmap.h"

namespace neura::python {
namespace {

// On the thread's stack until close(), which the last one opened must be the first to call.
template <class L> struct Open {
  std::unique_ptr<L> level;
  template <class... A> explicit Open(A... a) {
    Level::open();
    level = std::make_unique<L>(a...);
  }
  ~Open() {
    if (level && top_level() != level.get()) level.release();  // dropped out of order: it stays, and is of no use
  }
  L& get() const {
    check<ValueError>(bool(level), [] { return std::string("func: expected an open level, got one that was closed"); });
    return *level;
  }
  void close() {
    check<ValueError>(top_level() == &get(), [] {
      return std::string("func: expected the innermost transform to end first, on the thread that began it");
    });
    level.reset();
    Level::closed();
  }
};

Randomness randomness_of(const std::string& s) {
  if (s == "error") return Randomness::error;
  if (s == "same") return Randomness::same;
  check<ValueError>(s == "different",
                    [&] { return "vmap: expected randomness to be 'error', 'different' or 'same', got '" + s + "'"; });
  return Randomness::different;
}

nb::object tensor_or_nothing(const Tensor& t) { return t ? nb::steal(wrap(t)) : nb::none(); }

}  // namespace

void bind_levels(const Names& n) {
  using Batch = Open<BatchLevel>;
  using Dual = Open<DualLevel>;
  nb::class_<Batch>(n.functions, "_BatchLevel", "vmap's tensors, each of which stands for a batch.")
      .def("__init__", [](Batch* b, std::int64_t size,
                          const std::string& randomness) { new (b) Batch(size, randomness_of(randomness)); })
      .def("close", &Batch::close)
      .def("wrap", [](const Batch& b, const Tensor& t, int dim) { return b.get().in(t, dim); })
      .def("unwrap", [](const Batch& b, const Tensor& t, int dim) { return b.get().out(t, dim); })
      .def("beneath", [](const Batch& b, const Tensor& t) { return b.get().beneath(t); })
      .def("is_batched", [](const Batch& b, const Tensor& t) { return b.get().is_batched(t); });
  nb::class_<Dual>(n.functions, "_DualLevel", "Forward mode's tensors, which have a tangent.")
      .def(nb::init<>())
      .def("close", &Dual::close)
      .def("make",
           [](const Dual& d, const Tensor& primal, const Tensor& tangent) { return d.get().make(primal, tangent); })
      .def("primal", [](const Dual& d, const Tensor& t) { return d.get().primal(t); })
      .def("tangent", [](const Dual& d, const Tensor& t) { return tensor_or_nothing(d.get().tangent(t)); });
  n.function("_own_leaf", &own_leaf);
  n.function("_cut", [](const Tensor& t) { return t.detach(); });
  n.function("_beneath", [](const Tensor& t, bool all) {
    return all ? innermost(t) : is_wrapped(t) ? Tensor(wrapped(t.impl())->beneath()) : t;
  });
  n.function("_comes_from_elsewhere", &comes_from_elsewhere);
  n.function("_has_derivative_beneath", &has_derivative_beneath);
  n.function("_looped_rows", [] {
    nb::list names;
    for (const std::string& s : looped_rows()) names.append(nb::str(s.c_str(), s.size()));
    looped_rows().clear();
    return names;
  });
}

}  // namespace neura::python
