// LAPACK's routines of the real Schur form, as functions of one dtype. Matrices are column-major, columns `ld` elements
// apart; rows and columns count from 1, as LAPACK's.
#pragma once
#include "neura/backend/cpu/linalg/lapack_routines.h"

namespace neura::lapack {

template <class T> class SchurRoutines : public Routines<T> {
 public:
  using Base = Routines<T>;
  using Base::Base;

  struct Range {  // rows and columns that are not triangular yet
    std::int64_t low = 1, high = 1;
  };
  Range gebal(Int n, T* a, Int ld, T* scale) const {
    Int low = 0, high = 0;
    this->template call_chars<1>(lapack::gebal, "B", &n, a, this->of(ld), &low, &high, scale);
    return {read(low), read(high)};
  }
  void gebak(Int n, Range r, const T* scale, T* v, Int ld) const {
    const Int low = r.low, high = r.high;
    this->template call_chars<2>(lapack::gebak, "B", "R", &n, &low, &high, scale, &n, v, this->of(ld));
  }
  Int workspace_gehrd(Int n) const {  // of orghr, too
    T first{}, second{};
    const Int low = 1, ask = -1;
    this->call(lapack::gehrd, &n, &low, &n, &first, this->of(n), &first, &first, &ask);
    this->call(lapack::orghr, &n, &low, &n, &second, this->of(n), &second, &second, &ask);
    return std::max(this->room(first, n), this->room(second, n));
  }
  void gehrd(Int n, Range r, T* a, Int ld, T* tau, T* work, Int size) const {
    const Int low = r.low, high = r.high;
    this->call(lapack::gehrd, &n, &low, &high, a, this->of(ld), tau, work, &size);
  }
  void orghr(Int n, Range r, T* a, Int ld, const T* tau, T* work, Int size) const {
    const Int low = r.low, high = r.high;
    this->call(lapack::orghr, &n, &low, &high, a, this->of(ld), tau, work, &size);
  }

  struct Problem {  // Hessenberg h; `whole`: all of the Schur form and z are wanted, not only the eigenvalues
    bool whole;
    Int n;
    T* h;
    Int ld;
    T* z;
  };
  int lahqr(const Problem& p, Range r, T* re, T* im) const {
    const Int one = 1, low = r.low, high = r.high, whole = p.whole;
    return this->call(lapack::lahqr, &whole, &whole, &p.n, &low, &high, p.h, this->of(p.ld), re, im, &one, &p.n, p.z,
                      this->of(p.ld));
  }
  struct Deflation {
    std::int64_t shifts, deflated;  // at the end of the range
  };
  Int workspace_laqr3(const Problem& p, Int window) const {
    T size{};
    Int shifts = 0, deflated = 0;
    const Int one = 1, ask = -1, whole = p.whole;
    subroutine(lapack::laqr3, &whole, &whole, &p.n, &one, &p.n, &window, p.h, of_(p.ld), &one, &p.n, p.z, of_(p.ld),
               &shifts, &deflated, &size, &size, &size, of_(p.n), &p.n, &size, of_(p.n), &p.n, &size, of_(p.n), &size,
               &ask);
    return this->room(size, 2 * window);
  }
  // v and u [n, window], t [window, n]
  Deflation laqr3(const Problem& p, Range r, Int window, T* re, T* im, T* v, T* t, T* u, T* work, Int size) const {
    Int shifts = 0, deflated = 0;
    const Int one = 1, low = r.low, high = r.high, whole = p.whole;
    subroutine(lapack::laqr3, &whole, &whole, &p.n, &low, &high, &window, p.h, of_(p.ld), &one, &p.n, p.z, of_(p.ld),
               &shifts, &deflated, re, im, v, of_(p.n), &p.n, t, &window, &p.n, u, of_(p.n), work, &size);
    return {read(shifts), read(deflated)};
  }
  // v [3, shifts / 2], u [3 shifts, 3 shifts], below [n, 3 shifts], beside [3 shifts, n]
  void laqr5(const Problem& p, Range r, Int shifts, T* re, T* im, T* v, T* u, T* below, T* beside) const {
    const Int one = 1, two = 2, three = 3, low = r.low, high = r.high, whole = p.whole, wide = 3 * shifts;
    subroutine(lapack::laqr5, &whole, &whole, &two, &p.n, &low, &high, &shifts, re, im, p.h, of_(p.ld), &one, &p.n, p.z,
               of_(p.ld), v, &three, u, &wide, &p.n, below, of_(p.n), &p.n, beside, &wide);
  }
  int trevc(Int n, const T* t, Int ld, T* v, T* work) const {  // vectors of t itself; work [3 n]
    T unread{};
    Int unused = 0, count = 0;
    const Int one = 1;
    return this->template call_chars<2>(lapack::trevc, "R", "A", &unused, &n, t, this->of(ld), &unread, &one, v,
                                        this->of(ld), &n, &count, work);
  }

 private:
  const Int* of_(const Int& rows) const { return &rows; }
  template <class... P> void subroutine(Routine r, P... p) const {  // without info
    const auto turn = this->take_turn();
    reinterpret_cast<void (*)(P...)>(this->f_[r])(p...);
  }
};

}  // namespace neura::lapack
