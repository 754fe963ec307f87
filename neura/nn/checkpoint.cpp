#include "neura/nn/checkpoint.h"

#include "neura/autograd/function.h"

namespace neura::nn {
namespace {

// The tensors among the arguments, in order.
template <class F> void for_tensors(Args& args, F&& f) {
  for (Value& v : args.positional)
    if (auto* t = std::get_if<Tensor>(&v.v)) f(*t);
  for (auto& [name, v] : args.named)
    if (auto* t = std::get_if<Tensor>(&v.v)) f(*t);
}

// The modules one after the other, as one checkpoint. The result is that of the first run; those of later runs are not
// read.
Value checkpointed(std::vector<Ref<Module>> part, Args args, CheckpointOptions options) {
  std::vector<Tensor> inputs;
  for_tensors(args, [&](Tensor& t) { inputs.push_back(std::exchange(t, Tensor())); });
  Value result;
  const auto wanted = std::make_shared<Value*>(&result);
  const auto f = [part = std::move(part), rest = std::move(args), wanted](const std::vector<Tensor>& in) {
    Args given = rest;
    std::size_t i = 0;
    for_tensors(given, [&](Tensor& t) { t = in[i++]; });
    Value* const first = std::exchange(*wanted, nullptr);
    for (const Ref<Module>& m : part) given = {{m->call(std::move(given))}, {}};
    if (first) *first = std::move(given.positional[0]);
    return std::vector<Tensor>();
  };
  checkpoint(f, inputs, options);
  return result;
}

}  // namespace

CheckpointModule::CheckpointModule(const Ref<Module>& module, CheckpointModuleOptions o)
    : segments(o.segments), preserve_random(o.preserve_random) {
  check<ValueError>(bool(module), [] { return std::string("CheckpointModule: expected a module, got none"); });
  if (const auto* list = module->as<Sequential>())
    for (const auto& [name, child] : list->named_children()) add_named(name, child);
  else add_named("module", module);
  const auto most = std::max<std::int64_t>(1, std::int64_t(size()));
  check<ValueError>(segments >= 1 && segments <= most, [&] {
    return "CheckpointModule: expected 1 to " + std::to_string(most) + " segments, got " + std::to_string(segments);
  });
}

Value CheckpointModule::run(const Args& args) {
  const auto n = std::int64_t(size());
  check<ValueError>(n > 0 || !args.positional.empty(),
                    [] { return std::string("CheckpointModule: expected an argument, got none"); });
  Args given = args;
  for (std::int64_t k = 0; k < segments; ++k) {
    std::vector<Ref<Module>> part;
    for (std::int64_t i = k * n / segments; i < (k + 1) * n / segments; ++i) {
      part.push_back((*this)[i]);
      check<ValueError>(bool(part.back()), [] {
        return std::string("CheckpointModule: expected a module, got none; remove it, or use nn::Identity");
      });
    }
    if (part.empty()) continue;  // entries were erased
    given = {{checkpointed(std::move(part), std::move(given), {.preserve_random = preserve_random})}, {}};
  }
  return given.positional[0];
}

std::string CheckpointModule::extra_repr() const { return segments == 1 ? "" : "segments=" + std::to_string(segments); }

}  // namespace neura::nn
