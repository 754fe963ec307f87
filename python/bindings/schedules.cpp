// neura.optim.lr_scheduler: the mathematics of schedules.h over attributes of Python's schedulers.
#include "options.h"

namespace neura::python {
namespace {

using namespace optim::lr_scheduler;

template <class O> O read(nb::handle self, const char* owner) {
  O options;
  each_option(options, [&](const char* name, auto& x) {
    from_python(nb::getattr(self, name).ptr(), {owner, name}, x);
  });
  return options;
}
template <class O> void write(nb::handle self, O options) {
  each_option(options, [&](const char* name, const auto& x) { nb::setattr(self, name, as_python(x)); });
}
std::vector<double> base_lrs(nb::handle self, const char* owner) {
  std::vector<double> out;
  from_python(nb::getattr(self, "base_lrs").ptr(), {owner, "base_lrs"}, out);
  return out;
}
Moment moment_of(nb::handle self, const char* owner) {
  Moment m;
  from_python(nb::getattr(self, "last_epoch").ptr(), {owner, "last_epoch"}, m.epoch);
  from_python(nb::getattr(self, "_step_count").ptr(), {owner, "_step_count"}, m.steps);
  from_python(nb::getattr(self, "_is_initial").ptr(), {owner, "_is_initial"}, m.initial);
  return m;
}

template <class O> std::vector<double> next_rates(const char* owner, nb::handle self, nb::list groups) {
  const O options = read<O>(self, owner);
  const Moment now = moment_of(self, owner);
  std::vector<double> rates = base_lrs(self, owner);
  rates.resize(std::min(rates.size(), groups.size()));
  for (std::size_t i = 0; i < rates.size(); ++i)
    rates[i] = next_rate(options, now, number_of(nb::object(groups[i]["lr"]).ptr(), {owner, "lr"}), rates[i]);
  return rates;
}
template <class O> std::vector<double> closed_rates(const char* owner, nb::handle self) {
  const O options = read<O>(self, owner);
  const double epoch = moment_of(self, owner).epoch;
  std::vector<double> rates = base_lrs(self, owner);
  for (double& r : rates) r = rate_at(options, epoch, r);
  return rates;
}

void bind_listed(nb::module_& m) {
#define OPTION(type, name, ...) \
  l.append(nb::make_tuple(#name, default_of([]() -> type { return __VA_ARGS__; }(), #__VA_ARGS__)));
#define REQUIRED(type, name) l.append(nb::make_tuple(#name));
#define ARGUMENTS(Name, options) \
  m.def("arguments_" #Name, [] { \
    nb::list l;                  \
    options;                     \
    return l;                    \
  });
#define SCHEDULE(Name, options, ...)                                                                                 \
  ARGUMENTS(Name, options)                                                                                           \
  m.def("check_" #Name, [](nb::handle self) { check_schedule(read<Name##Options>(self, #Name)); });                  \
  m.def("next_" #Name,                                                                                               \
        [](nb::handle self, nb::list groups) { return as_python(next_rates<Name##Options>(#Name, self, groups)); }); \
  m.def("closed_" #Name, [](nb::handle self) { return as_python(closed_rates<Name##Options>(#Name, self)); });
#define SCHEDULE_OPTIONS(Name, options) ARGUMENTS(Name, options)
#include "neura/optim/schedules.def"
#undef OPTION
#undef REQUIRED
#undef ARGUMENTS
#undef SCHEDULE
#undef SCHEDULE_OPTIONS
}

void bind_restarts(nb::module_& m) {
  constexpr const char* owner = "CosineAnnealingWarmRestarts";
  m.def("begin_restarts", [](nb::handle self) {
    Restarts r = read<Restarts>(self, owner);
    r.begin();
    write(self, r);
  });
  m.def(
      "go_restarts",
      [](nb::handle self, nb::handle epoch) {
        Restarts r = read<Restarts>(self, owner);
        std::optional<Count> to;
        Count last;
        from_python(epoch.ptr(), {owner, "epoch"}, to);
        from_python(nb::getattr(self, "last_epoch").ptr(), {owner, "last_epoch"}, last);
        const Count now = r.go(to, last);
        write(self, r);
        return as_python(now);
      },
      "self"_a, "epoch"_a.none());
  m.def("rates_of_restarts", [](nb::handle self) {
    const Restarts r = read<Restarts>(self, owner);
    std::vector<double> rates = base_lrs(self, owner);
    for (double& x : rates) x = r.rate(x);
    return as_python(rates);
  });
}

void bind_cycles(nb::module_& m) {
  m.def(
      "begin_cycle",
      [](nb::handle self, nb::handle up, nb::handle down, bool own_scale) {
        Cycle c;
        from_python(nb::getattr(self, "mode").ptr(), {"CyclicLR", "mode"}, c.mode);
        from_python(nb::getattr(self, "gamma").ptr(), {"CyclicLR", "gamma"}, c.gamma);
        from_python(nb::getattr(self, "scale_mode").ptr(), {"CyclicLR", "scale_mode"}, c.scale_mode);
        Count size;
        std::optional<Count> size_down;
        from_python(up.ptr(), {"CyclicLR", "step_size_up"}, size);
        from_python(down.ptr(), {"CyclicLR", "step_size_down"}, size_down);
        c.begin(size, size_down, own_scale);
        write(self, c);
      },
      "self"_a, "up"_a, "down"_a.none(), "own_scale"_a);
  m.def("cycle_scale", [](nb::handle self, double x) { return read<Cycle>(self, "CyclicLR").scale(x); });
  m.def("cycle_height", [](nb::handle self, double epoch) {
    const Cycle c = read<Cycle>(self, "CyclicLR");
    const double x = c.scale_argument(epoch);
    nb::object argument = std::floor(x) == x ? nb::cast(std::int64_t(x)) : nb::cast(x);  // as PyTorch gives it
    return c.height(epoch) * number_of(nb::object(self.attr("scale_fn")(argument)).ptr(), {"CyclicLR", "scale_fn"});
  });
  m.def("cycle_value", [](double low, double high, double height) { return low + (high - low) * height; });
  m.def(
      "begin_one_cycle",
      [](nb::handle total_steps, nb::handle epochs, nb::handle steps_per_epoch, double pct_start,
         const std::string& anneal_strategy, bool three_phase) {
        constexpr const char* owner = "OneCycleLR";
        OneCycleOptions o{.pct_start = pct_start, .anneal_strategy = anneal_strategy, .three_phase = three_phase};
        from_python(total_steps.ptr(), {owner, "total_steps"}, o.total_steps);
        from_python(epochs.ptr(), {owner, "epochs"}, o.epochs);
        from_python(steps_per_epoch.ptr(), {owner, "steps_per_epoch"}, o.steps_per_epoch);
        const std::int64_t total = total_steps_of(o);
        return nb::make_tuple(total, as_python(phases_of(double(total), pct_start, three_phase)));
      },
      "total_steps"_a.none(), "epochs"_a.none(), "steps_per_epoch"_a.none(), "pct_start"_a, "anneal_strategy"_a,
      "three_phase"_a);
  m.def("one_cycle_part", [](nb::handle self, double epoch) {
    std::vector<Phase> phases;
    double total = 0;
    from_python(nb::getattr(self, "_schedule_phases").ptr(), {"OneCycleLR", "_schedule_phases"}, phases);
    from_python(nb::getattr(self, "total_steps").ptr(), {"OneCycleLR", "total_steps"}, total);
    const Part now = part_at(phases, total, epoch);
    return nb::make_tuple(as_python(phases[now.phase]), now.part);
  });
  m.def("between", &between);
}

void bind_swa(nb::module_& m) {
  m.def("check_Swa", [](nb::handle self) { check_schedule(read<SwaOptions>(self, "SWALR")); });
  m.def("next_Swa", [](nb::handle self, nb::handle lr, nb::handle swa_lr) {
    return next_rate(read<SwaOptions>(self, "SWALR"), moment_of(self, "SWALR").steps - 1,
                     number_of(lr.ptr(), {"SWALR", "lr"}), number_of(swa_lr.ptr(), {"SWALR", "swa_lr"}));
  });
}

void bind_plateau(nb::module_& m) {
  constexpr const char* owner = "ReduceLROnPlateau";
  m.def("begin_plateau", [](nb::handle self) {
    nb::setattr(self, "best", nb::cast(0.0));
    nb::setattr(self, "cooldown_counter", nb::cast(0)), nb::setattr(self, "num_bad_epochs", nb::cast(0));
    Plateau p = read<Plateau>(self, owner);
    p.begin();
    write(self, p);
  });
  m.def("is_better",
        [](nb::handle self, double a, double best) { return read<Plateau>(self, owner).is_better(a, best); });
  m.def("observe", [](nb::handle self, double metric, bool better) {
    Plateau p = read<Plateau>(self, owner);
    const bool reduce = p.observe(metric, better);
    write(self, p);
    return reduce;
  });
  m.def("reduced",
        [](nb::handle self, double lr, double min_lr) { return read<Plateau>(self, owner).reduced(lr, min_lr); });
}

}  // namespace

void bind_schedules(nb::module_& parent) {
  nb::module_ m = parent.def_submodule("_schedules", "The mathematics of learning rates.");
  bind_listed(m);
  bind_restarts(m);
  bind_cycles(m);
  bind_swa(m);
  bind_plateau(m);
}

}  // namespace neura::python
