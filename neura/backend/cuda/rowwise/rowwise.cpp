#include "neura/backend/cuda/rowwise/rowwise.h"

namespace neura::cuda {
namespace {

// Elements from one row to the next; false if there is no such number, or a row's elements are not contiguous.
bool as_rows(const View& v, int first, std::int64_t& pitch) {
  std::int64_t step = 1;
  for (int d = v.rank() - 1; d >= first; --d) {
    if (v.size(d) != 1 && v.stride(d) != step) return false;
    step *= v.size(d);
  }
  pitch = 0;
  bool known = false;
  for (int d = first - 1; d >= 0; --d) {
    if (v.size(d) == 1) continue;
    if (known && v.stride(d) != step) return false;
    if (!known) pitch = v.stride(d), known = true;
    step = v.stride(d) * v.size(d);
  }
  return true;
}

}  // namespace

Failed RowStaging::copy(View& v, DType d) {
  Spec& s = specs_[count_++];
  s = Spec::dense(d, v.spec->sizes(), v.spec->device);
  View to{nullptr, &s};
  if (Failed f = scratch_.take(s.bytes(), &to.data)) return f;
  if (Failed f = assign(to, v)) return f;
  v = to;
  return nullptr;
}

Failed RowStaging::dense(View& v, DType d) {
  return !v || (v.dtype() == d && v.spec->contiguous) ? nullptr : copy(v, d);
}

Failed RowStaging::plan(std::initializer_list<View*> in, int first, char* out, RowPlan& r) {
  const View& x = **in.begin();
  std::int64_t n = 1;
  r.rows = 1, r.out = out;
  for (int d = 0; d < x.rank(); ++d) (d < first ? r.rows : n) *= x.size(d);
  if (n >> 31) return fail(DeviceFailure::absent, "expected rows of fewer than 2^31 elements on cuda, got more");
  r.n = std::uint32_t(n), r.out_pitch = n * size_of(x.dtype());
  int o = 0;
  for (View* v : in) {
    if (!as_rows(*v, first, r.pitch[o])) {
      if (Failed f = copy(*v, v->dtype())) return f;
      r.pitch[o] = n;
    }
    r.in[o] = v->data, r.pitch[o++] *= size_of(v->dtype());
  }
  return nullptr;
}

}  // namespace neura::cuda
