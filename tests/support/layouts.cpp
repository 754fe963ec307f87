#include "tests/support/layouts.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "tests/support/loop.h"
#if __has_include(<sys/mman.h>) && !defined(__EMSCRIPTEN__)
#include <sys/mman.h>
#include <unistd.h>
#define NEURA_GUARD_PAGES
#endif

namespace neura::test {
namespace {

#ifdef NEURA_GUARD_PAGES
struct Pages {
  void* begin;
  std::size_t bytes;
};
Storage* guarded_storage(std::size_t bytes, std::size_t align) {
  const auto page = std::size_t(sysconf(_SC_PAGESIZE));
  const std::size_t open = (std::max<std::size_t>(bytes, 1) + page - 1) / page * page;
  auto* pages = new Pages{nullptr, open + page};
  pages->begin = mmap(nullptr, pages->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  NEURA_ASSERT(pages->begin != MAP_FAILED);
  char* const guard = static_cast<char*>(pages->begin) + open;
  NEURA_ASSERT(!mprotect(guard, page, PROT_NONE) && bytes % align == 0);
  const auto release = [](Storage* s) {
    auto* p = static_cast<Pages*>(s->context);
    munmap(p->begin, p->bytes);
    delete p;
  };
  return Storage::wrap(guard - bytes, bytes, release, pages);
}
#else
Storage* guarded_storage(std::size_t bytes, std::size_t) { return Storage::make(bytes); }
#endif

}  // namespace

Tensor guarded(const Spec& spec) {
  const auto size = std::size_t(size_of(spec.dtype));
  const std::size_t elements = spec.numel ? std::size_t(spec.offset + spec.span()) : 0;
  return Tensor(Ref<TensorImpl>::adopt(TensorImpl::make(spec, guarded_storage(elements * size, size))));
}

Layout drawn_layout(const Tensor& t, unsigned expanded, Dice& dice) {
  const int rank = t.spec().rank;
  Spec spec = t.spec();
  int order[kMaxRank];  // dimensions, from the one whose elements lie closest together
  std::iota(order, order + rank, 0);
  std::reverse(order, order + rank);
  if (dice.below(3)) std::swap(order[dice.below(std::max(rank, 1))], order[0]);
  if (!dice.below(3)) std::swap(order[dice.below(std::max(rank, 1))], order[rank > 1 ? 1 : 0]);
  std::int64_t stride = 1;
  for (int i = 0; i < rank; ++i) {
    const int d = order[i];
    if (expanded >> d & 1) {
      spec.strides[d] = 0;
      continue;
    }
    if (!dice.below(4)) stride *= 2;  // every second element, or half of each line
    spec.strides[d] = stride;
    stride *= std::max<std::int64_t>(spec.shape[d], 1);
    if (!dice.below(6)) stride += 1 + dice.below(3);
  }
  spec.offset = dice.below(3) ? dice.below(5) : 0;
  spec.finish();
  const Tensor laid = guarded(spec), plain = guarded(Spec::dense(spec.dtype, t.shape()));
  const auto source = [&](Shape i) {
    for (int d = 0; d < rank; ++d)
      if (expanded >> d & 1) i[d] = 0;
    return scalar_at(t, i);
  };
  for_each_index(t.shape(), [&](const Shape& i) {
    const Scalar v = source(i);
    store_at(laid, i, v), store_at(plain, i, v);
  });
  const Shape strides(spec.strides, std::size_t(rank));
  return {laid, plain, t.shape().str() + " strides " + strides.str() + " offset " + std::to_string(spec.offset)};
}

}  // namespace neura::test
