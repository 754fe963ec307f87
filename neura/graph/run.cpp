// Runs a program node by node.
#include <algorithm>
#include <map>
#include <optional>

#include "neura/graph/program.h"
#include "neura/graph/program_internal.h"
#include "neura/ops/create/copy.h"

namespace neura::graph {
namespace {

class Run {
 public:
  Run(const Program& p, std::span<const Tensor> inputs, std::span<const Tensor> steps)
      : p_(p), steps_(steps), last_(last_uses(p)), values_(p.values.size()) {
    updated_.resize(p.externals.size(), kNoValue);
    for (const Update& u : p.updates) updated_[u.external] = u.value;
    bind(inputs);
  }

  std::vector<Tensor> all() {
    for (std::size_t i = 0; i < p_.nodes.size(); ++i) {
      node(p_.nodes[i], i);
      for (const Arg& a : p_.nodes[i].in)
        if (a.is_value() && last_[a.id] == i) values_[a.id] = {};
      if (p_.nodes[i].into != kNoValue && last_[p_.nodes[i].into] == i) values_[p_.nodes[i].into] = {};
      for (const ValueId v : p_.nodes[i].out)
        if (last_[v] == std::string::npos) values_[v] = {};
    }
    return results();
  }

 private:
  [[noreturn, gnu::cold]] static void refuse(const std::string& text) { throw ValueError("run: expected " + text); }

  void bind(std::span<const Tensor> inputs) {
    if (inputs.size() != p_.inputs())
      refuse(std::to_string(p_.inputs()) + " inputs, got " + std::to_string(inputs.size()));
    std::size_t next = 0;
    for (std::size_t i = 0; i < p_.externals.size(); ++i) {
      const External& e = p_.externals[i];
      if (e.kind != External::input && !e.tensor)
        refuse("a tensor for %" + std::to_string(i) + " " + e.name + ", got none; set it");
      memory_.push_back(e.kind == External::input ? fitted(i, inputs[next++]) : e.tensor);
    }
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      if (updated_[i] == kNoValue) continue;
      for (std::size_t k = 0; k < memory_.size(); ++k)
        if (k != i && memory_[k].impl()->storage == memory_[i].impl()->storage)
          refuse("memory that is updated to be one external's alone, got that of %" + std::to_string(i) + " as %" +
                 std::to_string(k) + ", too");
    }
    std::copy(memory_.begin(), memory_.end(), values_.begin());
  }
  // As the program has it.
  Tensor fitted(std::size_t i, const Tensor& t) {
    const Spec& want = p_.values[i];
    const auto text = [&] {
      return "run: expected " + want.str() + " as input " + p_.externals[i].name + ", got " +
             (t ? t.spec().str() : "none");
    };
    check<ValueError>(t.defined(), text);
    const Spec& got = t.spec();
    check<DTypeError>(got.dtype == want.dtype, text);
    check<DeviceError>(got.device == want.device, text);
    check<ShapeError>(got.same_shape(want), text);
    Spec here = got;
    here.offset = want.offset;
    if (here.same_geometry(want) || want.numel == 0) return t;
    if (updated_[i] != kNoValue) refuse("an input that is updated to have the strides of the program, got others");
    const NoRecordScope guard;
    Tensor laid = Tensor::empty(want);
    return laid.copy_(t);
  }

  // True if node `at` may write the value in place.
  bool is_free(ValueId v, std::size_t at) const {
    if (last_[v] != at || !values_[v].spec().dense()) return false;
    const Storage* s = values_[v].impl()->storage;
    for (ValueId o = 0; o < values_.size(); ++o)
      if (o != v && values_[o] && values_[o].impl()->storage == s && last_[o] != std::string::npos && last_[o] >= at)
        return false;
    for (std::size_t i = 0; i < memory_.size(); ++i)
      if (memory_[i].impl()->storage == s)
        return updated_[i] != kNoValue && values_[v].spec().same_geometry(memory_[i].spec());
    return true;
  }
  Tensor writable(ValueId v, std::size_t at) {
    if (is_free(v, at)) return values_[v];
    Tensor copy = Tensor::empty(values_[v].spec().dense()
                                    ? values_[v].spec()
                                    : Spec::dense(values_[v].dtype(), values_[v].shape(), values_[v].device()));
    return copy.copy_(values_[v]);
  }

