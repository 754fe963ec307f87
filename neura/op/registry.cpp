#include "neura/op/registry.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "neura/core/error.h"
#include "neura/op/pointwise/rows.h"
#include "neura/op/row.h"
#include "neura/op/struct_operations.h"

namespace neura {
namespace {

// Never changed: readers of the last one continue while the next is made. All live as long as the process.
struct List {
  std::vector<const Row*> rows;
  std::unordered_map<std::string_view, const Row*> by_name;
  const List* before = nullptr;
  void add(const Row& row) {
    rows.push_back(&row);
    if constexpr (!kOneProgram) by_name.emplace(row.name, &row);  // which has few
  }
};

const List* of_the_library() {
  auto* list = new List;
#ifdef NEURA_INFERENCE_SMALL
  constexpr Family left_out = Family::special;
#else
  constexpr Family left_out = Family::count;
#endif
  for (const Row* row : all_rows())
    if (row->family != left_out) list->add(*row);
  for (const Row* row : all_rows())
    for (int i = 0; i < row->inputs; ++i)
      if (row->slopes[i].exists) list->add(row->derivatives[i]);
#define NEURA_OPERATION(identifier, ...) list->add(operations::identifier());
#ifdef NEURA_WANTED
#define WANTED_OPERATION NEURA_OPERATION
#include NEURA_WANTED
#elif defined(NEURA_INFERENCE)
#define PROGRAM_OPERATION NEURA_OPERATION
#include "neura/tables/program_ops.def"
#else
#include "neura/op/all_ops.def"
#endif
#undef NEURA_OPERATION
  return list;
}

std::atomic<const List*>& newest() {
  static std::atomic<const List*> list{of_the_library()};
  return list;
}

}  // namespace

std::span<const Row* const> all_operations() { return newest().load(std::memory_order_acquire)->rows; }

const Row* find_operation(std::string_view name) {
  const List& list = *newest().load(std::memory_order_acquire);
  if constexpr (kOneProgram) {
    for (const Row* row : list.rows)
      if (name == row->name) return row;
    return nullptr;
  }
  const auto at = list.by_name.find(name);
  return at == list.by_name.end() ? nullptr : at->second;
}

bool is_of_the_library(const Row& row) {
  static const std::unordered_set<const Row*> rows = [] {
    const std::unique_ptr<const List> list(of_the_library());
    return std::unordered_set<const Row*>(list->rows.begin(), list->rows.end());
  }();
  return rows.contains(&row);
}

void register_operation(const Row& row) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const List* list = newest().load(std::memory_order_acquire);
  for (const Row* other : list->rows)
    if (other == &row) return;
  check<ValueError>(row.name[0] != '\0' && !list->by_name.contains(row.name), [&] {
    return std::string("register_operation: expected a name that no operation has, got \"") + row.name + "\"";
  });
  auto* next = new List(*list);
  next->before = list;
  next->add(row);
  newest().store(next, std::memory_order_release);
}

}  // namespace neura
