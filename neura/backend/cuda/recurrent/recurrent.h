// The operands of recurrent layers, and their two ways.
#pragma once
#include "neura/backend/cuda/runtime/failure.h"
#include "neura/backend/kernels/recurrent.h"

namespace neura::cuda {

struct RecurrenceData {  // operands and results; null where one is absent. Forward: x to kept; backward: all but x, b
  const char *x, *h0, *c0, *w, *b;
  char *y, *last;
  char* kept;
  const char *gy, *glast;
  char *gx, *gh, *gfirst;
};
struct RecurrenceSizes {
  DType dtype;
  std::int64_t batch, hidden, rows;
};
// recurrent_grid.cu: all times in one launch, whose blocks keep their part of w and wait for each other. False where
// it does not fit: nothing was done then.
bool recur_at_once(int index, const RecurrentShape&, const RecurrenceSizes&, const RecurrenceData&, bool backward,
                   Failed*);

}  // namespace neura::cuda
