#include "neura/op/apply.h"

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "neura/backend/transfer.h"
#include "neura/core/error_details.h"
#include "neura/core/interpreter.h"
#include "neura/core/meta.h"
#include "neura/core/pending.h"
#include "neura/core/state.h"
#include "neura/op/border.h"
#include "neura/op/call_error.h"
#include "neura/op/cast_scope.h"
#include "neura/op/defer.h"
#include "neura/op/destination.h"
#include "neura/op/extension_call.h"
#include "neura/op/launch.h"
#include "neura/op/pointwise/pointwise.h"
#include "neura/op/record.h"
#include "neura/ops/create/copy.h"

namespace neura {
namespace {

constexpr std::uint32_t kUnrecorded = kNoGrad | kInference;

[[gnu::noinline]] bool needs_gradient_of(const Call& call, int first) {
  if (call.row->types.result_type == ResultType::as_bool && call.destination == Destination::fresh) return false;
  for (int i = first; i < call.inputs; ++i)
    if (call.in[i].is_tensor() && needs_gradient(call.in[i].tensor))
      return call.row->kind != Row::view || call.row->differentiable;
  return false;
}
// Inlined as far as operands without a history go.
[[gnu::always_inline]] inline bool needs_record(const Call& call) {
  if (kOnlyPrograms || state.active & kUnrecorded) return false;
  for (int i = 0; i < call.inputs; ++i)
    if (call.in[i].is_tensor() && may_need_gradient(call.in[i].tensor)) return needs_gradient_of(call, i);
  return false;
}

void check_devices(const Call& call) {
  if (call.row->across_devices) return;
  const Spec* first = nullptr;
  for (int i = 0; i < call.inputs; ++i) {
    if (!call.in[i].is_tensor()) continue;
    const Spec& s = call.in[i].tensor->spec;
    if (call.row->kind == Row::pointwise && s.rank == 0 && s.device.is_cpu()) continue;  // as good as a number
    if (!first) first = &s;
    else if (s.device != first->device)
      refuse<DeviceError>(call, "expected all tensors on the same device, got " + first->device.str() + " and " +
                                    s.device.str() + "; move one with .to()");
  }
}

// The specs of a call's operands: of every operation but a list they fit on the stack.
class Specs {
 public:
  explicit Specs(const Call& call) : in_(few_) {
    static const Spec none = [] {
      Spec s;
      s.rank = kAbsent;
      return s;
    }();
    if (call.inputs > kMaxInputs) many_.resize(std::size_t(call.inputs)), in_ = many_.data();
    for (int i = 0; i < call.inputs; ++i) in_[i] = call.in[i].is_tensor() ? &call.in[i].tensor->spec : &none;
  }
  Specs(const Specs&) = delete;
  const Spec* const* get() const { return in_; }

