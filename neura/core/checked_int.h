// Sizes and counts that a user gives, before they are computed with: what leaves 64 bits, or the memory of the machine,
// is refused with the name of the operation.
#pragma once
#include <cstddef>
#include <cstdint>

namespace neura {

// A whole number that remembers whether it left 64 bits: of("tile") gives it back, or ValueError.
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

// What a list of tensors takes for each of them, its own list apart.
inline constexpr std::size_t kTensorBytes = 256;
// OutOfMemoryError where `count` items of so many bytes are more than the machine, or the process's limit, has: asked
// before a list is filled, which would take long to fail.
void check_room(const char* op, std::int64_t count, std::size_t bytes_each);

}  // namespace neura
