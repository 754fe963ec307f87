#include "neura/data/shared.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <new>
#include <string>

#include "neura/core/error.h"

namespace neura::data {
namespace {

std::atomic<std::uint64_t> forks{0};  // of this process: a fork has given its mappings to a child
void count_forks() {
  static const int once = pthread_atfork(
      nullptr, [] { ++forks; }, [] { ++forks; });
  (void)once;
}

std::string reason() { return std::strerror(errno); }

}  // namespace

// What a block is. Its tensors, the block itself and the stack of the returned hold references.
struct Mapping {
  std::atomic<std::uint32_t> count{1}, tensors{0};
  void* data = nullptr;
  std::size_t bytes = 0;
  int file = -1;
  bool shared = false;
  std::int64_t number = 0;
  std::uint64_t born = forks;
  Ref<Stack> returned;
  std::atomic<bool> waiting{false};  // in the stack
  Mapping* next = nullptr;           // there

  static void destroy(Mapping* m) {
    if (m->file >= 0) close(m->file);
    if (m->shared) munmap(m->data, m->bytes);
    else ::operator delete(m->data, std::align_val_t(SharedBlock::kAlign));
    delete m;
  }
  void tensor_gone();
};

struct Stack {
  std::atomic<std::uint32_t> count{1};
  std::atomic<Mapping*> head{nullptr};  // closed(): no thread takes any more
  static Mapping* closed() {
    static Mapping* const none = new Mapping;
    return none;
  }
  static void destroy(Stack* s) { delete s; }
  bool push(Mapping* m) {
    m->next = head.load(std::memory_order_acquire);
    while (m->next != closed())
      if (head.compare_exchange_weak(m->next, m, std::memory_order_acq_rel)) return true;
    return false;
  }
};

void Mapping::tensor_gone() {
  const bool last = tensors.fetch_sub(1, std::memory_order_acq_rel) == 1;
  if (last && returned && !waiting.exchange(true)) {
    count.fetch_add(1, std::memory_order_relaxed);  // the stack's
    if (!returned->push(this)) Ref<Mapping>::drop(this);
  }
  Ref<Mapping>::drop(this);
}

Returns::Returns() : stack_(Ref<Stack>::adopt(new Stack)) {
  count_forks();
  Stack::closed();
}
Returns::~Returns() {
  Mapping* m = stack_->head.exchange(Stack::closed(), std::memory_order_acq_rel);
  while (m) Ref<Mapping>::drop(std::exchange(m, m->next));
}

std::vector<std::pair<std::int64_t, bool>> Returns::take() {
  std::vector<std::pair<std::int64_t, bool>> numbers;
  Mapping* m = stack_->head.exchange(nullptr, std::memory_order_acq_rel);
  while (m) {
    Mapping* const next = m->next;
    m->waiting = false;
    numbers.emplace_back(m->number, m->born == forks);
    Ref<Mapping>::drop(m);
    m = next;
  }
  return numbers;
}

SharedBlock::SharedBlock(Ref<Mapping> m) : mapping_(std::move(m)) {}
SharedBlock::SharedBlock(SharedBlock&&) noexcept = default;
SharedBlock::~SharedBlock() = default;

SharedBlock SharedBlock::create(std::size_t bytes) {
  const int file = memfd_create("neura", MFD_CLOEXEC);
  check<IoError>(file >= 0, [] { return "DataLoader: expected shared memory from the system, got: " + reason(); });
  auto m = Ref<Mapping>::adopt(new Mapping);
  m->file = file;
  void* data = MAP_FAILED;
  if (!ftruncate(file, off_t(bytes)))
    data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
  check<OutOfMemoryError>(data != MAP_FAILED, [&] {
    return "DataLoader: expected " + std::to_string(bytes >> 10) + " KiB of shared memory, got: " + reason();
  });
  m->data = data, m->bytes = bytes, m->shared = true;
  return SharedBlock(std::move(m));
}

SharedBlock SharedBlock::open(int file, const Returns& returns, std::int64_t number) {
  count_forks();
  auto m = Ref<Mapping>::adopt(new Mapping);
  m->file = file, m->number = number, m->returned = returns.stack_;
  struct stat s;
  void* data = MAP_FAILED;
  if (!fstat(file, &s) && s.st_size > 0)
    data = mmap(nullptr, std::size_t(s.st_size), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
  check<IoError>(data != MAP_FAILED,
                 [&] { return "DataLoader: expected the shared memory of a worker, got: " + reason(); });
  m->data = data, m->bytes = std::size_t(s.st_size), m->shared = true;
  SharedBlock block(std::move(m));
  block.close_file();
  return block;
}

SharedBlock SharedBlock::local(std::size_t bytes) {
  auto m = Ref<Mapping>::adopt(new Mapping);
  m->data = ::operator new(bytes, std::align_val_t(kAlign));
  m->bytes = bytes;
  return SharedBlock(std::move(m));
}

std::size_t SharedBlock::size() const { return mapping_->bytes; }
int SharedBlock::file() const { return mapping_->file; }
void SharedBlock::close_file() const {
  if (mapping_->file >= 0) close(std::exchange(mapping_->file, -1));
}
bool SharedBlock::idle() const { return mapping_->count.load(std::memory_order_acquire) == 1; }

Tensor SharedBlock::tensor(std::size_t offset, DType dtype, const Shape& shape) const {
  const Spec spec = Spec::dense(dtype, shape);
  check<ValueError>(offset % kAlign == 0 && offset <= size() && spec.bytes() <= size() - offset, [&] {
    return "DataLoader: expected a tensor within " + std::to_string(size()) + " bytes of shared memory, got " +
           std::to_string(spec.bytes()) + " bytes at " + std::to_string(offset);
  });
  Ref<Mapping> mine = mapping_;
  mine->tensors.fetch_add(1, std::memory_order_relaxed);
  return Tensor(Ref<TensorImpl>::adopt(
      TensorImpl::make(spec, Storage::wrap(
                                 static_cast<char*>(mapping_->data) + offset, spec.bytes(),
                                 [](Storage* s) { static_cast<Mapping*>(s->context)->tensor_gone(); }, mine.leave()))));
}

std::int64_t SharedBlock::offset_of(const Tensor& t) const {
  const auto* at = static_cast<const char*>(t.const_raw_data());
  const auto* begin = static_cast<const char*>(mapping_->data);
  if (!t.device().is_cpu() || !t.is_contiguous() || at < begin || at + t.nbytes() > begin + size()) return -1;
  return std::size_t(at - begin) % kAlign ? -1 : at - begin;
}

}  // namespace neura::data
