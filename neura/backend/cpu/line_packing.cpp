#include "neura/backend/cpu/line_packing.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "neura/backend/backend.h"
#include "neura/core/parallel.h"

namespace neura {
namespace {

constexpr std::int64_t kBlock = kShortLine;  // elements of one kernel call
constexpr std::int64_t kChunk = 16;          // bytes that a splat writes at once, perhaps beyond its line

template <class Word> struct Chunk {
  typedef Word Vector __attribute__((vector_size(kChunk)));
  Vector words;
  explicit Chunk(Word w) : words(Vector{} + w) {}
};
struct Wide {  // complex128
  std::uint64_t half[2];
};
template <> struct Chunk<Wide> {
  Wide words;
  explicit Chunk(Wide w) : words(w) {}
};

// `lines` times `n` words, from steps of any length to lines without gaps. What a splat writes too far is written again
// by the next line, or falls into the padding after the last.
template <class Word>
void gather(const char* from, std::int64_t line, std::int64_t step, char* to, std::int64_t lines, std::int64_t n) {
  constexpr std::int64_t size = sizeof(Word);
  const std::int64_t bytes = n * size;
  for (; lines > 0; --lines, from += line, to += bytes) {
    if (step == 0) {
      Word word;
      std::memcpy(&word, from, size);
      const Chunk<Word> chunk(word);
      for (std::int64_t at = 0; at < bytes; at += kChunk) std::memcpy(to + at, &chunk, kChunk);
    } else if (step == size) {
      std::memcpy(to, from, std::size_t(bytes));
    } else {
      for (std::int64_t i = 0; i < n; ++i) std::memcpy(to + i * size, from + i * step, size);
    }
  }
}

constexpr auto kGrain = [] {  // a table: simd_padding() divides
  std::array<std::int64_t, kDTypes> t{};
  for (int d = 0; d < kDTypes; ++d) t[std::size_t(d)] = std::int64_t(simd_padding(DType(d)));
  return t;
}();

class Pack {
 public:
  Pack(const Plan& plan, LineFn* fn, const double* attributes)
      : p_(plan),
        convert_(*cpu_backend().convert),
        fn_(fn),
        attributes_(attributes),
        last_(plan.rank - 1),
        inner_(plan.shape[last_]) {
    for (int k = 0; k < p_.operands; ++k) {
      if (!p_.data[k]) continue;
      grain_ = std::max(grain_, kGrain[std::size_t(p_.wanted[k])]);
      std::int64_t step = size_of(p_.dtype[k]);
      linear_[k] = true;
      for (int d = last_; d >= 0 && linear_[k]; step *= p_.shape[d--]) linear_[k] = p_.strides[d][k] == step;
    }
  }

  // Lines [begin, end) in the plan's order.
  void range(std::int64_t begin, std::int64_t end) {
    const std::int64_t block = (end - begin) * inner_ <= kBlock ? end : lines_of_block();
    for (std::int64_t n; begin < end; begin += n) {
      n = std::min(block, end - begin);
      const std::int64_t elements = n * inner_, full = (elements + grain_ - 1) & -grain_;
      Line l{nullptr, {}, std::size_t(full), attributes_};
      for (int k = 1; k < p_.operands; ++k)
        if (p_.data[k]) l.in[k - 1] = lines(k, begin, n, full);
      const bool straight = linear_[0] && p_.dtype[0] == p_.wanted[0] && elements == full;
      l.out = straight ? p_.data[0] + elements_before(begin) * size_of(p_.dtype[0]) : buffer_[0];
      fn_(l);
      if (!straight) store(begin, n);
    }
  }

 private:
  std::int64_t lines_of_block() const {  // whole lines and, where possible, whole vectors
    const std::int64_t lines = kBlock / inner_, even = std::max<std::int64_t>(grain_ / (inner_ & -inner_), 1);
    return lines >= even ? lines & -even : lines;
  }
  std::int64_t elements_before(std::int64_t line) const { return line * inner_; }

