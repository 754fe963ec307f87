// What convolutions of this back end share: who computes, and the parts of the way without cuDNN.
#pragma once
#include "neura/backend/cuda/failure.h"
#include "neura/backend/kernels/conv.h"

namespace neura::cuda {

enum class Convolve : unsigned char { forward, input_gradient, weight_gradient };
struct ConvData {  // one of image, filter and result is made of the other two
  char *image, *filter, *result;
  char* bias = nullptr;  // of forward
};

// By cuDNN, conv_cudnn.cpp. False: it has no way to do this, or is not there, and nothing was done; else it is under
// way, or has failed. `biased` says whether the bias was added.
bool by_cudnn(Convolve, int index, DType, const ConvShape&, const ConvData&, bool* biased, Failed*);

}  // namespace neura::cuda
