// The cpu's kernels, called as back ends call them: memory, sizes and strides in, numbers out. No Tensor, no operation.
// tests/backend/families_test.cpp sees to it that every family has a suite <Family>Kernels, made with Kernels<table>,
// and that the suite calls every entry of the table.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstring>
#include <iterator>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "neura/backend/backend.h"
#include "neura/core/parallel.h"

namespace neura::test {

template <class T> inline constexpr DType kTypeOf = DType::float32;
template <> inline constexpr DType kTypeOf<double> = DType::float64;
template <> inline constexpr DType kTypeOf<std::int64_t> = DType::int64;
template <> inline constexpr DType kTypeOf<std::int32_t> = DType::int32;
template <> inline constexpr DType kTypeOf<std::uint8_t> = DType::uint8;
template <> inline constexpr DType kTypeOf<std::int8_t> = DType::int8;
template <> inline constexpr DType kTypeOf<std::complex<float>> = DType::complex64;
template <> inline constexpr DType kTypeOf<std::complex<double>> = DType::complex128;

// Memory of its own, and how it lies there. The default is an absent operand.
template <class T> class Array {
 public:
  Array() = default;
  explicit Array(const Shape& sizes, std::vector<T> values = {})
      : spec_(Spec::dense(kTypeOf<T>, sizes)), memory_(std::move(values)), there_(true) {
    memory_.resize(std::size_t(spec_.numel));
    if (memory_.empty()) memory_.assign(8, T(77));  // no element: nobody may write here
  }
  Array(const Array&) = default;
  Array& operator=(const Array&) = default;
  ~Array() {
    if (there_ && !spec_.numel) EXPECT_EQ(gaps(), std::ssize(memory_)) << "a kernel writes where no element is";
  }
  // The same elements, `strides` apart, the first of them at `first`; all other memory holds `gap`.
  Array laid_out(const Shape& strides, std::int64_t first, std::int64_t room, T gap = T(77)) const {
    Array to;
    to.spec_ = spec_, to.there_ = true, to.first_ = first;
    for (int d = 0; d < spec_.rank; ++d) to.spec_.strides[d] = strides[d];
    to.spec_.finish();
    to.memory_.assign(std::size_t(room), gap);
    for (std::int64_t i = 0; i < spec_.numel; ++i) to.at(i) = at(i);
    return to;
  }
  // As a column-major matrix with a gap after each element.
  Array spread() const {
    Shape strides = spec_.sizes();
    std::int64_t step = 2;
    for (int d = 0; d < spec_.rank; ++d) strides[d] = step, step *= spec_.shape[d];
    return laid_out(strides, 0, step);
  }

  operator View() { return there_ ? View{reinterpret_cast<char*>(memory_.data() + first_), &spec_} : View{}; }
  const Spec& spec() const { return spec_; }
  std::int64_t numel() const { return spec_.numel; }
  T& at(std::int64_t flat) { return memory_[place(flat)]; }  // in logical order
  const T& at(std::int64_t flat) const { return memory_[place(flat)]; }
  template <class... I> T& operator()(I... index) {
    const std::int64_t i[] = {std::int64_t(index)...};
    std::int64_t flat = 0;
    for (int d = 0; d < spec_.rank; ++d) flat = flat * spec_.shape[d] + i[d];
    return at(flat);
  }
  std::vector<T> values() const {
    std::vector<T> all;
    for (std::int64_t i = 0; i < spec_.numel; ++i) all.push_back(at(i));
    return all;
  }
  std::string bytes() const { return {reinterpret_cast<const char*>(memory_.data()), memory_.size() * sizeof(T)}; }
  std::int64_t gaps(T gap = T(77)) const { return std::count(memory_.begin(), memory_.end(), gap); }

 private:
  std::size_t place(std::int64_t flat) const {
    std::int64_t at = first_;
    for (int d = spec_.rank - 1; d >= 0; --d) at += flat % spec_.shape[d] * spec_.strides[d], flat /= spec_.shape[d];
    return std::size_t(at);
  }
  Spec spec_;
  std::vector<T> memory_;
  std::int64_t first_ = 0;
  bool there_ = false;
};

// Eighths in [-4, 4): sums and short products of them are exact in float, so that most answers can be compared bit for
// bit. Integers in [0, 64).
template <class T = float> Array<T> eighths(const Shape& sizes, std::uint64_t seed = 1) {
  Array<T> x(sizes);
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    const auto drawn = std::int64_t(seed >> 58);
    x.at(i) = std::is_integral_v<T> ? T(drawn) : T(double(drawn - 32) / 8);
  }
  return x;
}
template <class T = float> Array<T> filled(const Shape& sizes, T value) {
  Array<T> x(sizes);
  for (std::int64_t i = 0; i < x.numel(); ++i) x.at(i) = value;
  return x;
}
template <class T> void expect_near(const Array<T>& got, const std::vector<double>& want, double tolerance,
                                    const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  testing::ScopedTrace where(file, line, "called");
  ASSERT_EQ(std::size_t(got.numel()), want.size());
  for (std::int64_t i = 0; i < got.numel(); ++i) {
    const double w = want[std::size_t(i)];
    ASSERT_NEAR(double(got.at(i)), w, tolerance * (1 + std::abs(w))) << "element " << i;
  }
}

