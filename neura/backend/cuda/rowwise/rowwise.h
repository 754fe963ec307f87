// Tensors as rows of contiguous elements. Those that are strided otherwise are copied first.
#pragma once
#include <initializer_list>

#include "neura/backend/cuda/pointwise/execute.h"
#include "neura/backend/cuda/runtime/scratch.h"

namespace neura::cuda {

struct RowPlan {  // of one launch
  const char* in[2];
  char* out;
  std::int64_t pitch[2], out_pitch;  // from row to row, in bytes
  Division segment;                  // elements of a piece, and from one to the next in bytes
  std::int64_t segment_pitch;
  std::int64_t rows;
  std::uint32_t n, width;
  std::uint32_t chunk, chunks;  // of a row that several blocks read
  enum Stage : std::uint8_t { both, read, write, given } stage;
  char* partial;  // [rows, chunks]
};

class RowStaging {
 public:
  RowStaging(int index, cudaStream_t stream) : scratch_(index, stream) {}
  // v becomes contiguous, and of that dtype; an absent operand stays absent.
  Failed dense(View& v, DType);
  Failed dense(View& v) { return dense(v, v.dtype()); }
  // Rows of all dimensions from `first` on; their elements are contiguous then, and rows at equal distances.
  Failed plan(std::initializer_list<View*> in, int first, char* out, RowPlan&);

 private:
  Failed copy(View& v, DType);
  Scratch scratch_;
  Spec specs_[8];
  int count_ = 0;
};

}  // namespace neura::cuda
