// How exactly float32 is multiplied on devices whose tensor cores can do it faster with fewer bits (TF32: 10 of the 23
// bits after the point, the same range). The cpu always computes with all of them.
#pragma once
#include <atomic>
#include <string_view>

namespace neura {

// How the whole process multiplies matrices: "highest" (at first) keeps float32, "high" and "medium" allow TF32.
// ValueError for other words. The environment variable NEURA_MATMUL_ALLOW_TF32=1 starts with "high".
void set_float32_matmul_precision(std::string_view precision);
const char* get_float32_matmul_precision();
// True if float32 convolutions may use TF32: by default, unless NEURA_CUDNN_ALLOW_TF32=0.
void set_cudnn_allow_tf32(bool allow);
bool get_cudnn_allow_tf32();

// True if operations have to give the same bits each time. Nearly all do anyway. Those that may add in whatever order a
// device's threads come (sums of float32, float64 and complex numbers by repeated indices: index_add, scatter_add,
// index_put and put that accumulate, gradients of gather and of indexing) are slower then. At first they need not,
// unless NEURA_DETERMINISTIC=1.
void use_deterministic_algorithms(bool mode);
bool are_deterministic_algorithms_enabled();

namespace detail {
struct Precision {          // read by back ends at every call
  std::atomic<int> matmul;  // 0, 1, 2: highest, high, medium
  std::atomic<bool> convolution_tf32;
  std::atomic<bool> deterministic;
};
Precision& precision();
}  // namespace detail

}  // namespace neura