  // n lines of operand k from line `first` on, without gaps, as the kernel wants them.
  const char* lines(int k, std::int64_t first, std::int64_t n, std::int64_t full) {
    const std::int64_t size = size_of(p_.wanted[k]), elements = n * inner_;
    const bool same = p_.dtype[k] == p_.wanted[k];
    if (linear_[k]) {
      const char* from = p_.data[k] + elements_before(first) * size_of(p_.dtype[k]);
      if (same && elements == full) return from;
      convert(k, from, size_of(p_.dtype[k]), buffer_[k], elements);
    } else if (n > kept_[k]) {
      if (last_ == 1 && !p_.strides[0][k]) kept_[k] = n;  // one line again and again: for the blocks that follow too
      runs(k, first, n,
           [&](char* at, std::int64_t done, std::int64_t m) { fetch(k, at, buffer_[k] + done * inner_ * size, m); });
    }
    if (elements < full) std::memset(buffer_[k] + elements * size, 0, std::size_t((full - elements) * size));
    return buffer_[k];
  }
  // f(pointer, lines done, lines) for each run of lines that differ in the second dimension from the inside alone.
  template <class F> void runs(int k, std::int64_t first, std::int64_t n, F f) const {
    char* at = p_.data[k];
    if (last_ == 1) return f(at + first * p_.strides[0][k], 0, n);
    std::int64_t index[kMaxRank] = {};
    for (int d = last_ - 1; d >= 0 && first; --d) {
      index[d] = d ? first % p_.shape[d] : first;
      if (d) first /= p_.shape[d];
      at += index[d] * p_.strides[d][k];
    }
    for (std::int64_t done = 0; done < n;) {
      int d = last_ - 1;
      const std::int64_t m = std::min(p_.shape[d] - index[d], n - done);
      f(at, done, m);
      done += m, at += m * p_.strides[d][k], index[d] += m;
      for (; d > 0 && index[d] == p_.shape[d]; --d) {
        at += p_.strides[d - 1][k] - p_.shape[d] * p_.strides[d][k];
        index[d] = 0, ++index[d - 1];
      }
    }
  }
  void fetch(int k, const char* from, char* to, std::int64_t n) const {
    const std::int64_t line = p_.strides[last_ - 1][k], step = p_.strides[last_][k];
    const std::int64_t bytes = inner_ * size_of(p_.wanted[k]);  // of a line in the buffer
    const std::int64_t once = line ? n : 1;                     // lines that are all the same are copied from the first
    if (p_.dtype[k] == p_.wanted[k]) words(size_of(p_.dtype[k]), from, line, step, to, once);
    else
      for (std::int64_t i = 0; i < once; ++i) convert(k, from + i * line, step, to + i * bytes, inner_);
    const std::int64_t whole = bytes * n;
    for (std::int64_t there = bytes * once; there < whole; there *= 2)
      std::memcpy(to + there, to, std::size_t(std::min(there, whole - there)));
  }
  void words(std::int64_t size, const char* from, std::int64_t line, std::int64_t step, char* to,
             std::int64_t n) const {
    switch (size) {
      case 1:
        return gather<std::uint8_t>(from, line, step, to, n, inner_);
      case 2:
        return gather<std::uint16_t>(from, line, step, to, n, inner_);
      case 4:
        return gather<std::uint32_t>(from, line, step, to, n, inner_);
      case 8:
        return gather<std::uint64_t>(from, line, step, to, n, inner_);
      default:
        return gather<Wide>(from, line, step, to, n, inner_);
    }
  }
  void convert(int k, const char* from, std::int64_t step, char* to, std::int64_t n) const {
    convert_.pair[int(p_.dtype[k])][int(p_.wanted[k])](from, step, to, size_of(p_.wanted[k]), std::size_t(n));
  }
  void store(std::int64_t first, std::int64_t n) const {
    const std::int64_t size = size_of(p_.wanted[0]);
    ConvertFn* const put = convert_.pair[int(p_.wanted[0])][int(p_.dtype[0])];
    if (linear_[0]) {
      const std::int64_t step = size_of(p_.dtype[0]);
      return put(buffer_[0], size, p_.data[0] + elements_before(first) * step, step, std::size_t(n * inner_));
    }
    runs(0, first, n, [&](char* to, std::int64_t done, std::int64_t m) {
      for (std::int64_t i = 0; i < m; ++i)
        put(buffer_[0] + (done + i) * inner_ * size, size, to + i * p_.strides[last_ - 1][0], p_.strides[last_][0],
            std::size_t(inner_));
    });
  }

  const Plan& p_;
  const ConvertTable& convert_;
  LineFn* const fn_;
  const double* const attributes_;
  const int last_;
  const std::int64_t inner_;
  std::int64_t grain_ = 1;
  bool linear_[kMaxPlan] = {};        // the whole operand is one line
  std::int64_t kept_[kMaxPlan] = {};  // lines in the buffer that serve every block
  alignas(64) char buffer_[kMaxPlan][kBlock * 16 + 64];
};

}  // namespace

void execute_packed(const Plan& p, LineFn* fn, const double* attributes, int cost) {
  std::int64_t lines = 1;
  for (int d = 0; d + 1 < p.rank; ++d) lines *= p.shape[d];
  if (p.numel * cost <= kSerial) return Pack(p, fn, attributes).range(0, lines);
  const std::int64_t some = std::max<std::int64_t>(kSerial / 2 / (p.shape[p.rank - 1] * cost), 1);
  parallel_for(lines, some, [&](std::int64_t b, std::int64_t e) { Pack(p, fn, attributes).range(b, e); });
}

}  // namespace neura
