// What neura.profiler reads: events as tuples, and ranges.
#include "common.h"
#include "neura/core/memory.h"
#include "neura/profile/nan_tracker.h"
#include "neura/profile/profile.h"

namespace neura::python {
namespace {

using profiler::Event;
using profiler::NanTracker;
using profiler::Profile;

nb::tuple tuple_from(const Event& e) {
  constexpr const char* kinds[] = {"operation", "range", "module"};
  nb::list shapes, dtypes;
  for (const Event::Operand& o : e.operands) {
    nb::list sizes;
    for (std::int64_t n : o.sizes) sizes.append(n);
    shapes.append(sizes), dtypes.append(name(o.dtype));
  }
  return nb::make_tuple(e.name, kinds[e.kind], e.backward, e.device.str(), e.begin, e.end, e.device_begin, e.device_end,
                        e.bytes, shapes, dtypes);
}

}  // namespace

void bind_profile(nb::module_& parent) {
  nb::module_ m = parent.def_submodule("_profile", "Profiles.");
  nb::class_<Profile>(m, "Profile")
      .def(
          "__init__",
          [](Profile* self, bool shapes, bool memory, bool devices) {
            new (self) Profile({.shapes = shapes, .memory = memory, .devices = devices});
          },
          "shapes"_a, "memory"_a, "devices"_a)
      .def("stop", &Profile::stop)
      .def("events", [](const Profile& p) {
        nb::list all;
        for (const Event& e : p.events()) all.append(tuple_from(e));
        return all;
      });
  m.def(
      "begin_range",
      [](const std::string& name, bool module) {
        return profiler::begin_range(name, module ? Event::module : Event::range);
      },
      "name"_a, "module"_a = false);
  m.def("end_range", &profiler::end_range);
  nb::class_<NanTracker>(m, "NanTracker")
      .def(
          "__init__", [](NanTracker* self, bool infinities) { new (self) NanTracker(infinities); }, "infinities"_a)
      .def("stop", &NanTracker::stop)
      .def("found", [](const NanTracker& t) -> nb::object {
        const auto& f = t.found();
        if (!f) return nb::none();
        nb::list operands;
        for (const std::string& one : f->operands) operands.append(one);
        return nb::make_tuple(f->operation, f->backward, f->result, operands, f->text());
      });
}

}  // namespace neura::python
