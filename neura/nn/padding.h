// Padding layers over the last one, two or three dimensions: one amount everywhere, or (before, after) of the last
// dimension, then of the one before, ….
#pragma once
#include "neura/nn/module.h"

namespace neura::nn {

struct PadNd : Module {
  Tensor forward(const Tensor& input) const;
  std::string extra_repr() const override;

  Shape padding;
  Number value = 0.0;  // of constant padding
  NEURA_LAYER(PadNd, padding, value)
  NEURA_FORWARD("input")

 protected:
  PadNd(const char* mode, int rank, bool prints_value, const Dims& padding, Number value);
  const char* mode_;
  bool prints_value_;
};
#define NEURA_PAD(Name, mode, rank)                                                                          \
  struct Name##Pad##rank##d final : PadNd {                                                                  \
    NEURA_INIT(explicit Name##Pad##rank##d, const Dims& padding) : PadNd(mode, rank, false, padding, 0.0) {} \
    explicit Name##Pad##rank##d(Blank) : Name##Pad##rank##d(0) {}                                            \
    NEURA_VARIANT(Name##Pad##rank##d)                                                                        \
  };
#define NEURA_CONSTANT_PAD(rank)                                         \
  struct ConstantPad##rank##d final : PadNd {                            \
    NEURA_INIT(ConstantPad##rank##d, const Dims& padding, Number value)  \
        : PadNd("constant", rank, true, padding, value) {}               \
    explicit ConstantPad##rank##d(Blank) : ConstantPad##rank##d(0, 0) {} \
    NEURA_VARIANT(ConstantPad##rank##d)                                  \
  };
#define NEURA_PADS(rank)                    \
  NEURA_PAD(Zero, "constant", rank)         \
  NEURA_PAD(Reflection, "reflect", rank)    \
  NEURA_PAD(Replication, "replicate", rank) \
  NEURA_PAD(Circular, "circular", rank)     \
  NEURA_CONSTANT_PAD(rank)
NEURA_PADS(1)
NEURA_PADS(2)
NEURA_PADS(3)
#undef NEURA_PAD
#undef NEURA_CONSTANT_PAD
#undef NEURA_PADS

}  // namespace neura::nn
