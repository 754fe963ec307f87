// Recurrent layers: all time steps of one layer in one direction.
#pragma once
#include "neura/backend/backend.h"

namespace neura {

enum class RecurrentCell : unsigned char { tanh, relu, gru, lstm };
constexpr int gates_of(RecurrentCell c) { return c == RecurrentCell::lstm ? 4 : c == RecurrentCell::gru ? 3 : 1; }
// What a step keeps for its gradient: gru r, z, n and what h gives to n; lstm i, f, g, o and c.
constexpr int kept_of(RecurrentCell c) { return c == RecurrentCell::lstm ? 5 : c == RecurrentCell::gru ? 4 : 0; }
// One layer in one direction. Rows are those of one time after the other; shorter sequences end first.
struct RecurrentShape {
  RecurrentCell cell;
  bool reverse;  // from the last time to the first
  std::int64_t times;
  const std::int64_t* sizes;  // rows of each time, descending from the batch; null: all have the batch's
};

struct recurrent_kernels {
  // One recurrent layer. Both are null where a back end has no such kernels: the operation composes the steps.
  // x [rows, gates * hidden] is what the input gives to the gates, in torch's order, with biases (gru: bias b apart, of
  // what h gives; else b is absent). h0, and c0 of an lstm, [batch, hidden]; w [gates * hidden, hidden]. y [rows,
  // hidden]; last [1 (lstm: 2), batch, hidden]: h and c after each sequence. kept [kept_of(cell), rows, hidden], of the
  // accumulating dtype: absent where no gradient follows. All contiguous, of one floating dtype.
  NEURA_KERNEL(recurrent, forward,
               void(Context&, View x, View h0, View c0, View w, View b, const RecurrentShape&, View y, View last,
                    View kept));
  // gy and glast may be absent. gx like x; gh like x for a gru alone, whose gates get another gradient from h; gfirst
  // like last.
  NEURA_KERNEL(recurrent, backward,
               void(Context&, View gy, View glast, View h0, View c0, View w, View y, View kept, const RecurrentShape&,
                    View gx, View gh, View gfirst));
};

}  // namespace neura
