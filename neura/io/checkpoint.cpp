#include "neura/io/checkpoint.h"

namespace neura {
namespace {

using nn::Dict;
using nn::List;
using nn::Value;

[[noreturn]] void not_optimizer_state() {
  throw ValueError("load: expected the state of an optimizer, got something else");
}

template <class T> const T& part(const Value* v) {
  const T* typed = v ? v->get<T>() : nullptr;
  if (!typed) not_optimizer_state();
  return *typed;
}

const Value& entry(const std::string& path, const Dict& file, const char* name) {
  const Value* v = file.find(name);
  check<ValueError>(v, [&] { return path + ": expected a checkpoint with \"" + name + "\", got none in this file"; });
  return *v;
}

}  // namespace

Value to_value(const optim::StateDict& s) {
  Dict state, result;
  for (const auto& [index, values] : s.state) state[std::to_string(index)] = values;
  List groups{{}, false};
  for (const auto& g : s.param_groups) {
    Dict group = g.options;
    List params{{}, false};
    for (std::int64_t p : g.params) params.items.emplace_back(p);
    group["params"] = std::move(params);
    groups.items.emplace_back(std::move(group));
  }
  result["state"] = std::move(state);
  result["param_groups"] = std::move(groups);
  return result;
}

optim::StateDict to_optimizer_state(const Value& value) {
  const Dict& all = part<Dict>(&value);
  optim::StateDict result;
  for (const auto& [index, values] : part<Dict>(all.find("state")).items) {
    const bool number =
        !index.empty() && index.size() < 19 && index.find_first_not_of("0123456789") == std::string::npos;
    if (!number) not_optimizer_state();
    result.state.emplace_back(std::stoll(index), part<Dict>(&values));
  }
  for (const Value& g : part<List>(all.find("param_groups")).items) {
    optim::StateDict::Group group;
    for (const auto& [name, option] : part<Dict>(&g).items) {
      if (name != "params") group.options[name] = option;
      else
        for (const Value& p : part<List>(&option).items) group.params.push_back(part<std::int64_t>(&p));
    }
    result.param_groups.push_back(std::move(group));
  }
  return result;
}

void save_checkpoint(const std::string& path, const Checkpoint& run, const Dict& extra) {
  Dict all;
  if (run.model) all["model"] = to_value(run.model->state_dict());
  if (run.optimizer) all["optimizer"] = to_value(run.optimizer->state_dict());
  if (run.scheduler) all["scheduler"] = run.scheduler->state_dict();
  if (run.generator) {
    const GeneratorState s = run.generator->state();
    all["generator"] = List{{std::int64_t(s.seed), std::int64_t(s.offset)}, true};
  }
  all["extra"] = extra;
  save(path, all);
}

Dict load_checkpoint(const std::string& path, const Checkpoint& run, const MapLocation& map_location) {
  return restore_checkpoint(load_value(path, map_location), path, run);
}
Dict restore_checkpoint(const Value& file, const std::string& path, const Checkpoint& run) {
  const Dict* all = file.get<Dict>();
  check<ValueError>(all, [&] { return path + ": expected a checkpoint, got " + file.type_name(); });
  const Dict extra = part<Dict>(&entry(path, *all, "extra"));
  GeneratorState generator;
  if (run.generator) {
    const auto& state = part<List>(&entry(path, *all, "generator")).items;
    check<ValueError>(state.size() == 2, [&] { return path + ": expected a generator's seed and offset"; });
    generator.seed = std::uint64_t(part<std::int64_t>(&state[0]));
    generator.offset = std::uint64_t(part<std::int64_t>(&state[1]));
  }
  optim::StateDict optimizer;
  if (run.optimizer) optimizer = to_optimizer_state(entry(path, *all, "optimizer"));
  Dict scheduler;
  if (run.scheduler) scheduler = part<Dict>(&entry(path, *all, "scheduler"));

  // The optimizer last but one: a scheduler writes learning rates when it is loaded, and the optimizer's own are newer.
  if (run.model) run.model->load_state_dict(to_state_dict(entry(path, *all, "model"), "model"));
  if (run.scheduler) run.scheduler->load_state_dict(scheduler);
  if (run.optimizer) run.optimizer->load_state_dict(optimizer);
  if (run.generator) run.generator->set_state(generator);
  return extra;
}

}  // namespace neura
