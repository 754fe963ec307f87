// LAPACK's routines as functions of one dtype.
#pragma once
#include "neura/backend/cpu/linalg/lapack.h"

namespace neura::lapack {

// The routines of one dtype. Matrices are column-major and without gaps; each call gives LAPACK's info. What begins
// with `workspace_` says how many elements of work an equal call needs.
template <class T> class Routines {
 public:
  using R = real_t<T>;
  explicit Routines(const Library& l)
      : wide(l.wide), alone_(l.alone), f_(l.routine[(is_complex_v<T> ? 2 : 0) + (std::is_same_v<R, double> ? 1 : 0)]) {}

  int getrf(Int m, Int n, T* a, Int* pivots) const { return call(lapack::getrf, &m, &n, a, of(m), pivots); }
  int getrs(Int n, Int k, const T* lu, const Int* pivots, T* b) const {
    return call_chars<1>(lapack::getrs, "N", &n, &k, lu, of(n), pivots, b, of(n));
  }
  Int workspace_getri(Int n) const {
    T size{};
    Int ask = -1;
    call(lapack::getri, &n, &size, of(n), &ask, &size, &ask);
    return room(size, n);
  }
  int getri(Int n, T* lu, const Int* pivots, T* work, Int size) const {
    return call(lapack::getri, &n, lu, of(n), pivots, work, &size);
  }
  int potrf(const char* triangle, Int n, T* a) const { return call_chars<1>(lapack::potrf, triangle, &n, a, of(n)); }
  // x of x op(a) = b over b; m rows of b, a [n, n]
  void trsm_right(const char* triangle, const char* diagonal, Int m, Int n, const T* a, T* b) const {
    const T one = 1;
    const Turn turn = take_turn();
    using F = void (*)(const char*, const char*, const char*, const char*, const Int*, const Int*, const T*, const T*,
                       const Int*, T*, const Int*, std::size_t, std::size_t, std::size_t, std::size_t);
    reinterpret_cast<F>(f_[lapack::trsm])("R", triangle, "N", diagonal, &m, &n, &one, a, of(n), b, of(m), 1, 1, 1, 1);
  }
  Int workspace_geqrf(Int m, Int n) const {
    T size{};
    Int ask = -1;
    call(lapack::geqrf, &m, &n, &size, of(m), &size, &size, &ask);
    return room(size, n);
  }
  int geqrf(Int m, Int n, T* a, T* tau, T* work, Int size) const {
    return call(lapack::geqrf, &m, &n, a, of(m), tau, work, &size);
  }
  Int workspace_orgqr(Int m, Int n, Int k) const {
    T size{};
    Int ask = -1;
    call(lapack::orgqr, &m, &n, &k, &size, of(m), &size, &size, &ask);
    return room(size, n);
  }
  int orgqr(Int m, Int n, Int k, T* a, const T* tau, T* work, Int size) const {
    return call(lapack::orgqr, &m, &n, &k, a, of(m), tau, work, &size);
  }

  struct WorkspaceSizes {
    Int work, reals, integers;
  };
  WorkspaceSizes workspace_syevd(const char* job, Int n) const {
    T work{};
    R reals{};
    Int integers = 0, ask = -1;
    syevd(job, "U", n, &work, &reals, &work, ask, &reals, ask, &integers, ask);
    return {room(work, n), is_complex_v<T> ? room(reals, n) : 0, std::max<Int>(read(integers), 1)};
  }
  int syevd(const char* job, const char* triangle, Int n, T* a, R* w, T* work, Int size, R* reals, Int reals_size,
            Int* integers, Int integers_size) const {
    if constexpr (is_complex_v<T>)
      return call_chars<2>(lapack::syevd, job, triangle, &n, a, of(n), w, work, &size, reals, &reals_size, integers,
                           &integers_size);
    else return call_chars<2>(lapack::syevd, job, triangle, &n, a, of(n), w, work, &size, integers, &integers_size);
  }
  // Eigenvalues d of the tridiagonal matrix of diagonal d [n] and e [n - 1]; with z [n, n] also its vectors, by
  // columns.
  int sterf(Int n, T* d, T* e) const { return call(lapack::sterf, &n, d, e); }
  WorkspaceSizes workspace_stedc(Int n) const {
    T work{};
    Int integers = 0, ask = -1;
    stedc(n, &work, &work, &work, n, &work, ask, &integers, ask);
    return {room(work, n), 0, std::max<Int>(read(integers), 1)};
  }
  int stedc(Int n, T* d, T* e, T* z, Int column, T* work, Int size, Int* integers, Int integers_size) const {
    return call_chars<1>(lapack::stedc, "I", &n, d, e, z, of(column), work, &size, integers, &integers_size);
  }
  // Root i, from 0, of 1 + rho sum z^2 / (d - x); distances [n] of d from it, from which its vector is made.
  int laed4(Int n, Int i, const T* d, const T* z, T* distances, T rho, T* x) const {
    ++i;
    return call(lapack::laed4, &n, &i, d, z, distances, &rho, x);
  }
  // Singular values d, descending, of the bidiagonal matrix of diagonal d [n] and e [n - 1] above it; with u and vt
  // [n, n], whose columns are `column` elements apart, also its vectors. work: 3 n^2 + 4 n elements, or 4 n without
  // vectors; integers: 8 n.
  int bdsdc(Int n, T* d, T* e, T* u, T* vt, Int column, T* work, Int* integers) const {
    T unread{};
    Int none = 0;
    return call_chars<2>(lapack::bdsdc, "U", u ? "I" : "N", &n, d, e, u ? u : &unread, of(column), vt ? vt : &unread,
                         of(column), &unread, &none, work, integers);
  }
  WorkspaceSizes workspace_gesdd(const char* job, Int m, Int n) const {
    const Int k = std::min(m, n), most = std::max(m, n);
    T work{};
    R s{};
    Int integers = 0;
    gesdd(job, m, n, &work, &s, &work, &work, &work, -1, &s, &integers);
    return {room(work, k), is_complex_v<T> ? std::max(5 * k * k + 5 * k, 2 * most * k + 2 * k * k + k) + 7 * k + 1 : 0,
            8 * k + 1};
  }
  int gesdd(const char* job, Int m, Int n, T* a, R* s, T* u, T* vt, T* work, Int size, R* reals, Int* integers) const {
    const Int rows = std::max<Int>(*job == 'A' ? n : std::min(m, n), 1);
    if constexpr (is_complex_v<T>)
      return call_chars<1>(lapack::gesdd, job, &m, &n, a, of(m), s, u, of(m), vt, &rows, work, &size, reals, integers);
    else return call_chars<1>(lapack::gesdd, job, &m, &n, a, of(m), s, u, of(m), vt, &rows, work, &size, integers);
  }
  Int workspace_geev(const char* job, Int n) const {
    T work{}, v{};
    R reals{};
    geev(job, n, &work, &v, &v, &v, &work, -1, &reals);
    return room(work, 4 * n);
  }
  // w: of real numbers the real parts, and after them the imaginary ones in `imaginary`; v: right eigenvectors
  int geev(const char* job, Int n, T* a, T* w, [[maybe_unused]] T* imaginary, T* v, T* work, Int size,
           [[maybe_unused]] R* reals) const {
    T unread{};
    if constexpr (is_complex_v<T>)
      return call_chars<2>(lapack::geev, "N", job, &n, a, of(n), w, &unread, of(1), v, of(n), work, &size, reals);
    else
      return call_chars<2>(lapack::geev, "N", job, &n, a, of(n), w, imaginary, &unread, of(1), v, of(n), work, &size);
  }
  Int workspace_sytrf(bool hermitian, Int n) const {
    T size{};
    Int pivot = 0;
    sytrf(hermitian, n, &size, &pivot, &size, -1);
    return room(size, n);
  }
  int sytrf(bool hermitian, Int n, T* a, Int* pivots, T* work, Int size) const {
    const Routine r = hermitian && is_complex_v<T> ? lapack::hetrf : lapack::sytrf;
    return call_chars<1>(r, "L", &n, a, of(n), pivots, work, &size);
  }
  int sytrs(bool hermitian, Int n, Int k, const T* ld, const Int* pivots, T* b) const {
    const Routine r = hermitian && is_complex_v<T> ? lapack::hetrs : lapack::sytrs;
    return call_chars<1>(r, "L", &n, &k, ld, of(n), pivots, b, of(n));
  }

  const bool wide;

 protected:
  struct Leading {  // the distance of columns, at least 1; lives until the call ends
    Int value;
    operator const Int*() const { return &value; }
  };
  static Leading of(Int rows) { return {std::max<Int>(rows, 1)}; }
  template <class X> static Int room(X size, Int least) {
    // a float rounds a large size, maybe down
    const double asked = double(std::real(size));
    return std::max<Int>({Int(asked + asked * 1e-6), least, 1});
  }
  template <class... A> int call(Routine r, const A&... a) const { return call_chars<0>(r, a...); }
  // With the lengths of `characters` texts at the end, as Fortran passes them.
  template <int characters, class... A> int call_chars(Routine r, const A&... a) const {
    return invoke<characters>(r, pointer(a)...);
  }
  static const Int* pointer(const Leading& l) { return &l.value; }
  template <class A> static A* pointer(A* a) { return a; }
  template <int characters, class... P> int invoke(Routine r, P... p) const {
    Int info = 0;
    const Turn turn = take_turn();
    if constexpr (characters == 0) reinterpret_cast<void (*)(P..., Int*)>(f_[r])(p..., &info);
    else if constexpr (characters == 1) reinterpret_cast<void (*)(P..., Int*, std::size_t)>(f_[r])(p..., &info, 1);
    else reinterpret_cast<void (*)(P..., Int*, std::size_t, std::size_t)>(f_[r])(p..., &info, 1, 1);
    return read(info);
  }
  using Turn = std::unique_lock<std::mutex>;
  Turn take_turn() const { return alone_ ? Turn(lock_of_library()) : Turn(); }
  const bool alone_;
  void* const* f_;
};

}  // namespace neura::lapack
