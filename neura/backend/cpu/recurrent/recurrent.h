// Recurrent layers on the cpu: the steps that each instruction set compiles.
#pragma once
#include "neura/backend/kernels/recurrent.h"

namespace neura {

// One time step for a block of rows and units, after its matrix products. All pointers are at the block's first row and
// unit. Row strides: x gates * hidden, sums as given by sums_row, all others hidden.
template <class T> struct CellForward {
  std::int64_t rows, units, hidden;
  const T* sums;  // h times its weights, plus what is added to it; gates are sums_gate apart
  std::int64_t sums_row, sums_gate;
  const T* x;  // for a gru, whose sums do not include it
  T *h, *c;    // the states: read of the step before, overwritten by this one's
  T *y, *kept;
  std::int64_t slot;  // distance in `kept` between the values kept of one unit; kept may be null
};
template <class T> struct CellBackward {
  std::int64_t rows, units, hidden;
  const T *gy, *y;        // gy may be null
  const T *h, *c, *kept;  // states of the step before
  std::int64_t slot;
  T* dh;  // gradient of h without gy; a gru leaves in it the part that passes no product
  T* dc;  // gradient of c, replaced by that of the c before
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