 private:
  const Spec *few_[kMaxInputs], **in_;
  std::vector<const Spec*> many_;
};

// That of the operands or, where there are none (rand), of the result.
Device device_of(const Call& call, const Spec* spec) {
  for (int i = 0; i < call.inputs; ++i)
    if (call.in[i].is_tensor() && !call.row->across_devices) return call.in[i].tensor->spec.device;
  return spec[0].device;
}

// Views of a call, which are constructed one by one: most calls have two of eight.
union FewViews {
  FewViews() {}  // NOLINT(modernize-use-equals-default): the views have a default constructor, which is not run
  View views[kMaxInputs];
};
static_assert(kMaxOutputs <= kMaxInputs && std::is_trivially_destructible_v<View>);

// Raises the versions of what is written and runs the kernel; all memory has been allocated. `copies` take the place of
// operands that overlap the destination. False: a registered device without a kernel for it; the definition is to run.
bool run_kernel(Call& call, Device device, Tensor* results, const Tensor* copies = nullptr) {
  const Row& row = *call.row;
  if (row.written_inputs) announce_writes(call);
  if (call.destination != Destination::fresh) call.out[0].impl()->written(&row);
  FewViews few, out;
  View* in = few.views;
  std::vector<View> many;  // of a list
  if (call.inputs > kMaxInputs) many.resize(std::size_t(call.inputs)), in = many.data();
  for (int i = 0; i < call.inputs; ++i) {
    TensorImpl* t = !call.in[i].is_tensor() ? nullptr : copies && copies[i] ? copies[i].impl() : call.in[i].tensor;
    if (t) settled(t);
    std::construct_at(in + i, t ? View{t->data(), &t->spec} : View{});
  }
  for (int i = 0; i < row.outputs; ++i)
    std::construct_at(out.views + i, View{results[i].impl()->data(), &results[i].spec()});
  if (is_registered(device)) [[unlikely]]
    return run_registered(call, device, in, out.views);
  Context context(quick_backend(device), device, row.name);
  row.run(call.op, context, in, call.inputs, out.views);
  if (context.failed || context.failure) [[unlikely]]
    report_failure(call, context);
  return true;
}

bool run_structured(Call& call, const Spec* spec) {
  const Row& row = *call.row;
  const Device device = device_of(call, spec);
  if (call.destination == Destination::fresh) {
    for (int i = 0; i < row.outputs; ++i) call.out[i] = Tensor::empty(spec[i]);
    return run_kernel(call, device, call.out);
  }
  TensorImpl* destination = call.out[0].impl();
  if (row.writes_directly && destination->spec.dtype == spec[0].dtype) {
    Tensor copies[kMaxInputs];  // no operation on a list is direct
    for (int i = 0; i < call.inputs; ++i) {
      if (!call.in[i].is_tensor()) continue;
      const TensorImpl* t = call.in[i].tensor;
      if (may_overlap(destination, t) && !destination->spec.same_geometry(t->spec)) copies[i] = copy_of(t);
    }
    return run_kernel(call, device, call.out, copies);
  }
  // A kernel may read what it writes: the result goes through memory of its own.
  Tensor result = Tensor::empty(spec[0]);
  run_kernel(call, device, &result);
  assign({destination->data(), &destination->spec}, {result.impl()->data(), &result.spec()});
  return true;
}

// Runs the definition, whose own calls are recorded.
void compose(Call& call) {
  const Row& row = *call.row;
  NEURA_ASSERT(row.define && call.destination == Destination::fresh);
  Tensor operands[kMaxInputs];
  for (int i = 0; i < call.inputs; ++i)
    if (call.in[i].is_tensor()) operands[i] = Tensor(Ref<TensorImpl>::share(call.in[i].tensor));
  row.define(call.op, operands, call.inputs, call.out);
}
// Runs the definition if the back end has no kernel for these operands; else false.
bool composed(Call& call, const Spec* const* in, const Spec* spec) {
  const Row& row = *call.row;
  if (!row.accepts || row.accepts(call.op, backend_of(device_of(call, spec)), in, call.inputs)) return false;
  return compose(call), true;
}

void reserve_numbers(const Call& call, Device device) {
  // The attributes of a call that draws are the caller's copy (apply_drawing).
  PhiloxState* numbers = call.row->numbers(const_cast<void*>(call.op));
  if (numbers->reserved || is_meta(device)) return;
  const GeneratorState s = (call.generator ? *call.generator : default_generator()).reserve();
  numbers->seed = s.seed, numbers->offset = s.offset, numbers->reserved = true;
}

Tensor make_view(const Call& call, const Spec& spec) {
  TensorImpl* x = call.in[0].tensor;
  TensorImpl* v = TensorImpl::make(spec, Ref<Storage>::share(x->storage).leave());
  v->base = Ref<TensorImpl>::share(x->base ? x->base : x).leave();  // the root: never a chain
  v->seen = v->base->generation;
  v->locked_view = call.row->views_locked || x->locked_view;
  v->inference = x->inference, v->unversioned = x->unversioned;
  return Tensor(Ref<TensorImpl>::adopt(v));
}

Tensor make_lazy(const Call& call, const Spec& spec) {
  TensorImpl* x = call.in[0].tensor;
  // On a device a copy is cheap, and memory whose address a graph may hold does not move.
  const bool whole = x->spec.device.is_cpu() && x->spec.dense() && x->spec.bytes() == x->storage->bytes;
  if (Storage* shared = whole ? x->storage->lazy_clone() : nullptr) {
    Tensor t(Ref<TensorImpl>::adopt(TensorImpl::make(spec, shared)));
    t.impl()->inference = state.active & kInference;
    return t;
  }
  settled(x);
  Tensor copy = Tensor::empty(spec);
  assign({copy.impl()->data(), &copy.spec()}, {x->data(), &x->spec});
  return copy;
}

[[gnu::cold, gnu::noinline, noreturn]] void refuse_absent(const Call& call, int i) {
  refuse<ValueError>(call, "expected a tensor as " + operand_name(*call.row, i) + ", got an undefined one");
}

void check_present(const Call& call) {
  for (int i = 0; i < call.inputs; ++i) {
    if (call.in[i].is_tensor()) continue;
    if (call.in[i].is_scalar()) refuse<DTypeError>(call, "expected tensors, got a number");
    if (!call.row->may_be_absent(i)) refuse_absent(call, i);
  }
}

// Infers the specs of the results; the dtypes that it returns are meaningful for pointwise rows only.
Dtypes infer(const Call& call, const Spec* const* in, Spec* spec) {
  const Row& row = *call.row;
  if (row.kind == Row::pointwise) return infer_pointwise(call, spec[0]);
  check_present(call);
  row.infer(call.op, in, call.inputs, spec);
  if (row.kind == Row::view) spec[0].finish();
  return {};
}

// Above about 20 µs? A guess by elements: an addition costs 0.1 ns, an element of a structured operation ten times
// that.
bool is_long(const Call& call, const Spec& result) {
  if (!interpreter) return false;
  std::int64_t most = result.numel, all = 0;
  for (int i = 0; i < call.inputs; ++i)
    if (call.in[i].is_tensor())
      most = std::max(most, call.in[i].tensor->spec.numel), all += call.in[i].tensor->spec.numel;
  if (call.row->group) most = all;
  return most * (call.row->kind == Row::structured ? 8 : call.row->cost) >= 1 << 17;
}

void record(const Call& call) {
  if (Ref<Record> r = kOnlyPrograms ? Ref<Record>() : begin_record(call)) finish_record(std::move(r), call);
}

// Of all but pointwise rows: the kernel is left to the observer of launches.
bool starts_later(Call& call, const Spec* spec) {
  if (!launches_observed(call, device_of(call, spec))) return false;
  if (call.row->written_inputs) check_writes(call);
  return detail::launch_observer().takes(call, spec);
}

void fresh(Call& call, bool recorded) {
  check_devices(call);
  Spec spec[kMaxOutputs];
  if (call.row->kind == Row::pointwise) {
    const Dtypes dtypes = infer_pointwise(call, spec[0]);
    if (!launches_later(call, spec, spec[0].device)) {
      GilRelease unlocked(is_long(call, spec[0]));
      call.out[0] = Tensor::empty(spec[0]), run_pointwise(call, dtypes);
    }
    if (recorded) record(call);
    return;
  }
  const Specs in(call);
  infer(call, in.get(), spec);
  if (call.row->numbers) reserve_numbers(call, device_of(call, spec));
  if (composed(call, in.get(), spec)) return;
  if (call.row->kind == Row::view) {
    call.out[0] = make_view(call, spec[0]);
  } else if (starts_later(call, spec)) [[unlikely]] {
  } else if (call.row->kind == Row::lazy) [[unlikely]] {
    call.out[0] = make_lazy(call, spec[0]);
  } else {
    bool ran;
    {
      GilRelease unlocked(is_long(call, spec[0]));
      ran = run_structured(call, spec);
    }
    if (!ran) [[unlikely]]
      return compose(call);
  }
  if (recorded) record(call);
}

// out= and in place. Everything that can be refused is refused before the first byte is written. may_wait: the kernel
// is left to the deferral, if it takes it.
template <bool may_wait = false> void write(Call& call, bool recorded, Flat* flat) {
  TensorImpl* out = call.out[0].impl();
  if (!out) [[unlikely]]
    refuse<ValueError>(call, "expected a destination, got an undefined tensor");
  const bool recording = !kOnlyPrograms && !(state.active & kUnrecorded);
  if (!flat) check_devices(call);
  if (recording && call.destination == Destination::out && (recorded || needs_gradient(out)))
    refuse<AutogradError>(
        call, "expected no gradient to be needed with out=, which has none; use the form that returns a new tensor");
  if (recording && out->inference)
    refuse<InplaceError>(call, "expected a tensor made outside of inference mode; clone() it first");
  if (recording && call.destination == Destination::in_place) check_in_place(call);
  Spec spec[kMaxOutputs];
  Dtypes dtypes{};
  if (!flat) {
    const Specs in(call);
    dtypes = infer(call, in.get(), spec), check_destination(call, spec[0]);
    if (call.row->numbers) reserve_numbers(call, spec[0].device);
  }
  Ref<Record> r = !kOnlyPrograms && recorded ? begin_record(call) : Ref<Record>();
  bool waits = false;
  if constexpr (may_wait) waits = deferral()->rewrites(call, spec[0]);
  else if (!flat) waits = launches_later(call, spec, spec[0].device);
  if (!waits && (flat || call.row->kind == Row::pointwise)) {
    const bool moved = out->written(call.row);  // a kernel that fails has written too
    if (moved && flat) [[unlikely]]
      flat->fits(call);
  }
  if (flat) {
    flat->into(out);
  } else if (!waits) {
    GilRelease unlocked(is_long(call, spec[0]));
    if (call.row->kind == Row::pointwise) run_pointwise(call, dtypes);
    else run_structured(call, spec);
  }
  out->id = ++state.id;  // another value now
  if (!kOnlyPrograms && r) finish_record(std::move(r), call);
}

[[gnu::noinline, gnu::cold, noreturn]] void rethrow(const Call& call) {
  if constexpr (kOneProgram) throw;  // details are not read there
  std::vector<Spec> operands;
  for (int i = 0; i < call.inputs; ++i)
    if (call.in[i].is_tensor()) operands.push_back(call.in[i].tensor->spec);
  rethrow_with_details(call.row->name, std::move(operands));
}

[[gnu::noinline, gnu::cold]] void intercept(Call& call) {
  if (state.active & kAutocast) return amp::apply_cast(call);  // first: interceptors see the casts
  Interceptor* top = state.top;
  struct Restore {
    Interceptor* top;
    ~Restore() { state.top = top, state.active |= kIntercepted; }
  } restore{top};
  state.top = top->below;
  if (!state.top) state.active &= ~std::uint32_t{kIntercepted};
  top->call(call);
}

// Inlined: a call on small tensors takes some 30 ns.
template <class F> [[gnu::always_inline]] inline auto described(const Call& call, const F& f) {
  try {
    return f();
  } catch (Error&) {
    rethrow(call);
  } catch (const std::bad_alloc&) {
    refuse<OutOfMemoryError>(call, "expected enough memory for what it keeps besides the result, got none");
  }
}

}  // namespace

void apply(Call& call) {
  if (!kOnlyPrograms && state.active & (kIntercepted | kAutocast | kDeferred)) [[unlikely]]
    return state.active & (kIntercepted | kAutocast) ? intercept(call) : deferral()->take(call);
  proceed(call);
}

void proceed(Call& call) {
  described(
      call, [&]() __attribute__((always_inline)) {
        if (call.row->kind == Row::slope) return run_slope(call);
        const bool recorded = needs_record(call);
        Flat flat;
        const bool small = flat.fits(call);
        if (!small && is_extended(call)) [[unlikely]]
          return apply_extended(call);
        if (call.destination != Destination::fresh) return write(call, recorded, small ? &flat : nullptr);
        if (!small) return fresh(call, recorded);
        call.out[0] = flat.fresh();
        if (recorded) record(call);
      });
}

Spec prepare(Call& call, bool& recorded) {
  return described(call, [&] {
    if (call.row->kind == Row::slope) return infer_slope(call);
    recorded = needs_record(call);
    check_devices(call);
    Spec spec;
    infer(call, Specs(call).get(), &spec);
    return spec;
  });
}
void write_later(Call& call) {
  described(call, [&] { write<true>(call, needs_record(call), nullptr); });
}
void conclude(Call& call, bool recorded) {
  if (recorded) described(call, [&] { record(call); });
}

}  // namespace neura
