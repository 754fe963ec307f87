#include "neura/graph/replay.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "neura/core/state.h"
#include "neura/cuda/graph.h"
#include "neura/graph/program_internal.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/training/optimizer_step.h"

namespace neura::graph {
namespace {

Device device_of(const Program& p) {
  std::optional<Device> device;
  const auto take = [&](const Spec& s, const std::string& what) {
    if (!device) device = s.device;
    check<DeviceError>(s.device.is_cuda() && s.device == *device, [&] {
      return "replay: expected a program on one device of CUDA, got " + s.str() + " as " + what +
             "; move it with .cuda()";
    });
  };
  for (std::size_t i = 0; i < p.externals.size(); ++i)  // constants may stay where they are: they are never written
    if (p.externals[i].kind != External::constant)
      take(p.values[i], "%" + std::to_string(i) + " " + p.externals[i].name);
  for (const Node& n : p.nodes)
    for (const ValueId v : n.out) take(p.values[v], "a result of " + name_of(*n.row));
  check<ValueError>(bool(device),
                    [] { return "replay: expected a program that computes something, got an empty one"; });
  return *device;
}

const void* address_of(const Tensor& t) { return t.const_raw_data(); }
bool is_part(const Tensor& t, const Tensor& of) { return t.impl()->storage == of.impl()->storage; }

}  // namespace

struct Replay::Parts {
  Program program;
  Device device;
  std::vector<ValueId> updated;  // externals
  std::int64_t uses = 0, captures = 0;

  // Of a capture
  cuda::Graph graph;
  std::vector<Tensor> inputs, results, steps;  // the graph's own; steps by node
  std::vector<const void*> addresses;          // of externals, as it has them
  std::vector<Tensor> memory;                  // externals that live on: the same tensors, in the program's order
  std::optional<cuda::Stream> last;            // where it was replayed

  explicit Parts(Program p) : program(std::move(p)), device(device_of(program)), graph(device) {
    for (const Node& n : program.nodes)
      check<NotImplementedError>((!n.varies && !n.renewal) || !bytes_of_steps(*n.row, n.op->get()).empty(), [&] {
        return "replay: expected numbers that vary from run to run to be those of optimizers, got those of " +
               name_of(*n.row) + "; run the program";
      });
    for (const Update& u : program.updates) updated.push_back(u.external);
    for (const External& e : program.externals)
      if (e.kind != External::input) memory.push_back(e.tensor);
  }

  bool moved() const {
    for (std::size_t i = 0; i < memory.size(); ++i)
      if (address_of(memory[i]) != addresses[i]) return true;
    return false;
  }
  void capture() {
    graph.reset();
    inputs.clear(), results.clear(), steps.assign(program.nodes.size(), {}), addresses.clear();
    for (std::size_t i = 0; i < program.externals.size(); ++i)
      if (program.externals[i].kind == External::input) inputs.push_back(Tensor::empty(program.values[i]));
    for (std::size_t i = 0; i < program.nodes.size(); ++i)
      if (const Node& n = program.nodes[i]; n.renewal)
        steps[i] = Tensor::empty(
            Spec::dense(DType::uint8, Shape{std::int64_t(bytes_of_steps(*n.row, n.op->get()).size())}, device));
    const GeneratorState before = default_generator().state();
    graph.capture([&] { results = run(program, inputs, steps); });
    default_generator().set_state(before);  // each replay draws for itself
    for (const Tensor& t : memory) addresses.push_back(address_of(t));
    ++captures;
  }
  void renew_steps() {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (!steps[i]) continue;
      const Node& n = program.nodes[i];
      OpMemory op(*n.row, n.op->get());
      n.renewal(op.get());
      const std::span<const char> bytes = bytes_of_steps(*n.row, op.get());
      Tensor here = Tensor::empty(Spec::dense(DType::uint8, steps[i].shape()));
      std::memcpy(here.impl()->data(), bytes.data(), bytes.size());
      steps[i].copy_(here);
    }
  }
  // Memory that the program updates: its bytes are its own, and it is another value afterwards.
  void announce() {
    for (const ValueId v : updated) {
      if (program.externals[v].kind == External::input) continue;
      TensorImpl* t = external(v, {}).impl();
      t->storage->written(nullptr), t->id = ++state.id;
    }
  }
  const Tensor& external(ValueId v, std::span<const Tensor> given) const {
    const auto before = std::size_t(std::count_if(program.externals.begin(), program.externals.begin() + v,
                                                  [](auto& e) { return e.kind == External::input; }));
    return program.externals[v].kind == External::input ? given[before] : memory[v - before];
  }
  void wait_for_the_last() {
    const cuda::Stream here = cuda::current_stream(device);
    if (last && *last != here) here.wait_stream(*last);
    last = here;
    for (const auto* some : {&inputs, &steps})
      for (const Tensor& t : *some)
        if (t) cuda::record_stream(t, here);
  }
  std::vector<Tensor> collect(std::span<const Tensor> given) const {
    std::vector<Tensor> all;
    for (const ValueId v : updated)
      if (program.externals[v].kind == External::input) Tensor(external(v, given)).copy_(own_input(v));
    for (const Tensor& y : results) all.push_back(result(y, given));
    return all;
  }
  const Tensor& own_input(ValueId v) const { return external(v, inputs); }
  Tensor result(const Tensor& y, std::span<const Tensor> given) const {
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (is_part(y, inputs[i]) && y.spec().same_geometry(inputs[i].spec())) return given[i];
    for (const Tensor& t : memory)
      if (is_part(y, t)) return y;
    return clone(y);
  }
  // What run() would refuse, before anything is written.
  void check_inputs(std::span<const Tensor> given) const {
    check<ValueError>(given.size() == inputs.size(), [&] {
      return "replay: expected " + std::to_string(inputs.size()) + " inputs, got " + std::to_string(given.size());
    });
    for (std::size_t i = 0; i < given.size(); ++i) {
      const Spec& want = inputs[i].spec();
      const auto text = [&] {
        return "replay: expected " + want.str() + " as input " + std::to_string(i) + ", got " +
               (given[i] ? given[i].spec().str() : "none");
      };
      check<ValueError>(given[i].defined(), text);
      check<DTypeError>(given[i].dtype() == want.dtype, text);
      check<DeviceError>(given[i].device() == want.device, text);
      check<ShapeError>(given[i].spec().same_shape(want), text);
    }
  }
};

Replay::Replay(Program p) : parts_(std::make_unique<Parts>(std::move(p))) {}
Replay::Replay(Replay&&) noexcept = default;
Replay& Replay::operator=(Replay&&) noexcept = default;
Replay::~Replay() = default;

std::vector<Tensor> Replay::operator()(std::span<const Tensor> given) {
  Parts& p = *parts_;
  if (!p.uses++) return run(p.program, given);
  const NoRecordScope guard;
  for (const ValueId v : p.updated)  // a lazy clone keeps the old bytes
    if (p.program.externals[v].kind != External::input) p.external(v, given).impl()->storage->own();
  if (!p.graph.captured() || p.moved()) p.capture();
  p.check_inputs(given);
  p.wait_for_the_last();
  p.announce();
  for (std::size_t i = 0; i < given.size(); ++i) p.inputs[i].copy_(given[i]);
  p.renew_steps();
  p.graph.replay();
  return p.collect(given);
}
const Program& Replay::program() const { return parts_->program; }
std::int64_t Replay::captures() const { return parts_->captures; }

}  // namespace neura::graph
