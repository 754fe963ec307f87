// What convolutions of this back end share: the choice of a kernel, and the parts without cuDNN.
#pragma once
#include "neura/backend/cuda/runtime/failure.h"
#include "neura/backend/kernels/conv.h"

namespace neura::cuda {

enum class Convolve : unsigned char { forward, input_gradient, weight_gradient };
struct ConvData {  // one of image, filter and result is made of the other two
  char *image, *filter, *result;
  char* bias = nullptr;  // of forward
};

// By cuDNN, conv_cudnn.cpp. False: cuDNN is missing or supports no such convolution, and nothing was launched. True:
// launched, or failed (see Failed*). `biased` says whether the bias was added.
bool by_cudnn(Convolve, int index, DType, const ConvShape&, const ConvData&, bool* biased, Failed*);

// Where a filter sees one channel, and planes are small, by kernels of our own. conv_depthwise.cu
bool by_planes(Convolve, int index, DType, const ConvShape&, const ConvData&, Failed*);

// Where patches go: from one image to the next, and from one row (a channel's value of the kernel) to the next.
struct PatchLayout {
  std::int64_t image, row;
};
// conv_patches.cu. The columns that are added have the layout of those of conv_kernels::fold.
Failed take_patches(int index, const ConvShape&, const char* x, char* columns, int element_bytes, PatchLayout);
Failed add_patches(int index, const ConvShape&, DType, const char* columns, char* x);

// conv_integer.cu
Failed convolve_integers(int index, DType, const ConvShape&, const ConvData&);
Failed convolve_integers_back(int index, DType, const ConvShape&, const ConvData&);

// Floating and complex numbers, as products of patches, a part of the batch at a time. conv_product.cpp
void convolve_by_products(Convolve, Context&, DType, const ConvShape&, const ConvData&, Conjugated);

}  // namespace neura::cuda
