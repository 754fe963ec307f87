// Tensor: a handle, one intrusive pointer to sizes, strides, dtype, storage and, only if needed, autograd's data.
// The members are what a tensor is, and the few calls that are often chained; operations are free functions (ops/).
#pragma once
#include <initializer_list>
#include <iosfwd>
#include <optional>
#include <vector>

#include "neura/core/error.h"
#include "neura/core/scalar.h"
#include "neura/core/spec.h"
#include "neura/core/storage.h"

namespace neura {

struct History {  // autograd's; core only releases it
  std::atomic<std::uint32_t> count{1};
  virtual ~History() = default;
  virtual void free() = 0;
  static void destroy(History* h) { h->free(); }
};

struct TensorImpl {
  std::atomic<std::uint32_t> count{1};
  std::uint32_t seen = 0;        // of a view: its base's generation when `history` was made
  std::uint64_t id;              // of the value, never reused, renewed by a write: what interceptors know a tensor by
  std::uint32_t generation = 0;  // raised when a recorded in-place operation gives this (base) tensor a new history
  std::uint16_t output = 0;      // which output of `history` this is
  bool locked_view = false;      // one of several views of one call (split, unbind): no in-place while recording
  bool inference = false;        // made in inference mode: never recorded
  bool unversioned = false;      // of Tensor.data and its views: a write is none that a saved value would miss
  bool hosted = false;           // never reset: the host's object may outlive the last handle (core/interpreter.h)
  Storage* storage;
  RelaxedAtomic<History*> history = nullptr;  // of a view: rewritten under a lock at the first query (edge_of)
  TensorImpl* base = nullptr;                 // of a view: the root, never another view
  Spec spec;

  TensorImpl(const Spec& s, Storage* st, std::uint64_t i) : id(i), storage(st), spec(s) {}
  static TensorImpl* make(const Spec&, Storage*);  // takes over the reference to the storage
  Ref<TensorImpl> alias() const;                   // the same value without history
  static void destroy(TensorImpl*);                // the last handle goes: the memory too, or the host decides
  static void free(TensorImpl*);
  static constexpr bool dies_counted = true;  // destroy() finds the last handle still counted
  bool written(const Row* row) { return storage->written(row, unversioned); }
  char* data() const { return static_cast<char*>(storage->data) + spec.offset * size_of(spec.dtype); }
};

// The element type in C++ of each dtype that has one: float, double, bool, the integers, std::complex.
template <class T> struct dtype_of_t;
#define NEURA_ELEMENT(T, d) \
  template <> struct dtype_of_t<T> { static constexpr DType value = DType::d; }
NEURA_ELEMENT(bool, boolean);
NEURA_ELEMENT(std::uint8_t, uint8);
NEURA_ELEMENT(std::int8_t, int8);
NEURA_ELEMENT(std::int16_t, int16);
NEURA_ELEMENT(std::int32_t, int32);
NEURA_ELEMENT(std::int64_t, int64);
NEURA_ELEMENT(float, float32);
NEURA_ELEMENT(double, float64);
NEURA_ELEMENT(std::complex<float>, complex64);
NEURA_ELEMENT(std::complex<double>, complex128);
#undef NEURA_ELEMENT
template <class T> inline constexpr DType dtype_of = dtype_of_t<T>::value;

// Dimensions to reduce or move: one, several, or (empty) all.
struct Dims : Shape {
  Dims() = default;
  Dims(std::integral auto dim) { push_back(std::int64_t(dim)); }
  Dims(std::initializer_list<std::int64_t> l) : Shape(l) {}
  Dims(const Shape& s) : Shape(s) {}
};

class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(Ref<TensorImpl> p) : p_(std::move(p)) {}
  static Tensor empty(const Spec&);  // uninitialised

  // What it is. An undefined tensor has none of this: ValueError.
  TensorImpl* impl() const { return p_.get(); }
  bool defined() const { return bool(p_); }
  explicit operator bool() const { return bool(p_); }
  const Spec& spec() const { return there().spec; }
  Shape shape() const { return there().spec.sizes(); }
  Shape strides() const { return {there().spec.strides, there().spec.rank}; }
  int dim() const { return there().spec.rank; }
  std::int64_t size(int dim) const;  // negative counts from the back; IndexError
  std::int64_t numel() const { return there().spec.numel; }
  DType dtype() const { return there().spec.dtype; }
  Device device() const { return there().spec.device; }
  std::int64_t storage_offset() const { return there().spec.offset; }
  bool is_contiguous() const { return there().spec.contiguous; }
  std::size_t nbytes() const { return there().spec.bytes(); }
  bool is_same(const Tensor& o) const { return impl() == o.impl(); }  // identity, not value
  std::uint32_t version() const { return there().storage->tracked(); }
  std::string str() const;        // values as PyTorch prints them
  std::string debug_str() const;  // also strides, offset, requires_grad, grad_fn, storage

