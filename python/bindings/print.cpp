// How tensors are printed, and which dtype comes out where others meet.
#include "common.h"
#include "neura/op/pointwise/promotion.h"

namespace neura::python {
namespace {

constexpr std::int64_t kAlways = INT64_MAX;  // a threshold that no tensor exceeds: infinity in Python

PrintOptions profile_of(const std::string& name) {
  PrintOptions o;
  if (name == "short") o.precision = o.edgeitems = 2;
  else if (name == "full") o.threshold = kAlways;
  else
    check<ValueError>(name == "default", [&] {
      return "set_printoptions: expected the profile \"default\", \"short\" or \"full\", got \"" + name + '"';
    });
  return o;
}

void change_printoptions(std::optional<int> precision, std::optional<double> threshold,
                         std::optional<std::int64_t> edgeitems, std::optional<int> linewidth,
                         const std::optional<std::string>& profile, std::optional<bool> sci_mode) {
  PrintOptions o = profile ? profile_of(*profile) : get_printoptions();
  check<ValueError>(!threshold || *threshold >= 0,
                    [] { return std::string("set_printoptions: expected a threshold of at least 0"); });
  if (precision) o.precision = *precision;
  if (threshold) o.threshold = *threshold < 9e18 ? std::int64_t(*threshold) : kAlways;
  if (edgeitems) o.edgeitems = *edgeitems;
  if (linewidth) o.linewidth = *linewidth;
  o.sci_mode = sci_mode;
  set_printoptions(o);
}

nb::dict printoptions() {
  const PrintOptions o = get_printoptions();
  nb::dict d;
  d["precision"] = o.precision;
  d["threshold"] = o.threshold == kAlways ? nb::object(nb::float_(HUGE_VAL)) : nb::object(nb::int_(o.threshold));
  d["edgeitems"] = o.edgeitems;
  d["linewidth"] = o.linewidth;
  d["sci_mode"] = o.sci_mode;
  return d;
}

}  // namespace

void bind_print(const Names& n) {
  n.function("set_printoptions", &change_printoptions, "precision"_a = nb::none(), "threshold"_a = nb::none(),
             "edgeitems"_a = nb::none(), "linewidth"_a = nb::none(), "profile"_a = nb::none(),
             "sci_mode"_a = nb::none());
  n.function("get_printoptions", &printoptions);
  n.function("promote_types", &promote_types, "type1"_a, "type2"_a);
  n.function("result_type", &result_type, "tensor1"_a, "tensor2"_a);
  n.function("can_cast", &can_cast, "from_"_a, "to"_a);
}

}  // namespace neura::python
