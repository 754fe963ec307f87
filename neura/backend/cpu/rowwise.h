// A tensor as rows, for the kernels of softmax, normalisation and losses. A kernel's inner loop sees contiguous float
// or double; rows that are strided, broadcast or of another dtype pass through a buffer that stays in the cache.
//
//   Rows          which elements form row i: along an axis or the last dimensions, or pieces of a contiguous tensor
//   Blocks        the rows cut for threads, in the same places for any number of them; each may have partial sums
//   Slots         which of the scratch buffers a running thread has
//   RowAccess<T>  row i as contiguous T, in place where it is that already, else by the buffer of the thread's slot
//
//   blocks.run([&](Blocks::Block b, std::int64_t row, std::int64_t end) {
//     for (; row < end; ++row) f(x.read(b, row), y.target(b, row)), y.written(b, row);
//   });
#pragma once
#include <algorithm>
#include <atomic>

#include "neura/backend/backend.h"
#include "neura/backend/cpu/streaming_store.h"
#include "neura/core/parallel.h"

namespace neura {

struct Rows {
  char* base = nullptr;
  DType dtype = DType::float32;
  int rank = 0;
  std::int64_t count = 1, length = 1, stride = 0;  // strides in bytes
  std::int64_t sizes[kMaxRank], strides[kMaxRank];

  // Along one axis; the other dimensions in their order number the rows.
  Rows(const View& v, int axis) : base(v.data), dtype(v.dtype()) {
    if (v.rank()) length = v.size(axis), stride = v.stride(axis) * size_of(dtype);
    for (int d = 0; d < v.rank(); ++d)
      if (d != axis) add(v.size(d), v.stride(d) * size_of(dtype));
  }
  // Along all dimensions from `first` on, which must be mergeable into one (those of a contiguous tensor are).
  static Rows from(const View& v, int first) {
    Rows r;
    r.base = v.data, r.dtype = v.dtype();
    for (int d = 0; d < first; ++d) r.add(v.size(d), v.stride(d) * size_of(r.dtype));
    r.stride = size_of(r.dtype);
    for (int d = v.rank() - 1; d >= first; --d) r.length *= v.size(d);
    for (int d = v.rank() - 1; d >= first; --d)
      if (v.size(d) != 1) {
        r.stride = v.stride(d) * size_of(r.dtype);
        break;
      }
    return r;
  }

  // A contiguous tensor cut into pieces; the last one may be shorter.
  static Rows pieces(const View& v, std::int64_t size) {
    Rows r;
    r.base = v.data, r.dtype = v.dtype(), r.length = size, r.stride = size_of(r.dtype);
    r.add((v.numel() + size - 1) / size, size * r.stride);
    r.tail = r.count ? v.numel() - (r.count - 1) * size : 0;
    return r;
  }
  std::int64_t length_of(std::int64_t row) const { return tail && row + 1 == count ? tail : length; }

  char* at(std::int64_t row) const {
    std::int64_t offset = 0;
    for (int d = rank; d-- > 1; row /= sizes[d]) offset += row % sizes[d] * strides[d];
    return base + offset + (rank ? row * strides[0] : 0);
  }

 private:
  std::int64_t tail = 0;  // elements of the last row, where it is shorter
  Rows() = default;
  void add(std::int64_t size, std::int64_t step) {
    count *= size;
    if (size == 1) return;
    if (rank && strides[rank - 1] == size * step) sizes[rank - 1] *= size, strides[rank - 1] = step;
    else sizes[rank] = size, strides[rank] = step, ++rank;
  }
};

// One buffer per thread that runs: lowest free number first, so that buffers stay in the cache.
class Slots {
 public:
  const int count = std::min(get_num_threads(), 64);
  int take() {
    for (std::uint64_t used = used_.load(std::memory_order_relaxed);;) {
      const int slot = std::min(__builtin_ctzll(~used | std::uint64_t{1} << 63), 63);
      if (slot >= count || used >> slot & 1) used = used_.load(std::memory_order_relaxed);
      else if (used_.compare_exchange_weak(used, used | std::uint64_t{1} << slot, std::memory_order_acquire))
        return slot;
    }
  }
  void give(int slot) { used_.fetch_and(~(std::uint64_t{1} << slot), std::memory_order_release); }