// f() makes its results anew and gives their bytes: they do not depend on the number of threads.
template <class F>
void expect_same_on_any_threads(F f, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  testing::ScopedTrace where(file, line, "called");
  const int before = get_num_threads();
  set_num_threads(1);
  const std::string alone = f();
  for (const int threads : {2, 3}) {
    set_num_threads(threads);
    EXPECT_TRUE(f() == alone) << threads << " threads give another answer than one";
  }
  set_num_threads(before);
}

struct Index {  // what a kernel found outside of a bound
  std::int64_t value, bound;
  bool operator==(const Index&) const = default;
};

template <class Table> const Table& cpu_table();
#define KERNELS(name) \
  template <> inline const name##_kernels& cpu_table() { return *cpu_backend().name; }
#include "neura/backend/kernels.def"
#undef KERNELS

// The fixture of a family's suite.
template <class Table> class Kernels : public testing::Test {
 public:
  static void TearDownTestSuite() {
    const testing::TestSuite* suite = testing::UnitTest::GetInstance()->current_test_suite();
    if (suite->test_to_run_count() < suite->total_test_count()) return;  // a filter
    const void* entries[sizeof(Table) / sizeof(Entry<void()>)];          // those that a back end may leave out are null
    std::memcpy(entries, &cpu_table<Table>(), sizeof entries);
    const auto absent = std::count(std::begin(entries), std::end(entries), nullptr);
    EXPECT_EQ(std::ptrdiff_t(called().size()), std::ssize(entries) - absent)
        << suite->name() << " does not call every entry of its table";
  }

 protected:
  // Calls an entry with a context of its own; it must report nothing.
  template <class R, class... A>
  static R run(Entry<R(Context&, A...)> Table::*entry, std::type_identity_t<A>... operands) {
    Context context(cpu_backend(), Device(), "test");
    struct Check {
      const Context& c;
      ~Check() { EXPECT_FALSE(c.failed || c.failure) << "the kernel reports " << c.value() << " of " << c.bound(); }
    } check{context};
    return entry_of(entry)(context, operands...);
  }
  // The same for a call that must report an index.
  template <class R, class... A>
  static Index refused(Entry<R(Context&, A...)> Table::*entry, std::type_identity_t<A>... operands) {
    Context context(cpu_backend(), Device(), "test");
    entry_of(entry)(context, operands...);
    EXPECT_TRUE(context.failed);
    return {context.value(), context.bound()};
  }
  template <class R, class... A> static R ask(Entry<R(A...)> Table::*entry, std::type_identity_t<A>... operands) {
    return entry_of(entry)(operands...);
  }

 private:
  template <class E> static const E& entry_of(E Table::*entry) {
    const E& found = cpu_table<Table>().*entry;
    called().insert(&found);
    return found;
  }
  static std::set<const void*>& called() {
    static std::set<const void*> entries;
    return entries;
  }
};

}  // namespace neura::test
