#include "neura/graph/stretch.h"

#include <cmath>

#include "neura/core/precision.h"
#include "neura/graph/program_internal.h"
#include "neura/op/autocast.h"
#include "neura/ops/training/optimizer_step.h"

namespace neura::graph {
namespace {

constexpr double kBytesPerSecond = 3e12, kFlopsPerSecond = 3e14;  // of a device that is fast

void write_scalar(const Scalar& s, std::vector<std::uint64_t>& to) {
  to.push_back(word_of(s.category()));
  to.push_back(word_of(s.real())), to.push_back(word_of(s.imag()));
  to.push_back(s.category() >= Category::floating ? 0 : word_of(s.integer()));
}

class Words final : public FieldVisitor {
 public:
  explicit Words(std::vector<std::uint64_t>& to) : to_(to) {}
  void boolean(FieldName n, bool& v) override { put(n, v); }
  void integer(FieldName n, std::int64_t& v) override { put(n, v); }
  void real(FieldName n, double& v) override { put(n, v); }
  void scalar(FieldName n, Scalar& v) override {
    if (!n.varying && !varying_) write_scalar(v, to_);
  }
  void dtype(FieldName n, DType& v) override { put(n, v); }
  void device(FieldName n, Device& v) override { put(n, v); }
  std::size_t begin(FieldName n, std::size_t size, bool) override {
    put(n, size);
    if (varying_ || n.varying) ++varying_;
    return size;
  }
  void end() override {
    if (varying_) --varying_;
  }

