// backward and grad, and the derivative of a recorded call.
#include <algorithm>
#include <string>

#include "neura/autograd/anomaly.h"
#include "neura/autograd/run.h"
#include "neura/core/interpreter.h"
#include "neura/core/state.h"
#include "neura/core/wrapped.h"
#include "neura/op/autocast.h"
#include "neura/op/call_error.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/shape/strided.h"
#include "neura/ops/shape/view.h"

namespace neura {
namespace {

template <class T, int most>
class StaticVector {  // up to `most`, of which only those that exist are built and destroyed
 public:
  ~StaticVector() {
    for (int i = 0; i < n_; ++i) (*this)[i].~T();
  }
  template <class U> void add(U&& v) { new (raw_ + sizeof(T) * std::size_t(n_)) T(std::forward<U>(v)), ++n_; }
  T& operator[](int i) { return *std::launder(reinterpret_cast<T*>(raw_ + sizeof(T) * std::size_t(i))); }

 private:
  int n_ = 0;
  alignas(T) unsigned char raw_[sizeof(T) * most];
};

[[gnu::cold, gnu::noinline, noreturn]] void fail_modified(const Record& r, int bit, const Tensor& t,
                                                          std::uint32_t version) {
  const Row* writer = t.impl()->storage->writer;
  throw InplaceError(std::string(r.row->name) + ": expected its saved " +
                     (bit < 8 ? operand_name(*r.row, bit) : result_name(*r.row, bit & 7)) + " (" + t.spec().str() +
                     ") at version " + std::to_string(version) + ", got version " + std::to_string(t.version()) + ": " +
                     (writer ? in_place_name(writer->name) : "a write") +
                     " changed it in place; clone() it first or use the form that returns a new tensor");
}

using Values = StaticVector<Tensor, kMaxInputs + kMaxOutputs>;

// Saved values out of the record: shared if they are kept for another backward, moved otherwise. Those that were packed
// are unpacked if the derivative reads them; the answer says which (by number), as their version says nothing.
unsigned take_saved(Values& values, Record& r, const Run& run, unsigned read) {
  bool gone;
  std::vector<DebugInfo::Value> packed;
  {
    SpinGuard hold(r.busy);  // another thread may be here too
    gone = r.released, r.released |= !run.retain;
    for (int k = 0; k < r.kept && !gone; ++k) {
      if (run.retain) values.add(r.saved[k].data);
      else values.add(std::move(r.saved[k].data));
    }
    if (r.debug_info && !gone) [[unlikely]] {
      if (run.retain) packed = r.debug_info->values;
      else packed.swap(r.debug_info->values);
    }
  }
  check<AutogradError>(!gone, [&] {
    return std::string(r.row->name) +
           ": expected its saved values, but an earlier backward released them; pass retain_graph to that one";
  });
  unsigned unpacked_ones = 0;
  for (std::size_t k = 0; k < packed.size(); ++k) {
    if (!packed[k].packed) continue;
    unpacked_ones |= 1u << k;
    if (read >> r.saved[k].bit & 1) values[int(k)] = unpacked(*packed[k].packed, packed[k].spec, r.row->name);
  }
  return unpacked_ones;
}

// Runs the derivative of a record: saved values out, formula, fit.
// `self` is the node that the record's result belongs to, for saved results that must be joined to the graph again.
void evaluate(Gradient& c, Record& r, Run& run, unsigned wanted, Tensor* g, Tensor* result, Node* self) {
  c.op = r.op, c.row = r.row, c.create_graph = run.create_graph, c.wanted = wanted, c.g = g, c.result = result;
  unsigned read = 0;
  for (int i = 0; i < r.inputs; ++i) {
    if (!(wanted >> i & 1)) continue;
    read |= r.row->reads_of(i), c.meta[i] = &r.edges[i].node->meta(r.edges[i].output);
  }
  check<AutogradError>(r.row->gradient || r.row->define,
                       [&] { return std::string(r.row->name) + ": has no derivative; detach() what goes through it"; });
  Values values;
  const unsigned was_packed = r.kept ? take_saved(values, r, run, read) : 0;
  for (int k = 0; k < r.kept; ++k) {
    const int bit = r.saved[k].bit;
    Tensor& t = values[k];
    c.saved[bit < 8 ? bit : kMaxInputs + bit - 8] = &t;
    if (!(read >> bit & 1) || !t) continue;
    if (t.version() != r.saved[k].version && !(was_packed >> k & 1)) fail_modified(r, bit, t, r.saved[k].version);
    if (!run.create_graph) continue;
    t = Tensor(t.impl()->alias());  // a handle of our own, joined to the graph where the value was when it was saved
    TensorImpl* p = t.impl();
    if (bit < 8) p->history = Ref<Node>(r.edges[bit].node).leave(), p->output = std::uint16_t(r.edges[bit].output);
    else if (differentiable(t.dtype())) p->history = Ref<Node>::share(self).leave(), p->output = std::uint16_t(bit - 8);
  }
  const bool by_definition = r.row->define && (!r.row->gradient || (run.create_graph && read && !r.row->is_closed));
  if (by_definition) gradient_by_definition(c);
  else r.row->gradient(c);
  for (int i = 0; i < r.row->outputs; ++i) g[i] = {};  // before the results move on: they may be g itself
  for (int i = 0; i < r.inputs; ++i)
    if (wanted >> i & 1 && result[i] && !c.windowed) result[i] = fit_gradient(std::move(result[i]), *c.meta[i]);
  if (state.active & kAnomaly) [[unlikely]]
    check_anomaly(r, result, r.inputs);
}

Tensor ones_for(const Tensor& output) {
  check<AutogradError>(output.numel() == 1, [&] {
    return "backward: expected a tensor of one element or a gradient for it, got " + output.spec().str() +
           "; pass gradient or call sum() first";
  });
  check<AutogradError>(!is_complex(output.dtype()), [&] {
    return "backward: expected a real result or a gradient for it, got " + output.spec().str() +
           "; pass gradient or call abs() first";
  });
  const Tensor one = number_of(1, output.dtype(), output.device());
  return output.dim() ? reshape(one, output.shape()) : one;
}

void start(Run& run, std::span<const Tensor> outputs, std::span<const Tensor> grads) {
  NoGrad mode(!run.create_graph);
  const amp::ModesScope lifted;
  std::vector<Edge>& roots = run.roots;
  for (const Tensor& t : outputs) {
    check<ValueError>(t.defined(), [] { return "backward: expected a tensor, got an undefined one"; });
    roots.push_back(edge_of(t.impl()));
    check<AutogradError>(bool(roots.back().node), [&] {
      return "backward: expected a tensor that requires a gradient, got " + t.spec().str() +
             " without history; set requires_grad_() on what it comes from";
    });
  }
  if (!run.to_leaves || hooked_leaves.load(std::memory_order_relaxed)) run.look_ahead();
  Leaf above{Spec::dense(DType::float32, {})};  // is above every node, for deliver's check
  above.sequence = ~std::uint64_t{0};
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    Tensor g = i < grads.size() ? grads[i] : Tensor();
    if (!g) g = ones_for(outputs[i]);
    check<ShapeError>(g.spec().same_shape(outputs[i].spec()), [&] {
      return "backward: expected a gradient like " + outputs[i].spec().str() + ", got " + g.spec().str();
    });
    check<DeviceError>(g.device() == outputs[i].device(), [&] {
      return "backward: expected a gradient on " + outputs[i].device().str() + ", got " + g.spec().str() +
             "; move it with .to()";
    });
    check<DTypeError>(!is_complex(g.dtype()) || is_complex(outputs[i].dtype()), [&] {
      return "backward: expected a gradient of real numbers like " + outputs[i].spec().str() + ", got " +
             g.spec().str() + "; take its real part";
    });
    if (g.dtype() != outputs[i].dtype()) g = to(g, outputs[i].dtype());
    if (roots[i].node->leaf && run.to_leaves && roots[i].node->hooks) ++run.ahead[roots[i].node.get()].uses;
    run.deliver(above, roots[i], std::move(g));
  }
  run.go();
}

}  // namespace

