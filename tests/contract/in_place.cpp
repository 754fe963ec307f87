#include "tests/contract/in_place.h"

#include "neura/ops/create/copy.h"
#include "neura/ops/index/index.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/shape/shape.h"
#include "neura/ops/shape/view.h"
#include "tests/contract/structs.h"

namespace neura::test {
namespace {

Tensor rows() { return whole({2, 0}, {2}); }
Tensor places() { return whole({0, 2, 1, 0, 2, 2}, {2, 3}); }
Tensor which() { return mask({1, 0, 1, 0, 0, 1, 1, 0, 0}, {3, 3}); }

constexpr InPlaceCase kCases[] = {
    {"copy", [](Tensor& x, const Tensor& o) -> Tensor& { return copy_(x, o.select(0, 1)); },
     [](const Tensor& x, const Tensor& o) { return neura::add(neura::mul(x, 0), o.select(0, 1)); }},
    {"fill", [](Tensor& x, const Tensor& o) -> Tensor& { return fill_(x, o.select(0, 0).select(0, 0)); },
     [](const Tensor& x, const Tensor& o) { return neura::add(neura::mul(x, 0), o.select(0, 0).select(0, 0)); }},
    {"zero", [](Tensor& x, const Tensor&) -> Tensor& { return zero_(x); },
     [](const Tensor& x, const Tensor&) { return neura::mul(x, 0); }},
    {"tril", [](Tensor& x, const Tensor&) -> Tensor& { return tril_(x, 1); },
     [](const Tensor& x, const Tensor&) { return tril(x, 1); }},
    {"triu", [](Tensor& x, const Tensor&) -> Tensor& { return triu_(x); },
     [](const Tensor& x, const Tensor&) { return triu(x); }},
    {"index_add", [](Tensor& x, const Tensor& o) -> Tensor& { return index_add_(x, 0, rows(), o, 2); },
     [](const Tensor& x, const Tensor& o) { return index_add(x, 0, rows(), o, 2); }},
    {"index_copy", [](Tensor& x, const Tensor& o) -> Tensor& { return index_copy_(x, 0, rows(), o); },
     [](const Tensor& x, const Tensor& o) { return index_copy(x, 0, rows(), o); }},
    {"index_fill", [](Tensor& x, const Tensor&) -> Tensor& { return index_fill_(x, 1, rows(), 2.0); },
     [](const Tensor& x, const Tensor&) { return index_fill(x, 1, rows(), 2.0); }},
    {"index_reduce", [](Tensor& x, const Tensor& o) -> Tensor& { return index_reduce_(x, 0, rows(), o, "mean"); },
     [](const Tensor& x, const Tensor& o) { return index_reduce(x, 0, rows(), o, "mean"); }},
    {"scatter", [](Tensor& x, const Tensor& o) -> Tensor& { return scatter_(x, 1, places(), o); },
     [](const Tensor& x, const Tensor& o) { return scatter(x, 1, places(), o); }},
    {"scatter_add", [](Tensor& x, const Tensor& o) -> Tensor& { return scatter_add_(x, 1, places(), o); },
     [](const Tensor& x, const Tensor& o) { return scatter_add(x, 1, places(), o); }},
    {"scatter_reduce", [](Tensor& x, const Tensor& o) -> Tensor& { return scatter_reduce_(x, 0, places(), o, "sum"); },
     [](const Tensor& x, const Tensor& o) { return scatter_reduce(x, 0, places(), o, "sum"); }},
    {"put",
     [](Tensor& x, const Tensor& o) -> Tensor& {
       return put_(x, whole({0, 3, 8, 4, 5, 1}, {2, 3}), o);
     },
     [](const Tensor& x, const Tensor& o) {
       return put(x, whole({0, 3, 8, 4, 5, 1}, {2, 3}), o);
     }},
    {"masked_scatter", [](Tensor& x, const Tensor& o) -> Tensor& { return masked_scatter_(x, which(), o); },
     [](const Tensor& x, const Tensor& o) { return masked_scatter(x, which(), o); }},
    {"masked_fill", [](Tensor& x, const Tensor&) -> Tensor& { return masked_fill_(x, which(), 2.0); },
     [](const Tensor& x, const Tensor&) { return masked_fill(x, which(), 2.0); }},
    {"index_put", [](Tensor& x, const Tensor& o) -> Tensor& { return index_put_(x, {rows()}, o); },
     [](const Tensor& x, const Tensor& o) { return index_put(x, {rows()}, o); }},
    {"index_put_accumulate", [](Tensor& x, const Tensor& o) -> Tensor& { return index_put_(x, {rows()}, o, true); },
     [](const Tensor& x, const Tensor& o) { return index_put(x, {rows()}, o, true); }},
};

}  // namespace

std::span<const InPlaceCase> in_place_cases() { return kCases; }

}  // namespace neura::test
