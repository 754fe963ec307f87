#include "neura/core/tensor.h"

#include "neura/core/interpreter.h"
#include "neura/core/memory_fast.h"
#include "neura/core/meta.h"
#include "neura/core/pending.h"
#include "neura/core/state.h"
#include "neura/core/walk.h"
#include "neura/core/wrapped.h"

namespace neura {

constinit const Interpreter* interpreter = nullptr;

namespace {
constexpr int kImplClass = memory::size_class(sizeof(TensorImpl));
}  // namespace

TensorImpl* TensorImpl::make(const Spec& spec, Storage* storage) {
  void* block = memory::take_block(kImplClass);
  return new (block) TensorImpl(spec, storage, ++state.id);
}

Ref<TensorImpl> TensorImpl::alias() const {
  Ref<TensorImpl> t = Ref<TensorImpl>::adopt(make(spec, Ref<Storage>::share(storage).leave()));
  t->id = id;
  return t;
}

void TensorImpl::destroy(TensorImpl* t) {
  if (t->hosted) [[unlikely]]
    return interpreter->last_handle(t);
  free(t);
}
void TensorImpl::free(TensorImpl* t) {
  Ref<Storage>::drop(t->storage);
  if (History* h = t->history) Ref<History>::drop(h);
  if (t->base) Ref<TensorImpl>::drop(t->base);
  memory::give_block(t, kImplClass);
}

Tensor Tensor::empty(const Spec& spec) {
  const std::int64_t elements = spec.contiguous ? spec.numel : std::max(spec.numel, spec.span());
  if constexpr (sizeof(std::size_t) <
                sizeof elements)  // a broadcast result may have more bytes than there are addresses
    check<OutOfMemoryError>(elements <= PTRDIFF_MAX / size_of(spec.dtype), [&] {
      return "allocate: expected a tensor that fits into memory, got " + spec.str() + "; use smaller batches";
    });
  const std::size_t bytes = std::size_t(elements) * std::size_t(size_of(spec.dtype));
  TensorImpl* t = TensorImpl::make(spec, Storage::make(bytes, spec.device));
  t->spec.offset = 0;
  t->inference = state.active & kInference;
  return Tensor(Ref<TensorImpl>::adopt(t));
}

void Tensor::undefined() {
  throw ValueError("tensor: expected a tensor, got an undefined one; give it a value first, or ask defined()");
}
std::int64_t Tensor::size(int dim) const {
  const Spec& s = spec();
  check<IndexError>(s.rank > 0, [&] { return "size: expected a tensor with dimensions, got a 0-d one"; });
  return s.shape[wrap_dim("size", dim, s.rank)];
}

void* Tensor::checked_data(DType wanted) const { return const_checked_data(wanted), raw_data(); }
const void* Tensor::const_checked_data(DType wanted) const {
  if (state.active & kDeferred) [[unlikely]]
    state.reader->reads(&there());
  check<DTypeError>(dtype() == wanted, [&] {
    return std::string("data: expected a tensor of ") + name(wanted) + ", got " + spec().str() +
           "; convert it with .to()";
  });
  check_values("data", device(), spec());
  check<DeviceError>(device().is_cpu(), [&] {
    return "data: expected a tensor on the cpu, got " + spec().str() + "; move it with .to(\"cpu\")";
  });
  check_readable("data", *this);
  settled(&there());
  return p_->data();
}

const void* Tensor::const_raw_data() const {
  announce_access(there().storage);
  settled(&there());
  return p_->data();
}

Scalar Tensor::item() const {
  check<ValueError>(numel() == 1, [&] { return "item: expected a tensor of one element, got " + spec().str(); });
  if (is_wrapped(*this)) return agreed_item(*this);
  if (state.active & kDeferred) [[unlikely]]
    state.reader->reads(&there());
  if (!device().is_cpu()) return check_values("item", device(), spec()), to(Device()).item();
  settled(p_.get());
  return Scalar::load(dtype(), p_->data());
}
template <> bool Tensor::item<bool>() const {
  const Scalar s = item();
  return s.real() != 0 || s.imag() != 0;
}
template <> double Tensor::item<double>() const {
  const Scalar s = item();
  check<DTypeError>(s.imag() == 0, [&] { return "item: expected a real number, got " + s.str(); });
  return s.real();
}
template <> float Tensor::item<float>() const { return float(item<double>()); }
template <> std::int64_t Tensor::item<std::int64_t>() const { return item().integer(); }
template <> int Tensor::item<int>() const { return int(item().integer()); }
template <> std::complex<double> Tensor::item<std::complex<double>>() const {
  const Scalar s = item();
  return {s.real(), s.imag()};
}

template <class T> std::vector<T> Tensor::to_vector() const {
  const Tensor here = to(Device());
  const T* p = here.const_data<T>();
  std::vector<T> values;
  values.reserve(std::size_t(here.numel()));
  auto o = StridedIterator<1>::over(here.shape(), {here.strides()});
  for (std::int64_t n = here.numel(); n > 0; --n, o.next()) values.push_back(p[o.at[0]]);
  return values;
}
#define DTYPE_ELEMENT(T) template std::vector<T> Tensor::to_vector<T>() const;
DTYPE_ELEMENT(bool)
DTYPE_ELEMENT(std::uint8_t)
DTYPE_ELEMENT(std::int8_t)
DTYPE_ELEMENT(std::int16_t)
DTYPE_ELEMENT(std::int32_t)
DTYPE_ELEMENT(std::int64_t)
DTYPE_ELEMENT(float)
DTYPE_ELEMENT(double)
DTYPE_ELEMENT(std::complex<float>)
DTYPE_ELEMENT(std::complex<double>)
#undef DTYPE_ELEMENT

Tensor Tensor::detach() const {
  const TensorImpl& own = there();
  Ref<TensorImpl> t = Ref<TensorImpl>::adopt(TensorImpl::make(own.spec, Ref<Storage>::share(own.storage).leave()));
  t->inference = own.inference, t->unversioned = own.unversioned;
  return Tensor(std::move(t));
}

bool exclusive(const Tensor& t) {
  const auto one = [](auto* p) { return p->count.load(std::memory_order_acquire); };
  TensorImpl* p = t.impl();
  if (one(p) != 1 || p->hosted || !p->spec.dense() || p->spec.bytes() != p->storage->bytes ||
      (p->storage->sharing != Storage::alone && !is_promise(p->storage)))
    return false;
  if (wrapped(p)) return false;
  return p->base ? one(p->base) == 1 && one(p->storage) == 2 : one(p->storage) == 1;  // a view with an unshared base
}

}  // namespace neura