 private:
  template <class T> void put(FieldName n, const T& v) {
    if (!n.varying && !varying_) to_.push_back(word_of(v));
  }
  std::vector<std::uint64_t>& to_;
  int varying_ = 0;  // depth within a field that varies
};

int results_of(const Call& c) { return c.destination == Destination::fresh ? c.row->outputs : 1; }
const Spec& result_of(const Call& c, const Spec* results, int k) {
  return c.destination == Destination::fresh ? results[k] : c.out[0].spec();
}

}  // namespace

void write_words(const Row& row, const void* op, std::vector<std::uint64_t>& to) {
  if (!op) return;
  if (row.kind == Row::pointwise || row.kind == Row::slope) {
    for (int i = 0; i < row.attributes.count; ++i) to.push_back(word_of(static_cast<const double*>(op)[i]));
  } else if (row.visit) {
    Words words(to);
    row.visit(const_cast<void*>(op), words);  // writes the values that it has
  }
}

std::uint64_t kernel_modes() {
  const detail::Precision& p = detail::precision();
  return std::uint64_t(p.matmul) << 2 | std::uint64_t(p.convolution_tf32) << 1 | std::uint64_t(p.deterministic);
}

std::uint64_t hash_of(const Call& c, std::vector<std::uint64_t>& scratch) {
  scratch.clear();
  write_words(*c.row, c.op, scratch);
  std::uint64_t h =
      mixed_hash(reinterpret_cast<std::uintptr_t>(c.row), std::uint64_t(c.destination) << 32 | std::uint64_t(c.inputs));
  for (int i = 0; i < c.inputs; ++i) {
    if (c.in[i].is_scalar()) write_scalar(c.in[i].scalar, scratch);
    if (!c.in[i].is_tensor()) continue;
    const Spec& s = c.in[i].tensor->spec;
    h = mixed_hash(h, std::uint64_t(s.dtype) << 40 | std::uint64_t(s.rank) << 32 | std::uint64_t(i));
    for (int d = 0; d < s.rank; ++d)
      h = mixed_hash(h, std::uint64_t(s.shape[d])), h = mixed_hash(h, std::uint64_t(s.strides[d]));
  }
  for (const std::uint64_t w : scratch) h = mixed_hash(h, w);
  return h;
}

void Stretch::add(const Call& c, const Spec* results, std::span<const MemoryId> operands,
                  std::span<const MemoryId> made) {
  Launch l{c.row, c.destination, c.op ? std::make_shared<OpMemory>(*c.row, c.op) : nullptr, {}, {}, {}};
  write_words(*c.row, c.op, l.words);
  l.step_bytes = bytes_of_steps(*c.row, c.op).size();
  const auto uses = [&](MemoryId m) { memory[m].last = launches.size(); };
  for (int i = 0; i < c.inputs; ++i) {
    LaunchOperand o;
    o.kind = c.in[i].kind;
    if (c.in[i].is_scalar()) o.scalar = c.in[i].scalar;
    if (c.in[i].is_tensor()) {
      o.memory = operands[std::size_t(i)], o.spec = c.in[i].tensor->spec, uses(o.memory);
      if (c.row->writes_input(i)) memory[o.memory].written = true;
    }
    l.in.push_back(o);
  }
  for (int k = 0; k < results_of(c); ++k)
    l.out.emplace_back(made[std::size_t(k)], result_of(c, results, k)), uses(made[std::size_t(k)]);
  if (c.destination != Destination::fresh) memory[made[0]].written = true;
  launches.push_back(std::move(l));
}

bool Stretch::begins_as(const Stretch& o, std::size_t n) const {
  const auto same_launch = [](const Launch& a, const Launch& b) {
    if (a.row != b.row || a.destination != b.destination || a.words != b.words || a.step_bytes != b.step_bytes ||
        a.in.size() != b.in.size() || a.out.size() != b.out.size())
      return false;
    for (std::size_t i = 0; i < a.in.size(); ++i) {
      const LaunchOperand &x = a.in[i], &y = b.in[i];
      if (x.kind != y.kind || x.memory != y.memory) return false;
      if (x.kind == Operand::is_a_scalar ? !same_number(x.scalar, y.scalar)
                                         : x.memory != kNoMemory && !same_layout(x.spec, y.spec))
        return false;
    }
    for (std::size_t k = 0; k < a.out.size(); ++k)
      if (a.out[k].first != b.out[k].first || !same_layout(a.out[k].second, b.out[k].second)) return false;
    return true;
  };
  return n <= launches.size() && n <= o.launches.size() &&
         std::equal(launches.begin(), launches.begin() + std::ptrdiff_t(n), o.launches.begin(), same_launch);
}

// Memory is numbered in the order of its first use.
void Stretch::begin_as(const Stretch& o, std::size_t n) {
  launches.assign(o.launches.begin(), o.launches.begin() + std::ptrdiff_t(n)), memory.clear();
  for (std::size_t at = 0; at < n; ++at) {
    const Launch& l = launches[at];
    const auto uses = [&](MemoryId m, bool writes) {
      if (m == kNoMemory) return;
      if (m >= memory.size()) memory.resize(m + 1);
      memory[m] = {o.memory[m].external, memory[m].written || writes, at};
    };
    for (std::size_t i = 0; i < l.in.size(); ++i) uses(l.in[i].memory, l.row->writes_input(int(i)));
    for (const auto& [m, spec] : l.out) uses(m, l.destination != Destination::fresh);
  }
}

bool Stretch::has(std::size_t at, const Call& c, const Spec* results, std::vector<std::uint64_t>& scratch) const {
  const Launch& l = launches[at];
  if (l.row != c.row || l.destination != c.destination || l.in.size() != std::size_t(c.inputs)) return false;
  for (int i = 0; i < c.inputs; ++i) {
    const LaunchOperand& o = l.in[std::size_t(i)];
    if (o.kind != c.in[i].kind) return false;
    if (c.in[i].is_scalar() && !same_number(o.scalar, c.in[i].scalar)) return false;
    if (c.in[i].is_tensor() && !same_layout(o.spec, c.in[i].tensor->spec)) return false;
  }
  for (int k = 0; k < results_of(c); ++k)
    if (!same_layout(l.out[std::size_t(k)].second, result_of(c, results, k))) return false;
  if (l.step_bytes != bytes_of_steps(*c.row, c.op).size()) return false;
  scratch.clear();
  write_words(*c.row, c.op, scratch);
  return scratch == l.words;
}

double device_time(const Call& c, const Spec* results) {
  double bytes = 0, product = 1;
  int factors = 0;
  const auto take = [&](const Spec& s, int most) {
    bytes += double(s.bytes());
    if (s.rank >= 2 && factors < most) product *= double(s.numel), ++factors;
  };
  for (int i = 0; i < c.inputs; ++i)
    if (c.in[i].is_tensor()) take(c.in[i].tensor->spec, 2);
  for (int k = 0; k < results_of(c); ++k) take(result_of(c, results, k), 3);
  // (m k) (k n) (m n) is the square of the multiplications of a product.
  const bool multiplies = factors == 3 && amp::policy_of(*c.row, DeviceType::cuda) == amp::Policy::low;
  return std::max(bytes / kBytesPerSecond, multiplies ? 2 * std::sqrt(product) / kFlopsPerSecond : 0);
}

}  // namespace neura::graph
