// What writing by index is about, whether the index is a vector (write) or has a number for each element (scatter).
#pragma once
#include "neura/backend/cuda/index/index.cuh"

namespace neura::cuda {

// Dimensions with one index for all their coordinates are columns; the others are keyed: an index and a place for each
// of their elements. Steps in bytes; out's leave out the dimension that is indexed.
struct Places {
  Walk<4> all;      // index, source, out, number among the keyed
  Walk<5> keyed;    // index, source, out, first of the places that it chooses from, coordinate along the dimension
  Walk<2> columns;  // source, out
  IndexOperand indices;
  std::int64_t depth, dim_step;  // indices along the dimension, and their step
  std::int64_t bound, step;      // places along it, and their step in out
  std::int64_t count = 0;        // of places

  Places(const View& out, const View& index, const View& source, int dim, bool grid);
};

bool adds_in_any_order(const Places&, DType,
                       ScatterReduce);  // may atomic additions do it, and are they the faster way?
void add_in_any_order(Context&, const Places&, const View& out, const View& source);
// out[place] = what is written there, one after the other; any mode but copy.
void combine(Context&, const Places&, const View& out, const View& source, ScatterReduce);

}  // namespace neura::cuda
