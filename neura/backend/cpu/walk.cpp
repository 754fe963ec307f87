// From operands as users have them (any dtype, stride, length, in place) to the contiguous lines that kernels take:
// compiled once, for all rows, dtypes and instruction sets.
#include <algorithm>
#include <cstring>

#include "neura/backend/backend.h"
#include "neura/backend/cpu/line_packing.h"
#include "neura/backend/cpu/streaming_store.h"
#include "neura/backend/kernels/create.h"
#include "neura/backend/plan.h"
#include "neura/core/parallel.h"

namespace neura {
namespace {

constexpr std::size_t kBytes = 4096;  // of one operand at a time: six of them fit into the first-level cache
// Additions: what computes longer than it waits for memory gains nothing from writing past the caches (measured: exp).
constexpr int kStreamCost = 4;

std::int64_t padded(std::int64_t n, std::int64_t grain) { return (n + grain - 1) & -grain; }  // grains: powers of two

class Walk {  // lines that are long enough for a kernel each
 public:
  Walk(const Plan& plan, LineFn* fn, const double* attributes, int cost)
      : p_(plan),
        convert_(*cpu_backend().convert),
        fn_(fn),
        attributes_(attributes),
        inner_(plan.shape[plan.rank - 1]) {
    std::int64_t widest = 1;
    bool straight = true;
    for (int k = 0; k < p_.operands; ++k) {
      const std::int64_t size = size_of(p_.wanted[k]), stride = p_.strides[p_.rank - 1][k];
      direct_[k] = p_.data[k] && p_.dtype[k] == p_.wanted[k] && stride == size;
      if (!p_.data[k]) continue;
      straight = straight && direct_[k];
      widest = std::max(widest, size);
      grain_ = std::max(grain_, std::int64_t(simd_padding(p_.wanted[k])));
    }
    block_ = std::max(std::int64_t(kBytes) / widest & -grain_, grain_);
    stream_ = cost <= kStreamCost && direct_[0] && p_.numel * size_of(p_.wanted[0]) >= kStreamFrom;
    for (int k = 1; k < p_.operands; ++k) stream_ = stream_ && p_.data[k] != p_.data[0];
    if (straight && !stream_) block_ = INT64_MAX / 128 * 64;
  }

  // Elements [begin, end) in the plan's order.
  void range(std::int64_t begin, std::int64_t end) {
    while (begin < end) {
      char* at[kMaxPlan];
      const std::int64_t column = locate(begin, at), n = std::min(inner_ - column, end - begin);
      line(at, n);
      begin += n;
    }
    if (stream_) stream_done();
  }

 private:
  // Pointers at a flat position; returns the position within the innermost dimension.
  std::int64_t locate(std::int64_t flat, char** at) const {
    std::copy(p_.data, p_.data + p_.operands, at);
    if (!flat) return 0;  // a 64-bit division costs as much as a small operation's whole arithmetic
    std::int64_t column = 0;
    for (int d = p_.rank - 1; d >= 0; --d) {
      const std::int64_t i = d ? flat % p_.shape[d] : flat;
      if (d == p_.rank - 1) column = i;
      if (d) flat /= p_.shape[d];
      for (int k = 0; k < p_.operands; ++k) at[k] += i * p_.strides[d][k];
    }
    return column;
  }

