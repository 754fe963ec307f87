#include "neura/op/pointwise/pointwise.h"

#include <atomic>
#include <cstddef>
#include <cstring>

#include "neura/core/error_details.h"
#include "neura/core/parallel.h"
#include "neura/core/pending.h"
#include "neura/core/scalar_range.h"
#include "neura/core/state.h"
#include "neura/op/border.h"
#include "neura/op/call_error.h"
#include "neura/op/pointwise/pointwise_number.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/reduce/expect.h"
#include "neura/ops/reduce/reduce.h"

namespace neura {
namespace {

constexpr DType kNone = DType(255);

DType meet(DType higher, DType lower) {  // torch's combine_categories
  if (higher == kNone) return lower;
  if (lower == kNone || is_complex(higher)) return higher;
  if (is_floating(higher)) return is_complex(lower) ? to_complex(higher) : higher;
  if (higher == DType::boolean || is_floating(lower) || is_complex(lower)) return promote(higher, lower);
  return higher;
}

// The flat path's view of a type rule, by ResultType and dtype: the result's dtype; 255 where operands are converted.
struct FlatTable {
  std::uint8_t result[6][kDTypes];
  std::uint8_t shift[kDTypes];  // log2 of the simd_padding
  std::uint8_t size[kDTypes];   // log2 of an element's bytes
};
constexpr FlatTable kFlat = [] {
  FlatTable t{};
  for (int d = 0; d < kDTypes; ++d) {
    for (int c = 0; c < 6; ++c) {
      const TypeRule types{ResultType(c), dtypes::all};
      t.result[c][d] = types.computed_in(DType(d)) == DType(d) ? std::uint8_t(types.result(DType(d))) : 255;
    }
    while (std::size_t{1} << t.shift[d] < simd_padding(DType(d))) ++t.shift[d];
    while (1 << t.size[d] < size_of(DType(d))) ++t.size[d];
  }
  return t;
}();
const Backend& cpu() {
  static constinit std::atomic<const Backend*> known{nullptr};
  const Backend* b = known.load(std::memory_order_relaxed);
  if (!b) [[unlikely]]
    known.store(b = &cpu_backend(), std::memory_order_relaxed);
  return *b;
}
int first_operand(const Row& row) { return row.types.mask_first ? 1 : 0; }

}  // namespace

const Backend& quick_backend(Device d) { return d.is_cpu() ? cpu() : backend_of(d); }
std::int64_t padded_to(std::int64_t n, DType d) {
  const std::int64_t grain = std::int64_t{1} << kFlat.shift[int(d)];
  return (n + grain - 1) & -grain;
}

void execute_row(const Row& row, Device device, const Plan& plan, LineFn* fn, const double* attributes) {
  if (device.is_cpu()) return execute(plan, fn, attributes, row.cost);
  if (is_registered(device)) return run_registered_row(row, device, plan, fn, attributes);
  throw_failure(backend_of(device).execute(device.index, plan, fn, attributes, row.attributes.count), row.name);
}

DType promoted(const Call& call) {
  const Operand &first = call.in[first_operand(*call.row)], &last = call.in[call.inputs - 1];
  if (call.inputs < 3 && first.is_tensor() && last.is_tensor()) {  // two alike, or one
    const DType d = first.tensor->spec.dtype;
    if (d == last.tensor->spec.dtype && category(d) != Category::storage) return d;
  }
  DType best[3] = {kNone, kNone, kNone};
  for (int i = first_operand(*call.row); i < call.inputs; ++i) {
    const Operand& o = call.in[i];
    if (o.kind == Operand::absent) continue;
    DType d = o.is_tensor() ? o.tensor->spec.dtype : o.scalar.dtype();
    if (call.row->types.result_type == ResultType::as_bool) d = comparable(d);
    DType& b = best[o.is_scalar() ? 2 : o.tensor->spec.rank == 0 ? 1 : 0];
    if (category(d) == Category::storage)
      refuse<UnsupportedDTypeError>(
          call, std::string("expected a dtype with arithmetic, got ") + name(d) + "; convert it with .to()");
    b = b == kNone ? d : promote(b, d);
  }
  return meet(best[0], meet(best[1], best[2]));
}

Dtypes dtypes_of(const Call& call) {
  const TypeRule& types = call.row->types;
  const DType common = promoted(call), fallback = default_dtype();
  if (!types.accepts(common)) {
    std::string takes;
    for (int i = 0; i < kDTypes; ++i)
      if (types.accepts(DType(i))) takes += (takes.empty() ? "" : ", ") + std::string(name(DType(i)));
    refuse<UnsupportedDTypeError>(call, "expected one of " + takes + ", got " + name(common));
  }
  // (torch still takes a condition of uint8, anything but 0 being true.)
  constexpr DTypeSet conditions = bit(DType::boolean) | bit(DType::uint8);
  if (types.mask_first && call.in[0].is_tensor() && !(bit(call.in[0].tensor->spec.dtype) & conditions))
    refuse<DTypeError>(call, "expected a condition of bool, got " + call.in[0].tensor->spec.str());
  const DType computed = types.computed_in(common, fallback);
  const DType natural = types.result_type == ResultType::as_bool ? DType::boolean
                        : types.makes_real()                     ? to_real(computed)
                                                                 : computed;
  Dtypes d{common, computed, natural, types.result(common, fallback)};
  if (is_integral(computed) && call.inputs > 1) promote_numbers(call, d);
  return d;
}

[[gnu::cold]] static void refuse_shapes(const Call& call) {
  Shape all;
  for (int i = 0; i < call.inputs; ++i)
    if (call.in[i].is_tensor()) all = broadcast_shapes(call.row->name, all, call.in[i].tensor->spec.sizes());
}

void check_limits(const Call& call) {
  const Row& row = *call.row;
  const double* attributes = static_cast<const double*>(call.op);
  for (int i = 0; i < row.attributes.count; ++i)
    check<ValueError>(!row.limits->words[i] || row.limits->holds[i](attributes[i]), [&] {
      return std::string(row.name) + ": expected " + row.limits->words[i] + ", got " + Scalar(attributes[i]).str();
    });
}

Dtypes infer_pointwise(const Call& call, Spec& out) {
  if (call.row->limits) [[unlikely]]
    check_limits(call);
  for (int i = 0; i < call.inputs; ++i)
    if (call.in[i].kind == Operand::absent) [[unlikely]]
      refuse<ValueError>(call, "expected a tensor or a number as operand " + std::to_string(i) + ", got none");
  const Dtypes d = dtypes_of(call);
  Device device;
  int rank = 0;
  for (int i = 0; i < call.inputs; ++i)
    if (call.in[i].is_tensor()) {
      const Spec& s = call.in[i].tensor->spec;
      if (device.is_cpu()) device = s.device;  // a number on the cpu may meet tensors of another device
      rank = std::max(rank, int(s.rank));
    }
  std::int64_t shape[kMaxRank];
  std::fill(shape, shape + rank, 1);
  for (int i = 0; i < call.inputs; ++i) {
    if (!call.in[i].is_tensor()) continue;
    const Spec& s = call.in[i].tensor->spec;
    std::int64_t* size = shape + rank - s.rank;
    for (int k = 0; k < s.rank; ++k) {
      if (size[k] == s.shape[k] || s.shape[k] == 1) continue;
      if (size[k] != 1) refuse_shapes(call);
      size[k] = s.shape[k];
    }
  }
  out = Spec::dense(d.result, {shape, std::size_t(rank)}, device);
  for (int i = 0; i < call.inputs; ++i) {  // the first operand of full shape gives the order of dimensions
    if (!call.in[i].is_tensor() || !call.in[i].tensor->spec.same_shape(out)) continue;
    const Spec& s = call.in[i].tensor->spec;
    if (!s.contiguous && s.dense()) std::copy(s.strides, s.strides + s.rank, out.strides), out.finish();
    break;
  }
  return d;
}

// False where a program for one model has no row that would.
constexpr bool kDivides = [] {
  for (const char* name : {"div_trunc", "div_floor", "floor_divide", "fmod", "remainder"})
    if (in_build::dtypes_of_row(name) & dtypes::integers) return true;
  return false;
}();
// Among integers there is no infinity to answer with, and a division by 0 would end the process.
static void refuse_zeros(const Call& call, const Operand& divisor) {
  if (divisor.is_tensor()) {
    const Tensor fits = all(ne(Tensor(Ref<TensorImpl>::share(divisor.tensor)), 0));
    if (!host_looks(fits)) return expect(Rule::divisors, fits);
    if (fits.item<bool>()) return;
  } else if (divisor.scalar.integer() != 0) {
    return;
  }
  refuse<ValueError>(call, "expected integers other than 0 to divide by, got 0");
}

void run_pointwise(Call& call, const Dtypes& d) {
  const Row& row = *call.row;
  if (kDivides && row.types.divides && is_integral(d.computed)) refuse_zeros(call, call.in[1]);
  TensorImpl* out = call.out[0].impl();
  Tensor temporary[kMaxRowInputs];
  alignas(16) char scalars[kMaxRowInputs][16];
  Spec number, condition;
  View in[kMaxRowInputs];
  DType wanted[kMaxRowInputs];
  for (int i = 0; i < call.inputs; ++i) {
    const Operand& o = call.in[i];
    wanted[i] = row.types.mask_first && i == 0 ? DType::boolean : d.computed;
    if (!o.is_tensor()) {
      store_number(call, i, wanted[i], scalars[i]);
      Spec& spec = wanted[i] == d.computed ? number : condition;
      spec = Spec::dense(wanted[i], {}), in[i] = {scalars[i], &spec};
      continue;
    }
    const TensorImpl* t = is_integral(d.natural) ? bound(call, i, d, temporary[i]) : o.tensor;
    if (call.destination != Destination::fresh && may_overlap(out, t) && !out->spec.same_geometry(t->spec)) {
      temporary[i] = copy_of(t);
      t = temporary[i].impl();
    }
    settled(t);
    in[i] = {t->data(), &t->spec};
  }
  LineFn* const fn = row.kernel(quick_backend(out->spec.device)).value[int(d.computed)];
#ifdef NEURA_WANTED
  if (!fn) refuse_missing_kernel();
#endif
  NEURA_ASSERT(fn);
  execute_row(row, out->spec.device, make_plan({out->data(), &out->spec}, d.natural, in, wanted, call.inputs), fn,
              static_cast<const double*>(call.op));
}

bool room(const TensorImpl* t, std::int64_t padded) {
  const Storage& s = *t->storage;
  const std::size_t capacity = __atomic_load_n(&s.capacity, __ATOMIC_ACQUIRE);  // before `data`: see keep_promise
  return (t->spec.offset + padded) * size_of(t->spec.dtype) <= std::int64_t(capacity);
}

namespace {

template <class T> void fill(char (&to)[128], T value) {  // all of it: a loop of known length is a few vector stores
  for (std::size_t i = 0; i < sizeof to / sizeof value; ++i) std::memcpy(to + i * sizeof value, &value, sizeof value);
}
void repeat(const Scalar& number, DType d, char (&to)[128]) {
  if (d == DType::float32) return fill(to, float(number.real()));
  number.store(d, to);
  const int size = size_of(d);
  for (std::size_t at = std::size_t(size); at < sizeof to; at += std::size_t(size))
    std::memcpy(to + at, to, std::size_t(size));
}

}  // namespace

// Dtype, rank, device and contiguity as one word: operands of a flat call have them in common, or are planned.
static_assert(offsetof(Spec, rank) == 1 && offsetof(Spec, device) == 2 && offsetof(Spec, contiguous) == 4);
static std::uint64_t head(const Spec& s) {
  std::uint64_t word;
  std::memcpy(&word, static_cast<const void*>(&s), sizeof word);
  return word & 0xff'ffff'ffff;
}

// True if the destination has room for the line, with the padding that is computed after its end.
bool Flat::takes(const Call& call) const {
  const TensorImpl* out = call.out[0].impl();
  if (!out || out->spec.dtype != result || !out->spec.contiguous || !out->spec.same_shape(*spec)) return false;
  // The bytes after a view belong to other elements.
  const bool last = (out->spec.offset + spec->numel) * size_of(result) == std::int64_t(out->storage->bytes);
  if (padded != spec->numel && !(last && room(out, padded))) return false;
  for (int i = 0; i < call.inputs; ++i)
    if (const Operand& o = call.in[i];
        o.is_tensor() && o.tensor->storage == out->storage && o.tensor->spec.offset != out->spec.offset)
      return false;
  return true;
}

[[gnu::noinline]] bool Flat::place_number(int i, const Operand& o, DType d, std::int64_t bytes, const Row& row) {
  if (!o.is_scalar() || o.scalar.category() > category(d) || bytes > std::int64_t(sizeof scalars[i])) return false;
  if (is_integral(d) && (&row == &rows::pow || !in_range(o.scalar, d)))
    return false;  // what is refused, or has a rule of its own, is not for this path
  repeat(o.scalar, d, scalars[i]);
  line.in[i] = scalars[i];
  return true;
}

// The operand as so many bytes of a line; false where it has none, or no room after them.
[[gnu::always_inline]] inline bool Flat::place(int i, const Operand& o, DType d, std::int64_t bytes, const Row& row) {
  if (!o.is_tensor()) return place_number(i, o, d, bytes, row);
  const Storage& s = *o.tensor->storage;
  const std::int64_t at = o.tensor->spec.offset << kFlat.size[int(d)];
  const std::size_t capacity = __atomic_load_n(&s.capacity, __ATOMIC_ACQUIRE);  // before `data`: see keep_promise
  line.in[i] = static_cast<const char*>(__atomic_load_n(&s.data, __ATOMIC_RELAXED)) + at;
  return at + bytes <= std::int64_t(capacity);
}

bool Flat::fits(const Call& call) {
  const Row& row = *call.row;
  if (row.kind != Row::pointwise || row.types.mask_first || unsigned(call.inputs - 1) > 1) return false;
  const Operand &first = call.in[0], &last = call.in[call.inputs - 1];
  if (!first.is_tensor() && !last.is_tensor()) return false;
  spec = &(first.is_tensor() ? first : last).tensor->spec;
  if (!spec->contiguous || !spec->device.is_cpu()) return false;
  if (first.is_tensor() && last.is_tensor() &&
      (head(last.tensor->spec) != head(*spec) || !last.tensor->spec.same_shape(*spec)))
    return false;
  const DType d = spec->dtype;
  if (spec->numel * row.cost > kSerial || !spec->numel || !row.types.accepts(d)) return false;
  const std::uint8_t out_dtype = kFlat.result[int(row.types.result_type)][int(d)];
  if (out_dtype == 255 || (row.types.divides && is_integral(d))) return false;
  result = DType(out_dtype);
  fn = row.kernel(cpu()).value[int(d)];
  if (kOneProgram && !fn) return false;
  padded = padded_to(spec->numel, d);
  if (call.destination != Destination::fresh && !takes(call)) return false;
  if (row.limits && call.op) [[unlikely]]
    check_limits(call);
  line.size = std::size_t(padded), line.attributes = static_cast<const double*>(call.op);
  const std::int64_t bytes = padded << kFlat.size[int(d)];
  return place(0, first, d, bytes, row) && (call.inputs == 1 || place(1, last, d, bytes, row));
}

Tensor Flat::fresh() {
  Storage* storage = Storage::make(std::size_t(padded << kFlat.size[int(result)]), spec->device);
  storage->bytes = std::size_t(spec->numel << kFlat.size[int(result)]);
  TensorImpl* t = TensorImpl::make(*spec, storage);
  t->spec.offset = 0, t->spec.dtype = result;
  t->inference = state.active & kInference;
  line.out = storage->data;
  fn(line);
  return Tensor(Ref<TensorImpl>::adopt(t));
}

void Flat::into(TensorImpl* out) {
  line.out = out->data();
  fn(line);
}

}  // namespace neura
