// cuDNN's graph API as this back end uses it: loaded at run time, so that only programs
// that convolve need the library.
#pragma once
#include <cudnn.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "neura/backend/cuda/product/cublaslt.h"

namespace neura::cuda {

#define NEURA_CUDNN_CALLS(X)       \
  X(cudnnCreate)                   \
  X(cudnnSetStream)                \
  X(cudnnGetVersion)               \
  X(cudnnGetErrorString)           \
  X(cudnnBackendCreateDescriptor)  \
  X(cudnnBackendDestroyDescriptor) \
  X(cudnnBackendSetAttribute) X(cudnnBackendGetAttribute) X(cudnnBackendFinalize) X(cudnnBackendExecute)

struct Library {
#define X(name) decltype(&::name) name = nullptr;
  NEURA_CUDNN_CALLS(X)
#undef X
  bool loaded = false;

  Library() {
    cublas_lt();  // which cuDNN names without a folder: loaded, it is found
    void* const library = open_library(Setting::cudnn_library, "libcudnn.so.9");
    loaded = library;
#define X(name) \
  if (loaded) name = reinterpret_cast<decltype(name)>(dlsym(library, #name)), loaded = name;
    NEURA_CUDNN_CALLS(X)
#undef X
    loaded = loaded && cudnnGetVersion() / 10000 == CUDNN_MAJOR;
  }
};
inline const Library& cudnn() {
  static const Library library;
  return library;
}

template <class T> inline constexpr cudnnBackendAttributeType_t kind_of = CUDNN_TYPE_VOID_PTR;
template <> inline constexpr auto kind_of<std::int64_t> = CUDNN_TYPE_INT64;
template <> inline constexpr auto kind_of<bool> = CUDNN_TYPE_BOOLEAN;
template <> inline constexpr auto kind_of<float> = CUDNN_TYPE_FLOAT;
template <> inline constexpr auto kind_of<double> = CUDNN_TYPE_DOUBLE;
template <> inline constexpr auto kind_of<cudnnHandle_t> = CUDNN_TYPE_HANDLE;
template <> inline constexpr auto kind_of<cudnnDataType_t> = CUDNN_TYPE_DATA_TYPE;
template <> inline constexpr auto kind_of<cudnnConvolutionMode_t> = CUDNN_TYPE_CONVOLUTION_MODE;
template <> inline constexpr auto kind_of<cudnnBackendHeurMode_t> = CUDNN_TYPE_HEUR_MODE;
template <> inline constexpr auto kind_of<cudnnPointwiseMode_t> = CUDNN_TYPE_POINTWISE_MODE;
template <> inline constexpr auto kind_of<cudnnBackendNumericalNote_t> = CUDNN_TYPE_NUMERICAL_NOTE;
template <> inline constexpr auto kind_of<cudnnBackendBehaviorNote_t> = CUDNN_TYPE_BEHAVIOR_NOTE;

// A descriptor of cuDNN. Whatever fails is remembered until `finish` says so.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(cudnnBackendDescriptorType_t type) {
    fine_ = cudnn().cudnnBackendCreateDescriptor(type, &raw_) == CUDNN_STATUS_SUCCESS;
  }
  Descriptor(Descriptor&& o) noexcept : raw_(std::exchange(o.raw_, nullptr)), fine_(o.fine_) {}
  Descriptor& operator=(Descriptor&& o) noexcept { return std::swap(raw_, o.raw_), fine_ = o.fine_, *this; }
  ~Descriptor() {
    if (raw_) (void)cudnn().cudnnBackendDestroyDescriptor(raw_);  // a destructor cannot report it
  }
  template <class T> Descriptor& set(cudnnBackendAttributeName_t name, const T* values, std::int64_t n) {
    return set(name, kind_of<T>, n, values);
  }
  template <class T> Descriptor& set(cudnnBackendAttributeName_t name, T value) { return set(name, &value, 1); }
  Descriptor& set(cudnnBackendAttributeName_t name, const Descriptor& d) {
    return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &d.raw_);
  }
  Descriptor& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t n, const void* v) {
    fine_ = fine_ && cudnn().cudnnBackendSetAttribute(raw_, name, type, n, v) == CUDNN_STATUS_SUCCESS;
    return *this;
  }
  Descriptor& finish() {
    fine_ = fine_ && cudnn().cudnnBackendFinalize(raw_) == CUDNN_STATUS_SUCCESS;
    return *this;
  }
  // How many values there are; at most `most` of them are given.
  std::int64_t get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t most,
                   void* to) const {
    std::int64_t n = 0;
    const bool got = fine_ && cudnn().cudnnBackendGetAttribute(raw_, name, type, most, &n, to) == CUDNN_STATUS_SUCCESS;
    return got ? n : 0;
  }
  template <class T> bool has(cudnnBackendAttributeName_t name, T value) const {
    T values[32];
    const std::int64_t n = get(name, kind_of<T>, 32, values);
    return std::find(values, values + n, value) != values + n;
  }
  explicit operator bool() const { return raw_ && fine_; }
  cudnnBackendDescriptor_t raw() const { return raw_; }

 private:
  cudnnBackendDescriptor_t raw_ = nullptr;
  bool fine_ = true;
};

}  // namespace neura::cuda