  // Values. data<T>() is checked: the dtype must be T's, the device the cpu; elements are laid out by strides(). What a
  // pointer may be written through is never shared with a lazy clone; to read, ask for a const one.
  template <class T> T* data() const { return static_cast<T*>(checked_data(dtype_of<T>)); }
  template <class T> const T* const_data() const { return static_cast<const T*>(const_checked_data(dtype_of<T>)); }
  void* raw_data() const { return there().storage->expose(), p_->data(); }
  const void* const_raw_data() const;
  Scalar item() const;                                  // of one element; ValueError otherwise
  template <class T> T item() const;                    // converted; ValueError if there is more than one element
  template <class T> std::vector<T> to_vector() const;  // a copy in logical order; DTypeError if T is not the dtype's

  // Views: share bytes; see ops/shape/view.h for the rest
  Tensor view(const Shape&) const;     // ShapeError where no view is possible; one size may be -1
  Tensor reshape(const Shape&) const;  // a view where possible, else of a copy
  Tensor flatten(int start_dim = 0, int end_dim = -1) const;
  Tensor transpose(int dim0, int dim1) const;
  Tensor t() const;  // of at most two dimensions
  Tensor permute(const Dims&) const;
  Tensor expand(const Shape&) const;
  Tensor unsqueeze(int dim) const;
  Tensor squeeze(const Dims& = {}) const;
  Tensor select(int dim, std::int64_t index) const;
  Tensor slice(int dim, std::int64_t start, std::int64_t end = INT64_MAX, std::int64_t step = 1) const;
  Tensor narrow(int dim, std::int64_t start, std::int64_t length) const;
  Tensor operator[](std::int64_t index) const { return select(0, index); }
  Tensor detach() const;  // shares bytes and version; no history

  // Copies
  Tensor clone() const;
  Tensor contiguous() const;  // itself if it is
  Tensor to(DType) const;     // itself if it has that dtype
  Tensor to(Device) const;    // itself if it is there
  Tensor to(const char* device) const { return to(Device(device)); }
  Tensor& copy_(const Tensor& source);  // broadcasts and converts
  Tensor& fill_(Scalar);
  Tensor& zero_();

  // Calls that are often chained
  Tensor sum(const Dims& dim = {}, bool keepdim = false) const;
  Tensor mean(const Dims& dim = {}, bool keepdim = false) const;
  Tensor argmax(std::optional<int> dim = {}, bool keepdim = false) const;
  Tensor matmul(const Tensor&) const;

  // Autograd
  bool requires_grad() const;
  Tensor& requires_grad_(bool on = true);  // leaves of a floating or complex dtype only; AutogradError
  bool is_leaf() const;
  Tensor grad() const;           // undefined if there is none
  void set_grad(const Tensor&);  // of a leaf; an undefined tensor clears it
  const char* grad_fn() const;   // the name of the operation that made it; null for a leaf
  void retain_grad();            // keeps .grad of a result
  // Gradients of this tensor with respect to all leaves it came from are added to their .grad.
  void backward(const Tensor& gradient = {}, bool retain_graph = false, bool create_graph = false) const;

 private:
  TensorImpl& there() const {
    if (!p_) [[unlikely]]
      undefined();
    return *p_;
  }
  [[gnu::cold, noreturn]] static void undefined();
  void* checked_data(DType) const;
  const void* const_checked_data(DType) const;
  Ref<TensorImpl> p_;
};

template <> bool Tensor::item<bool>() const;
template <> float Tensor::item<float>() const;
template <> double Tensor::item<double>() const;
template <> std::int64_t Tensor::item<std::int64_t>() const;
template <> int Tensor::item<int>() const;
template <> std::complex<double> Tensor::item<std::complex<double>>() const;

std::ostream& operator<<(std::ostream&, const Tensor&);

// True if no other tensor shares these bytes: they may be taken over or written in place.
bool exclusive(const Tensor&);

}  // namespace neura

template <> struct std::hash<neura::Tensor> {
  std::size_t operator()(const neura::Tensor& t) const { return std::hash<const void*>()(t.impl()); }
};
