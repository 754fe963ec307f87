// neura.autograd.Function inside transforms: the rules that a program wrote for vmap and for forward mode.
#include "neura/autograd/forward_ad.h"
#include "neura/autograd/vmap.h"
#include "nodes.h"

namespace neura::python {
namespace {

const char* name_of(Randomness r) {
  return r == Randomness::error ? "error" : r == Randomness::same ? "same" : "different";
}
nb::object object_from(const Tensor& t) { return t ? nb::steal(wrap(t)) : nb::none(); }
nb::tuple all_of(const nb::object& o) { return PyTuple_Check(o.ptr()) ? nb::borrow<nb::tuple>(o) : nb::make_tuple(o); }

// The tensors among args as they are beneath the level, the other arguments as they are.
nb::tuple lowered(const Level& level, const nb::tuple& args) {
  nb::list values;
  for (nb::handle o : args)
    values.append(is_tensor(o.ptr()) ? object_from(level.beneath(tensor_in(o.ptr()))) : nb::borrow(o));
  return nb::tuple(values);
}
// Which of args a result is, so that what was written in place stays itself; -1 if none.
int place_of(nb::handle result, const nb::tuple& lowered_args) {
  for (std::size_t i = 0; i < lowered_args.size(); ++i)
    if (is_tensor(lowered_args[i].ptr()) && tensor_in(lowered_args[i].ptr()).is_same(tensor_in(result.ptr())))
      return int(i);
  return -1;
}

nb::object by_vmap(BatchLevel& level, nb::handle cls, const nb::tuple& args) {
  const nb::tuple values = lowered(level, args);
  nb::list dims;
  bool batched = false;
  for (nb::handle o : args) {
    const bool each = is_tensor(o.ptr()) && level.is_batched(tensor_in(o.ptr()));
    dims.append(each ? nb::object(nb::int_(0)) : nb::none());
    batched |= each;
  }
  nb::object output, places = nb::none();
  {
    const BeneathScope beneath(level);
    if (batched) {
      const nb::object rules = nb::module_::import_("neura.autograd._function_rules");
      const nb::object found =
          rules.attr("batched")(cls, level.size(), name_of(level.randomness()), nb::tuple(dims), values);
      output = found[0], places = found[1];
    } else {
      output = apply_function(cls, values).output;
    }
  }
  const nb::tuple all = all_of(output);
  nb::list results;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const nb::object o = all[i];
    const int same = is_tensor(o.ptr()) ? place_of(o, values) : -1;
    const nb::object place = places.is_none() ? nb::none() : nb::object(places[i]);
    if (same >= 0) results.append(args[same]);
    else if (!is_tensor(o.ptr()) || place.is_none()) results.append(o);
    else results.append(object_from(level.in(tensor_in(o.ptr()), nb::cast<int>(place))));
  }
  return PyTuple_Check(output.ptr()) ? nb::object(nb::tuple(results)) : nb::object(results[0]);
}

// A tangent for every argument: zeros where a tensor has none, unless the function asked for None.
nb::tuple tangents_of(const DualLevel& level, const nb::tuple& args, const nb::tuple& primals, bool zeros, bool* any) {
  nb::list tangents;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (!is_tensor(args[i].ptr())) {
      tangents.append(nb::none());
      continue;
    }
    Tensor t = level.tangent(tensor_in(args[i].ptr()));
    *any |= t.defined();
    const Tensor& primal = tensor_in(primals[i].ptr());
    tangents.append(object_from(t || !zeros || !differentiable(primal.dtype()) ? t : zeros_like(primal)));
  }
  return nb::tuple(tangents);
}

nb::object by_jvp(DualLevel& level, nb::handle cls, const nb::tuple& args) {
  const nb::tuple primals = lowered(level, args);
  nb::object output;
  nb::tuple tangents, moved;
  bool any = false;
  {
    const BeneathScope beneath(level);
    Applied done = apply_function(cls, primals, true);
    auto* c = reinterpret_cast<PyContext*>(done.context.ptr());
    output = done.output;
    tangents = tangents_of(level, args, primals, c->materialize, &any);
    if (any) moved = all_of(cls.attr("jvp")(done.context, *tangents));
    Py_CLEAR(c->to_forward);
  }
  const nb::tuple all = all_of(output);
  check<ValueError>(!any || moved.size() == all.size(), [&] {
    return nb::cast<std::string>(cls.attr("__name__")) + ": expected jvp to give " + std::to_string(all.size()) +
           " tangents, one per result, got " + std::to_string(moved.size());
  });
  nb::list results;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const nb::object o = all[i];
    if (!is_tensor(o.ptr())) {
      results.append(o);
      continue;
    }
    const Tensor tangent = any ? tensor_or_none(moved[i], "jvp") : Tensor();
    const int same = place_of(o, primals);
    const bool kept = same >= 0 && (!tangent || tangent.is_same(level.tangent(tensor_in(args[same].ptr()))));
    const Tensor& value = tensor_in(o.ptr());
    if (kept) results.append(args[same]);
    else results.append(object_from(tangent ? level.make(value, tangent) : level.lift(value)));
  }
  return PyTuple_Check(output.ptr()) ? nb::object(nb::tuple(results)) : nb::object(results[0]);
}

}  // namespace

nb::object by_rule(nb::handle cls, const nb::tuple& args, std::span<const Tensor> inputs, bool records) {
  if (records && !nb::cast<bool>(cls.attr("_splits"))) return {};
  Level* level = top_level_of(inputs);
  if (auto* batch = dynamic_cast<BatchLevel*>(level))
    return nb::cast<bool>(cls.attr("_has_vmap")()) ? by_vmap(*batch, cls, args) : nb::object();
  auto* dual = dynamic_cast<DualLevel*>(level);
  return dual && nb::cast<bool>(cls.attr("_has_jvp")()) ? by_jvp(*dual, cls, args) : nb::object();
}

}  // namespace neura::python