  // The attributes of this run: a copy where they are others than the program's.
  void* attributes_of(const Node& n, std::size_t at, std::optional<OpMemory>& own) {
    if (has_steps(at)) return n.op->get();
    check<NotImplementedError>(n.renewal || !n.varies, [&] {
      return std::string(n.row->name) +
             ": expected numbers that vary from run to run, got a program from a text, which has none; trace it again";
    });
    if (!n.renewal && !n.row->numbers) return n.op->get();
    own.emplace(*n.row, n.op->get());
    if (n.renewal) n.renewal(own->get());
    if (!n.row->numbers) return own->get();
    PhiloxState* const numbers = n.row->numbers(own->get());
    const auto drawn = drawn_.find({numbers->seed, numbers->offset});
    if (numbers->reserved && drawn != drawn_.end()) *numbers = drawn->second;
    return own->get();
  }
  void node(const Node& n, std::size_t at) {
    std::optional<OpMemory> own;
    void* const op = attributes_of(n, at, own);
    std::vector<Tensor> written;
    if (n.writes())
      for (const ValueId v : written_by(n)) written.push_back(writable(v, at));
    const bool fresh = n.destination == Destination::fresh;
    std::size_t next = fresh ? 0 : 1;
    operands_.resize(std::max(operands_.size(), n.in.size()));
    for (std::size_t i = 0; i < n.in.size(); ++i) {
      const Arg& a = n.in[i];
      if (a.kind == Arg::number) operands_[i] = Operand(a.scalar);
      else if (!a.is_value()) operands_[i] = Operand();
      else operands_[i] = n.row->writes_input(int(i)) ? Operand(written[next++]) : operand(n, a.id, written);
    }
    if (has_steps(at)) operands_[0] = Operand(steps_[at]);
    Tensor out[kMaxOutputs];
    if (!fresh) out[0] = written[0];
    Call call{n.row, op, operands_.data(), int(n.in.size()), out, n.destination};
    apply(call);
    if (n.row->numbers) {
      const PhiloxState& before = *n.row->numbers(n.op->get());
      if (!before.reserved) drawn_[{before.seed, before.offset}] = *n.row->numbers(op);
    }
    std::size_t k = 0;
    for (; k < n.row->outputs; ++k) values_[n.out[k]] = std::move(out[k]);
    for (next = fresh ? 0 : 1; next < written.size(); ++next) values_[n.out[k++]] = written[next];
  }
  // In place, what is written and what is read are one.
  const Tensor& operand(const Node& n, ValueId v, const std::vector<Tensor>& written) const {
    return n.destination == Destination::in_place && v == n.into ? written[0] : values_[v];
  }

  bool is_memory(const Tensor& t, bool updated) const {
    for (std::size_t i = 0; i < memory_.size(); ++i)
      if (memory_[i].impl()->storage == t.impl()->storage && (!updated || updated_[i] != kNoValue)) return true;
    return false;
  }
  std::vector<Tensor> results() {
    std::vector<Tensor> out;
    const auto external_of = [&](ValueId v) {  // whose new value it is
      return std::size_t(std::find(updated_.begin(), updated_.end(), v) - updated_.begin());
    };
    std::map<ValueId, Tensor> kept;  // what the updates below would overwrite
    for (const ValueId v : p_.outputs) {
      const std::size_t e = external_of(v);
      if (e < memory_.size()) {
        out.push_back(memory_[e]);
      } else {
        const bool constant = v < p_.externals.size() && p_.externals[v].kind == External::constant;
        const bool of_constant = constant || is_constant(values_[v]);
        out.push_back(of_constant || is_memory(values_[v], true) ? clone(values_[v]) : values_[v]);
      }
    }
    for (const Update& u : p_.updates)
      if (values_[u.value].impl()->storage != memory_[u.external].impl()->storage && is_memory(values_[u.value], true))
        kept[u.value] = clone(values_[u.value]);
    for (const Update& u : p_.updates) {
      const auto at = kept.find(u.value);
      const Tensor& from = at == kept.end() ? values_[u.value] : at->second;
      if (from.impl()->storage != memory_[u.external].impl()->storage) memory_[u.external].copy_(from);
      else if (!from.spec().same_geometry(memory_[u.external].spec())) memory_[u.external].copy_(clone(from));
    }
    return out;
  }
  bool is_constant(const Tensor& t) const {
    for (std::size_t i = 0; i < memory_.size(); ++i)
      if (p_.externals[i].kind == External::constant && memory_[i].impl()->storage == t.impl()->storage) return true;
    return false;
  }

  bool has_steps(std::size_t at) const { return at < steps_.size() && steps_[at]; }

  const Program& p_;
  const std::span<const Tensor> steps_;
  const std::vector<std::size_t> last_;
  std::vector<Tensor> values_, memory_;  // of values that are still read; of externals
  std::vector<ValueId> updated_;         // by external: its new value
  std::vector<Operand> operands_;        // of one call
  std::map<std::pair<std::uint64_t, std::uint64_t>, PhiloxState> drawn_;
};

}  // namespace

std::vector<Tensor> run(const Program& p, std::span<const Tensor> inputs) { return run(p, inputs, {}); }
std::vector<Tensor> run(const Program& p, std::span<const Tensor> inputs, std::span<const Tensor> steps) {
  Run run(p, inputs, steps);
  const NoRecordScope guard;
  return run.all();
}

std::vector<Tensor> evaluated(const Node& n, std::span<const Tensor> values) {
  const NoRecordScope guard;
  OpMemory op(*n.row, n.op->get());
  std::vector<Operand> in;
  for (const Arg& a : n.in)
    in.push_back(a.is_value() ? Operand(values[a.id]) : a.kind == Arg::number ? Operand(a.scalar) : Operand());
  std::vector<Tensor> out(n.out.size());
  Call call{n.row, op.get(), in.data(), int(in.size()), out.data()};
  apply(call);
  return out;
}

}  // namespace neura::graph
