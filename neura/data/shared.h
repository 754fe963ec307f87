// Shared memory, in which a worker process passes batches to its parent without a copy through a pipe.
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "neura/core/ref.h"
#include "neura/core/tensor.h"

namespace neura::data {

struct Mapping;
struct Stack;

// Blocks whose last tensor has gone, for the worker that fills them again. Without locks: tensors are let go in any
// thread, and in forked children.
class Returns {
 public:
  Returns();
  Returns(const Returns&) = delete;
  ~Returns();
  // Each block's number, and whether it may be filled again: a child that was forked while tensors were in it may still
  // read them.
  std::vector<std::pair<std::int64_t, bool>> take();

 private:
  friend class SharedBlock;
  Ref<Stack> stack_;
};

// Bytes in an anonymous file, which is gone with the last process that has it, however that ends. Tensors in a block
// keep its memory alive by themselves.
class SharedBlock {
 public:
  SharedBlock(SharedBlock&&) noexcept;
  ~SharedBlock();
  static SharedBlock create(std::size_t bytes);  // OutOfMemoryError, IoError
  // Maps the file of another process, takes it over and closes it. Tells `returns` the number whenever the last tensor
  // of the block goes.
  static SharedBlock open(int file, const Returns& returns, std::int64_t number);
  static SharedBlock local(std::size_t bytes);  // memory of this process alone

  std::size_t size() const;
  int file() const;         // -1: closed, or local
  void close_file() const;  // the memory stays
  bool idle() const;        // no tensor is in it
  // A contiguous tensor over the bytes from `offset` on, which are left as they are. ValueError if it would end
  // outside.
  Tensor tensor(std::size_t offset, DType, const Shape&) const;
  std::int64_t offset_of(const Tensor&) const;  // that tensor() would take, of a tensor of this block; else -1

  static constexpr std::size_t kAlign = 64;  // of offsets

 private:
  explicit SharedBlock(Ref<Mapping>);
  Ref<Mapping> mapping_;
};

}  // namespace neura::data
