#include "neura/nn/dropout.h"

#include "neura/nn/repr.h"
#include "neura/ops/random/dropout.h"

namespace neura::nn {

static Number probability(const char* name, Number p) {
  check<ValueError>(p >= 0 && p <= 1,
                    [&] { return std::string(name) + ": expected a probability in [0, 1], got " + python_text(p); });
  return p;
}

#define NEURA_DROPOUT_BODY(Name, function)                                           \
  NEURA_LAYER_BODY(Name)                                                             \
  Name::Name(Number p, bool inplace) : p(probability(#Name, p)), inplace(inplace) {} \
  Tensor Name::forward(const Tensor& input) const {                                  \
    const Tensor y = function(input, p, training);                                   \
    return inplace && training ? Tensor(input).copy_(y) : y;                         \
  }                                                                                  \
  std::string Name::extra_repr() const { return Repr().add("p", p).add("inplace", inplace); }
NEURA_DROPOUT_BODY(Dropout, dropout)
NEURA_DROPOUT_BODY(Dropout1d, dropout1d)
NEURA_DROPOUT_BODY(Dropout2d, dropout2d)
NEURA_DROPOUT_BODY(Dropout3d, dropout3d)
NEURA_DROPOUT_BODY(AlphaDropout, alpha_dropout)
NEURA_DROPOUT_BODY(FeatureAlphaDropout, feature_alpha_dropout)

}  // namespace neura::nn