 private:
  std::atomic<std::uint64_t> used_{0};
};

// Rows cut into blocks, the same for any number of threads: a block may have its own partial sums.
struct Blocks {
  std::int64_t rows, each, count;
  mutable Slots slots;
  Blocks(std::int64_t n, std::int64_t work_of_a_row, std::int64_t most = 64) : rows(n) {
    const std::int64_t wanted = n * std::max<std::int64_t>(work_of_a_row, 1) / kSerial + 1;
    each = std::max<std::int64_t>((n + std::min(wanted, most) - 1) / std::min(wanted, most), 1);
    count = (n + each - 1) / each;
  }
  struct Block {
    std::int64_t index;  // of the partial sums
    int slot;            // of the buffers
  };
  // f(block, first row, end)
  template <class F> void run(F&& f) const {
    parallel_for(count, 1, [&](std::int64_t b, std::int64_t e) {
      const int slot = slots.take();
      for (; b < e; ++b) f(Block{b, slot}, b * each, std::min(rows, (b + 1) * each));
      stream_done();
      slots.give(slot);
    });
  }
};

// One operand's rows, read or written as T through a buffer of each thread. A large result (streamed) is written past
// the caches.
enum class StoreMode { ordinary, streamed };
template <class T> class RowAccess {
 public:
  RowAccess(Context& c, const Rows& rows, const Blocks& blocks, StoreMode large = StoreMode::ordinary)
      : rows_(rows), direct_(rows.dtype == dtype && rows.stride == std::int64_t(sizeof(T))) {
    if (rows.length <= 1 && rows.dtype == dtype) direct_ = true;
    const std::int64_t size = rows.length * std::int64_t(sizeof(T));
    stream_ =
        direct_ && large == StoreMode::streamed && rows.count * size >= kStreamFrom && size >= 512 && size <= 16384;
    if ((direct_ && !stream_) || !rows.base) return;
    padded_ = (rows.length + 15) / 16 * 16;
    buffer_ = c.scratch_of<T>(padded_ * blocks.slots.count);
    in_ = c.backend.convert->pair[int(rows.dtype)][int(dtype)];
    out_ = c.backend.convert->pair[int(dtype)][int(rows.dtype)];
  }
  const T* read(Blocks::Block block, std::int64_t row) const {
    if (direct_) return reinterpret_cast<const T*>(rows_.at(row));
    T* to = buffer_ + block.slot * padded_;
    in_(rows_.at(row), rows_.stride, reinterpret_cast<char*>(to), sizeof(T), std::size_t(rows_.length_of(row)));
    return to;
  }
  T* target(Blocks::Block block, std::int64_t row) const {
    return direct_ && !stream_ ? reinterpret_cast<T*>(rows_.at(row)) : buffer_ + block.slot * padded_;
  }
  // `read`: what the next row will be made of.
  void written(Blocks::Block block, std::int64_t row, std::initializer_list<const RowAccess*> read = {}) const {
    if (stream_) {
      const char* next[4];
      int count = 0;
      for (const RowAccess* r : read)
        if (r->direct_) next[count++] = r->rows_.at(row + 1);
      stream_copy(rows_.at(row), reinterpret_cast<const char*>(buffer_ + block.slot * padded_),
                  std::size_t(rows_.length_of(row)) * sizeof(T), next, count);
    } else if (!direct_)
      out_(reinterpret_cast<const char*>(buffer_ + block.slot * padded_), sizeof(T), rows_.at(row), rows_.stride,
           std::size_t(rows_.length_of(row)));
  }

 private:
  static constexpr DType dtype = sizeof(T) == 4 ? DType::float32 : DType::float64;
  Rows rows_;
  bool direct_, stream_ = false;
  std::int64_t padded_ = 0;
  T* buffer_ = nullptr;
  ConvertFn *in_ = nullptr, *out_ = nullptr;
};

// All elements of a small operand (a weight, statistics) in order, as T: itself, or a converted copy; null if absent.
template <class T> const T* flat(Context& c, const View& v) {
  if (!v) return nullptr;
  const DType to = sizeof(T) == 4 ? DType::float32 : DType::float64;
  if (v.dtype() == to && v.spec->contiguous) return v.as<T>();
  T* copy = c.scratch_of<T>(v.numel());
  const Rows rows(v, v.rank() - 1);
  for (std::int64_t r = 0; r < rows.count && rows.length; ++r)
    c.backend.convert->pair[int(v.dtype())][int(to)](
        rows.at(r), rows.stride, reinterpret_cast<char*>(copy + r * rows.length), sizeof(T), std::size_t(rows.length));
  return copy;
}
// The same for a small result: flat_target() is where to write it as T, flat_written() converts it into the tensor,
// which is contiguous and of any floating dtype.
template <class T> T* flat_target(Context& c, const View& v) {
  const DType from = sizeof(T) == 4 ? DType::float32 : DType::float64;
  return !v || v.dtype() == from ? v.as<T>() : c.scratch_of<T>(v.numel());
}
template <class T> void flat_written(Context& c, const View& v, const T* values) {
  const DType from = sizeof(T) == 4 ? DType::float32 : DType::float64;
  if (v && v.dtype() != from)
    c.backend.convert->pair[int(from)][int(v.dtype())](reinterpret_cast<const char*>(values), sizeof(T), v.data,
                                                       size_of(v.dtype()), std::size_t(v.numel()));
}

}  // namespace neura
