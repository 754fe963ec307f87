// Order: sorting, selection, search, counting; and results with names.
#include "numbers.h"
#include "results.h"

namespace neura::python {
namespace {

PyTypeObject* result_type(const std::string& name, const std::vector<const char*>& fields) {
  static std::vector<std::pair<std::string, PyTypeObject*>> made;
  for (const auto& [n, type] : made)
    if (n == name) return type;
  auto* kept = new std::string("neura.return_types." + name);  // types live as long as the process, and point here
  std::vector<PyStructSequence_Field> list;
  for (const char* f : fields) list.push_back({f, ""});
  list.push_back({nullptr, nullptr});
  PyStructSequence_Desc description{kept->c_str(), "a result with names", list.data(), int(fields.size())};
  PyTypeObject* type = PyStructSequence_NewType(&description);
  if (!type) throw nb::python_error();
  made.emplace_back(name, type);
  return type;
}
nb::object of(const char* type, const SortResult& r) {
  return named_pair(type, "values", "indices", r.values, r.indices);
}

template <SortResult (*along)(const Tensor&, int, bool), Tensor (*whole)(const Tensor&)>
void middle(const Names& n, const char* name) {
  n.both(
      name, [](const Tensor& x) { return whole(x); }, "input"_a);
  n.both(
      name, [name](const Tensor& x, int dim, bool keepdim) { return of(name, along(x, dim, keepdim)); }, "input"_a,
      "dim"_a, "keepdim"_a = false);
}
template <Tensor (*of_number)(const Tensor&, double, std::optional<int>, bool, const char*),
          Tensor (*of_tensor)(const Tensor&, const Tensor&, std::optional<int>, bool, const char*)>
void quantiles(const Names& n, const char* name) {
  n.both(
      name,
      [](const Tensor& x, double q, std::optional<int> dim, bool keepdim, const char* how) {
        return of_number(x, q, dim, keepdim, how);
      },
      "input"_a, "q"_a, "dim"_a = nb::none(), "keepdim"_a = false, nb::kw_only(), "interpolation"_a = "linear");
  n.both(
      name,
      [](const Tensor& x, const Tensor& q, std::optional<int> dim, bool keepdim, const char* how) {
        return of_tensor(x, q, dim, keepdim, how);
      },
      "input"_a, "q"_a, "dim"_a = nb::none(), "keepdim"_a = false, nb::kw_only(), "interpolation"_a = "linear");
}
nb::object of(const UniqueResult& r, bool inverse, bool counts) {
  if (!inverse && !counts) return nb::cast(r.values);
  if (inverse && counts) return nb::make_tuple(r.values, r.inverse, r.counts);
  return nb::make_tuple(r.values, inverse ? r.inverse : r.counts);
}
bool to_the_right(bool right, const std::optional<std::string>& side) {
  if (!side) return right;
  check<ValueError>(*side == "left" || *side == "right",
                    [&] { return "searchsorted: expected side 'left' or 'right', got '" + *side + "'"; });
  check<ValueError>(!(right && *side == "left"), [] {
    return std::string("searchsorted: expected side and right to agree, got side 'left' and right=True");
  });
  return *side == "right";
}

void bind_search(const Names& n) {
  using Side = std::optional<std::string>;
  n.function(
      "searchsorted",
      [](const Tensor& s, const Tensor& v, bool small, bool right, const Side& side, const Tensor& sorter) {
        return searchsorted(s, v, small, to_the_right(right, side), sorter);
      },
      "sorted_sequence"_a, "input"_a, nb::kw_only(), "out_int32"_a = false, "right"_a = false, "side"_a = nb::none(),
      "sorter"_a = nb::none());
  n.function(
      "searchsorted",
      [](const Tensor& s, Scalar v, bool small, bool right, const Side& side, const Tensor& sorter) {
        return searchsorted(s, v, small, to_the_right(right, side), sorter);
      },
      "sorted_sequence"_a, "input"_a, nb::kw_only(), "out_int32"_a = false, "right"_a = false, "side"_a = nb::none(),
      "sorter"_a = nb::none());
  n.function("bucketize", nb::overload_cast<const Tensor&, const Tensor&, bool, bool>(&bucketize), "input"_a,
             "boundaries"_a, nb::kw_only(), "out_int32"_a = false, "right"_a = false);
  n.function("bucketize", nb::overload_cast<Scalar, const Tensor&, bool, bool>(&bucketize), "input"_a, "boundaries"_a,
             nb::kw_only(), "out_int32"_a = false, "right"_a = false);
  n.both("bincount", &bincount, "input"_a, "weights"_a = nb::none(), "minlength"_a = 0);
  n.both("histc", &histc, "input"_a, "bins"_a = 100, "min"_a = Scalar(0), "max"_a = Scalar(0));
}
std::vector<double> range_of(nb::handle h, const char* op) {
  return h.is_none() ? std::vector<double>() : numbers_of(h, op, "range");
}
nb::object edges_of(const HistogramDDResult& r) {
  nb::object o = nb::steal(PyStructSequence_New(result_type("histogramdd", {"hist", "bin_edges"})));
  if (!o.is_valid()) throw nb::python_error();
  PyStructSequence_SetItem(o.ptr(), 0, wrap(r.hist));
  PyStructSequence_SetItem(o.ptr(), 1, tuple_of(r.bin_edges).release().ptr());
  return o;
}
void bind_histograms(const Names& n) {
  n.both(
      "histogram",
      [](const Tensor& x, std::int64_t bins, nb::handle range, const Tensor& weight, bool density) {
        const HistogramResult r = histogram(x, bins, {range_of(range, "histogram"), weight, density});
        return named_pair("histogram", "hist", "bin_edges", r.hist, r.bin_edges);
      },
      "input"_a, "bins"_a, nb::kw_only(), "range"_a = nb::none(), "weight"_a = nb::none(), "density"_a = false);
  n.both(
      "histogram",
      [](const Tensor& x, const Tensor& bins, nb::handle range, const Tensor& weight, bool density) {
        const HistogramResult r = histogram(x, bins, {range_of(range, "histogram"), weight, density});
        return named_pair("histogram", "hist", "bin_edges", r.hist, r.bin_edges);
      },
      "input"_a, "bins"_a, nb::kw_only(), "range"_a = nb::none(), "weight"_a = nb::none(), "density"_a = false);
  n.function(
      "histogramdd",
      [](const Tensor& x, const std::vector<std::int64_t>& bins, nb::handle range, const Tensor& weight, bool density) {
        const HistogramDDResult r = histogramdd(x, bins, {range_of(range, "histogramdd"), weight, density});
        return edges_of(r);
      },
      "input"_a, "bins"_a, "range"_a = nb::none(), "weight"_a = nb::none(), "density"_a = false);
  n.function(
      "histogramdd",
      [](const Tensor& x, const std::vector<Tensor>& bins, nb::handle range, const Tensor& weight, bool density) {
        const HistogramDDResult r = histogramdd(x, bins, {range_of(range, "histogramdd"), weight, density});
        return edges_of(r);
      },
      "input"_a, "bins"_a, "range"_a = nb::none(), "weight"_a = nb::none(), "density"_a = false);
}

}  // namespace

nb::object named(const char* type, const std::vector<const char*>& fields, std::initializer_list<Tensor> values) {
  nb::object o = nb::steal(PyStructSequence_New(result_type(type, fields)));
  if (!o.is_valid()) throw nb::python_error();
  Py_ssize_t i = 0;
  for (const Tensor& t : values) PyStructSequence_SetItem(o.ptr(), i++, wrap(t));
  return o;
}
nb::object named_pair(const char* type, const char* first, const char* second, const Tensor& a, const Tensor& b) {
  return named(type, {first, second}, {a, b});
}
void bind_order(const Names& n) {
  n.both(
      "sort",
      [](const Tensor& x, int dim, bool descending, bool stable) {
        return of("sort", sort(x, dim, descending, stable));
      },
      "input"_a, "dim"_a = -1, "descending"_a = false, "stable"_a = false);
  n.both(
      "argsort",
      [](const Tensor& x, int dim, bool descending, bool stable) { return argsort(x, dim, descending, stable); },
      "input"_a, "dim"_a = -1, "descending"_a = false, "stable"_a = false);
  n.both("msort", &msort, "input"_a);
  n.both(
      "topk",
      [](const Tensor& x, std::int64_t k, int dim, bool largest, bool sorted) {
        return of("topk", topk(x, k, dim, largest, sorted));
      },
      "input"_a, "k"_a, "dim"_a = -1, "largest"_a = true, "sorted"_a = true);
  n.both(
      "kthvalue",
      [](const Tensor& x, std::int64_t k, int dim, bool keepdim) {
        return of("kthvalue", kthvalue(x, k, dim, keepdim));
      },
      "input"_a, "k"_a, "dim"_a = -1, "keepdim"_a = false);
  middle<median, median>(n, "median"), middle<nanmedian, nanmedian>(n, "nanmedian");
  n.both(
      "mode", [](const Tensor& x, int dim, bool keepdim) { return of("mode", mode(x, dim, keepdim)); }, "input"_a,
      "dim"_a = -1, "keepdim"_a = false);
  quantiles<quantile, quantile>(n, "quantile"), quantiles<nanquantile, nanquantile>(n, "nanquantile");
  n.both(
      "unique",
      [](const Tensor& x, bool sorted, bool inverse, bool counts, std::optional<int> dim) {
        return of(unique(x, sorted, inverse, counts, dim), inverse, counts);
      },
      "input"_a, "sorted"_a = true, "return_inverse"_a = false, "return_counts"_a = false, "dim"_a = nb::none());
  n.both(
      "unique_consecutive",
      [](const Tensor& x, bool inverse, bool counts, std::optional<int> dim) {
        return of(unique_consecutive(x, inverse, counts, dim), inverse, counts);
      },
      "input"_a, "return_inverse"_a = false, "return_counts"_a = false, "dim"_a = nb::none());
  bind_search(n);
  bind_histograms(n);
  n.function("_result_type", [](const std::string& name, const nb::list& fields) {
    std::vector<const char*> kept;
    for (nb::handle f : fields)
      kept.push_back((new std::string(nb::cast<std::string>(f)))->c_str());  // as long as the process
    return nb::borrow(reinterpret_cast<PyObject*>(result_type(name, kept)));
  });
}

}  // namespace neura::python
