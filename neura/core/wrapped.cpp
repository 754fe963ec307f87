#include "neura/core/wrapped.h"

#include <cstring>
#include <string>

#include "neura/core/extension.h"
#include "neura/core/pending.h"
#include "neura/core/walk.h"

namespace neura {
namespace {

void release_wrapped(Storage* s) { delete static_cast<Wrapped*>(s->context); }

Tensor tensor_around(Wrapped* w, const Spec& spec, void (*release)(Storage*)) {
  const Storage& beneath = *w->beneath().impl()->storage;
  Storage* s = Storage::wrap(beneath.data, beneath.bytes, release, w);
  s->device = spec.device;
  s->exposed = true;  // never cloned lazily
  return Tensor(Ref<TensorImpl>::adopt(TensorImpl::make(spec, s)));
}

}  // namespace

Wrapped* wrapped(const TensorImpl* t) {
  void (*const release)(Storage*) = t->storage->release;
  return release == &release_wrapped || release == &release_extension ? static_cast<Wrapped*>(t->storage->context)
                                                                      : nullptr;
}

Tensor wrap(std::unique_ptr<Wrapped> w, const Spec& spec) { return tensor_around(w.release(), spec, &release_wrapped); }

void release_extension(Storage* s) { delete static_cast<Wrapped*>(s->context); }

Tensor extend(std::unique_ptr<Extension> e, const Spec& spec) {
  Tensor t = tensor_around(e.release(), spec, &release_extension);
  t.impl()->spec.contiguous = false;
  return t;
}

void check_dense(const char* op, const Tensor& t) {
  const Extension* e = t ? extension(t.impl()) : nullptr;
  check<NotImplementedError>(!e, [&] {
    return std::string(op) + ": expected a dense tensor, got a " + e->layout() + " one; call to_dense()";
  });
}

Tensor innermost(const Tensor& t) {
  Tensor x = t;
  while (is_wrapped(x)) x = wrapped(x.impl())->beneath();
  return x;
}

void check_one_value(const char* op, const Tensor& t) {
  check_dense(op, t);
  for (Tensor x = t; is_wrapped(x); x = wrapped(x.impl())->beneath())
    check<AutogradError>(!wrapped(x.impl())->is_batch(), [&] {
      return std::string(op) +
             ": expected a tensor whose values can be read, got one of vmap, which has a value for "
             "each sample; use operations such as where() instead of Python's control flow";
    });
}
void check_readable(const char* op, const Tensor& t) {
  check_one_value(op, t);
  check<AutogradError>(!is_wrapped(t), [&] {
    return std::string(op) +
           ": expected a tensor with memory of its own, got one with a tangent; detach() it, or take "
           "the primal of unpack_dual()";
  });
}

Scalar agreed_item(const Tensor& t) {
  check_dense("item", t);
  const Tensor all = innermost(t).to(Device());
  check<ValueError>(all.numel() > 0, [] { return "item: expected a value, got a batch without samples"; });
  const auto n = std::size_t(size_of(all.dtype()));
  StridedIterator<1> o = StridedIterator<1>::over(all.shape(), {all.strides()});
  settled(all.impl());
  const char* first = all.impl()->data();
  for (std::int64_t i = all.numel(); i > 0; --i, o.next())
    if (std::memcmp(first, first + o.at[0] * std::int64_t(n), n)) check_one_value("item", t);
  return Scalar::load(all.dtype(), first);
}

Tensor detach_all(const Tensor& t) { return is_wrapped(t) ? wrapped(t.impl())->detached(t.impl()) : t.detach(); }

}  // namespace neura