template <int most> void run_record(Record& r, Run& run, unsigned wanted, Tensor* g) {
  Tensor result[most];
  const GradientSpec* meta[most];
  Gradient c;
  c.meta = meta;
  evaluate(c, r, run, wanted, g, result, &r);
  if (r.hooks && !r.hooks->after.empty()) {
    if (c.windowed) result[0] = spread(result[0], c), c.windowed = false;
    run.leave(r, result, r.inputs);
  }
  for (int i = 0; i < r.inputs; ++i)
    if (wanted >> i & 1) run.deliver(r, r.edges[i], std::move(result[i]), c.windowed ? &c : nullptr);
}

void Record::backward(Run& run, Tensor* g) {
  unsigned wanted = 0;
  for (int i = 0; i < inputs; ++i) wanted |= unsigned(run.wants(edges[i])) << i;
  if (!wanted) return;
  if (inputs <= kMaxRowInputs) run_record<kMaxRowInputs>(*this, run, wanted, g);
  else if (inputs <= kMaxInputs) run_record<kMaxInputs>(*this, run, wanted, g);
  else run_record<kMaxList>(*this, run, wanted, g);
}

void CopySlices::backward(Run& run, Tensor* g) {
  Record& r = static_cast<Record&>(*inner);
  unsigned wanted = 0, inside = 0;
  for (int i = 0; i < inputs; ++i) wanted |= unsigned(run.wants(edge[i])) << i;
  inside = wanted & ~1u;
  if (wanted & 1 && r.edges[0].node) inside |= 1;  // what was in the view before it was written
  // Where only one of base and view is complex, the other one's numbers are its pairs, and windows are taken of pairs.
  const bool split = is_complex(base.dtype) && !is_complex(view.dtype);
  const bool joined = is_complex(view.dtype) && !is_complex(base.dtype);
  const Spec from = split ? as_pairs(base) : base, at = joined ? as_pairs(view) : view;
  Tensor whole = std::move(g[0]), result[kMaxInputs];
  if (split) whole = view_as_real(whole);
  if (inside) {
    Tensor part = apply(StridedGather{from, at}, whole);
    if (joined) part = view_as_complex(part);
    // A result that the inner record saved is what the view showed then: a window on this node, not the inner record
    // itself, which would be run twice.
    Ref<Record> window = run.create_graph ? window_on(*this, base, view, 0) : Ref<Record>();
    const GradientSpec* meta[kMaxInputs];
    Gradient c;
    c.meta = meta;
    evaluate(c, r, run, inside, &part, result, window.get());
    if (c.windowed) result[0] = spread(result[0], c);
  }
  if (wanted & 1) {
    if (joined && result[0]) result[0] = view_as_real(result[0]);
    if (!run.create_graph && exclusive(whole) && !is_wrapped(result[0]) &&
        std::equal(from.strides, from.strides + from.rank, whole.spec().strides)) {
      Tensor window = apply(AsStrided{from, at}, whole);  // not shared: only the written part is touched
      if (result[0]) copy_(window, result[0]);
      else zero_(window);
    } else {
      whole = apply(StridedPut{from, at}, whole, result[0]);
    }
    result[0] = split ? view_as_complex(whole) : std::move(whole);
  }
  run.leave(*this, result, inputs);
  for (int i = 0; i < inputs; ++i)
    if (wanted >> i & 1) run.deliver(*this, edge[i], std::move(result[i]));
}

