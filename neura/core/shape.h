// A list of sizes, strides or dimensions: at most kMaxRank numbers, held inline.
#pragma once
#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace neura {

inline constexpr int kMaxRank = 8;

class Shape {
 public:
  constexpr Shape() = default;
  constexpr Shape(std::initializer_list<std::int64_t> l) : Shape(l.begin(), l.size()) {}
  constexpr Shape(std::span<const std::int64_t> s) : Shape(s.data(), s.size()) {}
  constexpr Shape(const std::int64_t* p, std::size_t n) {
    if (n > std::size_t(kMaxRank)) too_long(n);
    size_ = std::uint8_t(n);
    std::copy(p, p + n, v_);
  }
  static constexpr Shape filled(int n, std::int64_t value) {
    Shape s;
    for (int i = 0; i < n; ++i) s.push_back(value);
    return s;
  }

  constexpr int size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr std::int64_t& operator[](int i) { return v_[i]; }
  constexpr std::int64_t operator[](int i) const { return v_[i]; }
  constexpr std::int64_t& back() { return v_[size_ - 1]; }
  constexpr std::int64_t back() const { return v_[size_ - 1]; }
  constexpr const std::int64_t* data() const { return v_; }
  constexpr std::int64_t* begin() { return v_; }
  constexpr std::int64_t* end() { return v_ + size_; }
  constexpr const std::int64_t* begin() const { return v_; }
  constexpr const std::int64_t* end() const { return v_ + size_; }
  constexpr operator std::span<const std::int64_t>() const { return {v_, size_}; }
  constexpr void push_back(std::int64_t x) {
    if (size_ == kMaxRank) too_long(kMaxRank + 1);
    v_[size_++] = x;
  }
  constexpr void insert(int at, std::int64_t x) {
    push_back(x);
    std::rotate(v_ + at, v_ + size_ - 1, v_ + size_);
  }
  constexpr void erase(int at) {
    std::copy(v_ + at + 1, v_ + size_, v_ + at);
    --size_;
  }
  constexpr std::int64_t numel() const {
    std::int64_t n = 1;
    for (std::int64_t s : *this) n *= s;
    return n;
  }
  constexpr bool contains(std::int64_t x) const { return std::find(begin(), end(), x) != end(); }
  std::string str() const;  // [2, 3]
  friend constexpr bool operator==(const Shape& a, const Shape& b) {
    return a.size_ == b.size_ && std::equal(a.begin(), a.end(), b.begin());
  }

 private:
  [[noreturn]] static void too_long(std::size_t n);  // ShapeError
  std::int64_t v_[kMaxRank] = {};
  std::uint8_t size_ = 0;
};

// "[2, 3]" of any sizes.
std::string str(std::span<const std::int64_t> sizes);
// Row-major strides of a contiguous tensor.
Shape calculate_strides(const Shape& shape);
// A dimension counted from the back becomes one from the front; IndexError with the operation's name outside [-rank,
// rank).
int wrap_dim(const char* op, std::int64_t dim, int rank);
// The shape in which both broadcast. ShapeError with the operation's name where they do not.
Shape broadcast_shapes(const char* op, const Shape& a, const Shape& b);

}  // namespace neura
