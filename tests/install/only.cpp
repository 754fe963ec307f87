#include "neura/core/tensor.h"

int main() {
  return neura::Tensor::empty(neura::Spec::dense(neura::DType::float32, neura::Shape{2, 3})).numel() == 6 ? 0 : 1;
}
