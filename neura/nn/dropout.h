// Dropout layers: in training, zero elements or whole channels with probability p and scale the others by 1 / (1 - p).
#pragma once
#include "neura/nn/module.h"

namespace neura::nn {

#define NEURA_DROPOUT(Name)                                          \
  struct Name final : Module {                                       \
    NEURA_INIT(explicit Name, Number p = 0.5, bool inplace = false); \
    Tensor forward(const Tensor& input) const;                       \
    std::string extra_repr() const override;                         \
                                                                     \
    Number p;                                                        \
    bool inplace;                                                    \
    NEURA_LAYER(Name, p, inplace)                                    \
    NEURA_FORWARD("input")                                           \
  };
NEURA_DROPOUT(Dropout)
NEURA_DROPOUT(Dropout1d)
NEURA_DROPOUT(Dropout2d)
NEURA_DROPOUT(Dropout3d)
NEURA_DROPOUT(AlphaDropout)
NEURA_DROPOUT(FeatureAlphaDropout)
#undef NEURA_DROPOUT

}  // namespace neura::nn
