// The real Schur form of a Hessenberg matrix.
#pragma once
#include "neura/backend/cpu/linalg/blocked.h"
#include "neura/backend/cpu/linalg/lapack_schur.h"

namespace neura::blocked {

// Eigenvalues re + i im [n] of p.h within r; if p.whole, h becomes quasi-triangular, and p.z is multiplied by what
// makes it so. 0, or LAPACK's info: how many are not found.
template <class T> int schur(Context& c, const lapack::SchurRoutines<T>& l,
                             const typename lapack::SchurRoutines<T>::Problem& p,
                             typename lapack::SchurRoutines<T>::Range r, T* re, T* im);

}  // namespace neura::blocked
