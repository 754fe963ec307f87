#include "neura/nn/per_dim_value.h"

namespace neura::nn {

static Value number(std::int64_t n) { return n == kKeepSize ? Value() : Value(n); }
static std::int64_t size_of(const Value& v) { return v.is_none() ? kKeepSize : unbox<std::int64_t>(v); }

Value BoxedAs<PerDim>::value(const PerDim& x) {
  if (x.empty()) return {};
  if (x.size() == 1) return number(x[0]);
  List l;
  for (std::int64_t n : x) l.items.push_back(number(n));
  return l;
}
PerDim BoxedAs<PerDim>::back(const Value& v) {
  PerDim out;
  if (const List* l = v.get<List>()) {
    for (const Value& e : l->items) out.push_back(size_of(e));
  } else if (!v.is_none()) out.push_back(unbox<std::int64_t>(v));
  return out;
}

Value BoxedAs<Padding>::value(const Padding& p) {
  if (p.mode == Padding::numbers) return box(Shape(p.amount));
  return p.mode == Padding::same ? "same" : "valid";
}
Padding BoxedAs<Padding>::back(const Value& v) {
  if (!v.get<std::string>()) return Padding(unbox<Shape>(v));
  const Padding p(*v.get<std::string>());
  check<ValueError>(p.mode != Padding::unknown,
                    [&] { return "padding: expected numbers, same or valid, got " + *v.get<std::string>(); });
  return p;
}

}  // namespace neura::nn