void backward(std::span<const Tensor> outputs, std::span<const Tensor> grads, GradOptions o) {
  GilRelease unlocked(true);
  Run run(o, true);
  start(run, outputs, grads);
}
void backward_to(std::span<const Tensor> inputs, std::span<const Tensor> outputs, std::span<const Tensor> grads,
                 GradOptions o) {
  GilRelease unlocked(true);
  Run run(o, false, true);
  for (Tensor t : inputs) {
    check<AutogradError>(t && t.requires_grad(), [&] {
      return "backward: expected inputs that require a gradient, got " + (t ? t.spec().str() : std::string("nothing")) +
             "; set requires_grad_() before the call";
    });
    t.retain_grad();
    run.targets.push_back({edge_of(t.impl()), {}});
  }
  start(run, outputs, grads);
  run.accumulate_targets();
}
void Tensor::backward(const Tensor& gradient, bool retain_graph, bool create_graph) const {
  neura::backward({this, 1}, {&gradient, 1}, {.retain_graph = retain_graph, .create_graph = create_graph});
}

std::vector<Tensor> grad(std::span<const Tensor> outputs, std::span<const Tensor> inputs, std::span<const Tensor> grads,
                         GradOptions o) {
  GilRelease unlocked(true);
  Run run(o, false);
  for (const Tensor& t : inputs) {
    check<ValueError>(t.defined(), [] { return "grad: expected tensors as inputs, got an undefined one"; });
    run.targets.push_back({edge_of(t.impl()), {}});
    check<AutogradError>(bool(run.targets.back().edge.node) || o.allow_unused, [&] {
      return "grad: expected inputs that require a gradient, got " + t.spec().str() +
             "; set requires_grad_() before the call";
    });
  }
  start(run, outputs, grads);
  std::vector<Tensor> result;
  for (auto& t : run.targets) {
    check<AutogradError>(t.g.defined() || o.allow_unused, [&] {
      return "grad: expected outputs that came from each input, got input " + std::to_string(result.size()) +
             " that was not used; pass allow_unused";
    });
    result.push_back(std::move(t.g));
  }
  return result;
}
Tensor grad(const Tensor& output, const Tensor& input, const Tensor& gradient, GradOptions o) {
  return grad({&output, 1}, {&input, 1}, {&gradient, 1}, o)[0];
}

}  // namespace neura