  void line(char* const* at, std::int64_t size) {
    for (std::int64_t start = 0, n; start < size; start += n) {
      n = std::min(block_, size - start);
      if (n > grain_) n = n & -grain_;
      const std::int64_t full = padded(n, grain_);
      Line l{nullptr, {}, std::size_t(full), attributes_};
      for (int k = 1; k < p_.operands; ++k) {
        if (!p_.data[k]) continue;
        const std::int64_t stride = p_.strides[p_.rank - 1][k];
        const char* from = at[k] + start * stride;
        if (direct_[k] && n == full) l.in[k - 1] = from;
        else l.in[k - 1] = stride ? gathered(k, from, stride, n, full) : splat(k, from, full);
      }
      char* to = at[0] + start * p_.strides[p_.rank - 1][0];
      const bool straight = direct_[0] && n == full;
      l.out = straight && !stream_ ? to : buffer_[0];
      fn_(l);
      if (straight && stream_) stream(to, at, start + n, n);
      else if (!straight) store(to, p_.strides[p_.rank - 1][0], n);
    }
  }
  void stream(char* to, char* const* at, std::int64_t next, std::int64_t n) const {
    const char* ahead[kMaxPlan];
    int count = 0;
    for (int k = 1; k < p_.operands; ++k)
      if (direct_[k]) ahead[count++] = at[k] + next * p_.strides[p_.rank - 1][k];
    stream_copy(to, buffer_[0], std::size_t(n * size_of(p_.wanted[0])), ahead, count);
  }
  const char* gathered(int k, const char* from, std::int64_t stride, std::int64_t n, std::int64_t full) {
    load(k, from, stride, n);
    clear(k, n, full);
    return buffer_[k];
  }
  const char* splat(int k, const char* from, std::int64_t full) {  // kept as long as it serves
    if (splat_from_[k] != from || splat_size_[k] < full) {
      load(k, from, 0, full);
      splat_from_[k] = from, splat_size_[k] = full;
    }
    return buffer_[k];
  }
  void load(int k, const char* from, std::int64_t stride, std::int64_t n) {
    convert_.pair[int(p_.dtype[k])][int(p_.wanted[k])](from, stride, buffer_[k], size_of(p_.wanted[k]), std::size_t(n));
  }
  void store(char* to, std::int64_t stride, std::int64_t n) const {
    convert_.pair[int(p_.wanted[0])][int(p_.dtype[0])](buffer_[0], size_of(p_.wanted[0]), to, stride, std::size_t(n));
  }
  void clear(int k, std::int64_t n, std::int64_t full) {
    const std::int64_t size = size_of(p_.wanted[k]);
    if (n < full) std::memset(buffer_[k] + n * size, 0, std::size_t((full - n) * size));
  }

  const Plan& p_;
  const ConvertTable& convert_;
  LineFn* const fn_;
  const double* const attributes_;
  const std::int64_t inner_;
  std::int64_t grain_ = 1, block_ = 0;
  bool stream_ = false;
  bool direct_[kMaxPlan] = {};  // lines need no buffer
  const char* splat_from_[kMaxPlan] = {};
  std::int64_t splat_size_[kMaxPlan] = {};
  alignas(64) char buffer_[kMaxPlan][kBytes];
};

}  // namespace

void execute(const Plan& p, LineFn* fn, const double* attributes, int cost) {
  if (!p.numel) return;
  if (p.rank > 1 && p.shape[p.rank - 1] < kShortLine) return execute_packed(p, fn, attributes, cost);
  const std::int64_t grain = std::max<std::int64_t>(kSerial / 2 / cost, 64);
  if (p.numel <= 2 * grain) return Walk(p, fn, attributes, cost).range(0, p.numel);
  parallel_for(p.numel, grain, [&](std::int64_t b, std::int64_t e) { Walk(p, fn, attributes, cost).range(b, e); });
}

void assign_on_cpu(const View& to, const View& from) {
  const DType wanted = to.spec->dtype;
  if (from.spec->dtype == wanted) {  // bytes that only move
    Spec wide = *to.spec;
    for (int d = 0; d < wide.rank; ++d) {
      const int j = d - (wide.rank - from.spec->rank);
      wide.strides[d] = j < 0 || from.spec->shape[j] == 1 ? 0 : from.spec->strides[j];
    }
    Context context(cpu_backend(), Device(), "convert");
    return cpu_backend().create->copy(context, View{from.data, &wide}, to);
  }
  const Plan p = make_plan(to, wanted, &from, &wanted, 1);
  if (!p.numel) return;
  ConvertFn* const convert = cpu_backend().convert->pair[int(from.spec->dtype)][int(wanted)];
  const int last = p.rank - 1;
  const auto lines = [&](std::int64_t begin, std::int64_t end) {  // flat positions
    while (begin < end) {
      std::int64_t at = begin, column = 0;
      char *target = p.data[0], *source = p.data[1];
      for (int d = last; d >= 0; --d) {
        const std::int64_t i = d ? at % p.shape[d] : at;
        if (d) at /= p.shape[d];
        if (d == last) column = i;
        target += i * p.strides[d][0], source += i * p.strides[d][1];
      }
      const std::int64_t n = std::min(p.shape[last] - column, end - begin);
      convert(source, p.strides[last][1], target, p.strides[last][0], std::size_t(n));
      begin += n;
    }
  };
  if (p.numel <= kSerial) return lines(0, p.numel);
  parallel_for(p.numel, kSerial / 2, lines);
}

}  // namespace neura
