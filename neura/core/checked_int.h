// Arithmetic on sizes and counts that a user gives: a result that overflows 64 bits, or exceeds the machine's memory,
// is an error that names the operation.
#pragma once
#include <cstddef>
#include <cstdint>

namespace neura {

// An integer that remembers whether it overflowed: of("tile") returns its value, or throws ValueError.
class CheckedInt {
 public:
  constexpr CheckedInt(std::int64_t value) : value_(value) {}
  friend constexpr CheckedInt operator+(CheckedInt a, CheckedInt b) {
    return {__builtin_add_overflow(a.value_, b.value_, &a.value_), a, b};
  }
  friend constexpr CheckedInt operator-(CheckedInt a, CheckedInt b) {
    return {__builtin_sub_overflow(a.value_, b.value_, &a.value_), a, b};
  }
  friend constexpr CheckedInt operator*(CheckedInt a, CheckedInt b) {
    return {__builtin_mul_overflow(a.value_, b.value_, &a.value_), a, b};
  }
  constexpr bool fits() const { return fits_; }
  std::int64_t of(const char* op) const;

 private:
  constexpr CheckedInt(bool left, CheckedInt a, CheckedInt b) : value_(a.value_), fits_(!left && a.fits_ && b.fits_) {}
  std::int64_t value_;
  bool fits_ = true;
};

// About what one tensor of a list takes, besides its bytes.
inline constexpr std::size_t kTensorBytes = 256;
// OutOfMemoryError where `count` items of so many bytes are more than the machine, or the process's limit, has: asked
// before a list is filled, which would take long to fail.
void check_room(const char* op, std::int64_t count, std::size_t bytes_each);

}  // namespace neura
