// The operations beneath the functions of index.h.
#pragma once
#include "neura/backend/kernels/index.h"
#include "neura/op/apply.h"
#include "neura/op/safe.h"

namespace neura {

struct IndexSelect {
  static constexpr Operation op = operation("index_select").linear().saves(0, in(1));
  int dim;
  NEURA_FIELDS(dim)
  bool is_safe(const Spec& x, const Spec& index) const {
    return safe::contiguous(x, index) && safe::has_dim(x, dim) && index.dtype == DType::int64;
  }
  void infer(const Spec& x, const Spec& index, Spec& out) const;
  void run(Context& c, View x, View index, View out) const { c.backend.index->select(c, x, index, out, dim); }
  void gradient(Gradient&) const;
};

struct Gather {
  static constexpr Operation op = operation("gather").linear().saves(0, in(1));
  int dim;
  NEURA_FIELDS(dim)
  bool is_safe(const Spec& x, const Spec& index) const {
    return safe::contiguous(x, index) && safe::has_dim(x, dim) && index.dtype == DType::int64;
  }
  void infer(const Spec& x, const Spec& index, Spec& out) const;
  void run(Context& c, View x, View index, View out) const { c.backend.index->gather(c, x, index, out, dim); }
  void gradient(Gradient&) const;
};

NEURA_FIELDS_OF(ScatterReduce, mode, include_self)

// Writes into x along `dim`, at a vector of indices or, `grid`, at one index per element. An absent x is zeros of
// `size`.
struct WriteAttributes {
  int dim;
  ScatterReduce put;
  bool grid;
  Shape size;
  NEURA_FIELDS(dim, put, grid, size)
  NEURA_OPERANDS(input, index, source)
  static constexpr Operation operation_of(const char* name, bool reduces) {
    const ValueSet read = reduces ? in(In::input, In::index, In::source) | out(0) : in(In::index);
    return operation(name).optional(in(In::input)).direct().saves(In::input, read).saves(In::source, read);
  }
  void check(const char* op, const Spec& x, const Spec& index, const Spec& source, Spec& out) const;
  void write(Context&, View x, View index, View source, View out) const;
  void gradient(Gradient&) const;
};

// The last three are made of these writes, and are named as they were called.
#define NEURA_WRITES(WRITE) \
  WRITE(index_add)          \
  WRITE(index_copy)         \
  WRITE(index_fill)         \
  WRITE(index_reduce)       \
  WRITE(scatter)            \
  WRITE(scatter_add)        \
  WRITE(scatter_reduce)     \
  WRITE(put)                \
  WRITE(masked_scatter)     \
  WRITE(index_put)
#define WRITE(name) name,
enum class Write { NEURA_WRITES(WRITE) };
#undef WRITE
#define WRITE(name) #name,
inline constexpr const char* kWriteNames[] = {NEURA_WRITES(WRITE)};
#undef WRITE
#undef NEURA_WRITES

template <Write w> struct IndexWrite : WriteAttributes {
  static constexpr Operation op =
      operation_of(kWriteNames[int(w)], w == Write::index_reduce || w == Write::scatter_reduce);
  void infer(const Spec& x, const Spec& index, const Spec& source, Spec& out) const {
    check(op.name, x, index, source, out);
  }
  void run(Context& c, View x, View index, View source, View out) const { write(c, x, index, source, out); }
  void gradient(Gradient& g) const { WriteAttributes::gradient(g); }
};

// True of a write that sets or adds: its result is linear in input and source together.
bool is_linear_write(const Row&, const void* operation);
// Along `dim` of target, which may be a view of what the caller was given, in place, as put_, masked_scatter_ or
// index_put_.
Tensor& write_as(Write name, Tensor& target, int dim, const Tensor& index, const Tensor& source, bool accumulate);
// The same writes as functions: base (or, undefined, zeros of size) and what is written.
Tensor write_at(const WriteAttributes&, const Tensor& base, const Tensor& index, const Tensor& source);
void reduce_gradient(const WriteAttributes&, Gradient&);  // prod, mean, amax, amin

}  // namespace neura
