// Recurrences on the cpu: their entries, and what an instruction set provides for them.
#pragma once
#include "neura/backend/kernels/matmul.h"

namespace neura {

void cpu_recurrence(Context&, View x, View h0, View c0, View w, View b, const Recurrence&, View y, View last,
                    View kept);
void cpu_recurrence_backward(Context&, View gy, View glast, View h0, View c0, View w, View y, View kept,
                             const Recurrence&, View gx, View gh, View gfirst);

// A step of some rows and units, whose products are there. Rows of x are gates * hidden apart, of sums as said, all
// others hidden; units and rows of each are those of the step from its first on.
template <class T> struct CellForward {
  std::int64_t rows, units, hidden;
  const T* sums;  // of h and of what is added to it, gate after gate
  std::int64_t sums_row, sums_gate;
  const T* x;  // of a gru, whose sums are without it
  T *h, *c;    // the states: of the step before, then of this one
  T *y, *kept;
  std::int64_t slot;  // of `kept`: from one of its kinds to the next; kept may be null
};
template <class T> struct CellBackward {
  std::int64_t rows, units, hidden;
  const T *gy, *y;        // gy may be null
  const T *h, *c, *kept;  // states of the step before
  std::int64_t slot;
  T* dh;  // of the state, without gy; a gru leaves what goes on without the product
  T* dc;  // of the state, then of the one before
  T *gx, *gh;
};
template <class T> struct CellLines {  // by RecurrentCell
  void (*forward[4])(const CellForward<T>&);
  void (*backward[4])(const CellBackward<T>&);
};
struct CellTable {
  CellLines<float> singles;
  CellLines<double> doubles;
};
const CellTable& cell_table();
template <class T> const CellLines<T>& cell_lines() {
  if constexpr (sizeof(T) == 4) return cell_table().singles;
  else return cell_table().doubles;
}

}  // namespace neura
