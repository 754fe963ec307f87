// An intrusive reference. T has `count` (atomic, starts at one) and a static `destroy`.
#pragma once
#include <atomic>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace neura {

template <class T> class Ref {
 public:
  constexpr Ref() = default;
  static Ref adopt(T* p) {
    Ref r;
    r.p_ = p;
    return r;
  }
  static Ref share(T* p) {
    if (p) p->count.fetch_add(1, std::memory_order_relaxed);
    return adopt(p);
  }
  Ref(const Ref& o) : Ref(share(o.p_)) {}
  Ref(Ref&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  template <class U>
  requires std::is_convertible_v<U*, T*> Ref(const Ref<U>& o) : Ref(share(o.get())) {}
  Ref& operator=(Ref o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~Ref() { drop(p_); }

  // The last owner sees a count of one and needs no atomic read-modify-write (2 ns each, more when shared).
  static void drop(T* p) {
    if (!p) return;
    if (p->count.load(std::memory_order_acquire) != 1) {
      if (p->count.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
      if constexpr (requires { T::dies_counted; }) p->count.fetch_add(1, std::memory_order_relaxed);
    }
    T::destroy(p);
  }
  T* get() const { return p_; }
  T* operator->() const { return p_; }
  T& operator*() const { return *p_; }
  T* leave() { return std::exchange(p_, nullptr); }
  explicit operator bool() const { return p_; }

 private:
  T* p_ = nullptr;
};

template <class T> class RelaxedAtomic {  // costs what a plain variable costs, and two threads at it are no data race
 public:
  RelaxedAtomic(T v) : v_(v) {}
  operator T() const { return v_.load(std::memory_order_relaxed); }
  T operator=(T v) {
    v_.store(v, std::memory_order_relaxed);
    return v;
  }
  // For a value that says that others are there to be read: an acquire of it sees what was written before it was
  // published.
  T acquire() const { return v_.load(std::memory_order_acquire); }
  void publish(T v) { v_.store(v, std::memory_order_release); }

 private:
  std::atomic<T> v_;
};

}  // namespace neura
