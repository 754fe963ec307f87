// From a list of items to a batch: tensors are stacked, numbers become a tensor, pairs, tuples, arrays, vectors and
// maps go part by part, text becomes a list. Any other type is an error at compile time: give the loader a collate
// function.
#pragma once
#include <array>
#include <map>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "neura/data/dataset.h"
#include "neura/data/device_copy.h"

namespace neura::data {

template <class T> struct Collate;  // std::vector<T> -> a batch

template <class T> auto default_collate(const std::vector<T>& items) { return Collate<T>::batch(items); }
template <class T> using Collated = decltype(Collate<T>::batch(std::declval<const std::vector<T>&>()));

// part(item) of every item, as a batch of its own.
template <class T, class Part> auto collate_part(const std::vector<T>& items, Part part) {
  std::vector<std::remove_cvref_t<decltype(part(items[0]))>> parts;
  parts.reserve(items.size());
  for (const T& item : items) parts.push_back(part(item));
  return default_collate(parts);
}

template <> struct Collate<Tensor> {
  static Tensor batch(const std::vector<Tensor>& items) { return stack_items(items); }
};

// As in torch, integers become int64 and bool stays bool; float and double keep their C++ type.
template <class T>
requires std::is_arithmetic_v<T>
struct Collate<T> {
  static Tensor batch(const std::vector<T>& items) {
    using Element = std::conditional_t<std::is_same_v<T, bool> || std::is_floating_point_v<T>, T, std::int64_t>;
    Tensor t = empty_batch(dtype_of<Element>, Shape{std::int64_t(items.size())});
    std::copy(items.begin(), items.end(), t.data<Element>());
    return t;
  }
};

template <> struct Collate<std::string> {
  static std::vector<std::string> batch(const std::vector<std::string>& items) { return items; }
};

template <class A, class B> struct Collate<std::pair<A, B>> {
  static auto batch(const std::vector<std::pair<A, B>>& items) {
    return std::pair(collate_part(items, [](const auto& i) -> const A& { return i.first; }),
                     collate_part(items, [](const auto& i) -> const B& { return i.second; }));
  }
};

template <class... T> struct Collate<std::tuple<T...>> {
  static auto batch(const std::vector<std::tuple<T...>>& items) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::tuple(collate_part(
          items, [](const auto& i) -> const auto& { return std::get<I>(i); })...);
    }
    (std::index_sequence_for<T...>());
  }
};

template <class T, std::size_t N> struct Collate<std::array<T, N>> {
  static auto batch(const std::vector<std::array<T, N>>& items) {
    std::array<Collated<T>, N> parts;
    for (std::size_t n = 0; n < N; ++n) parts[n] = collate_part(items, [n](const auto& i) -> const T& { return i[n]; });
    return parts;
  }
};

void check_equal_parts(std::size_t first, std::size_t other, std::size_t place);  // ShapeError

template <class T> struct Collate<std::vector<T>> {
  static auto batch(const std::vector<std::vector<T>>& items) {
    std::vector<Collated<T>> parts;
    for (std::size_t i = 0; i < items.size(); ++i) check_equal_parts(items[0].size(), items[i].size(), i);
    for (std::size_t n = 0; !items.empty() && n < items[0].size(); ++n)
      parts.push_back(collate_part(items, [n](const auto& i) -> T { return i[n]; }));
    return parts;
  }
};

[[noreturn]] void missing_key(const std::string& key, std::size_t place);  // ValueError

template <class T> struct Collate<std::map<std::string, T>> {
  static auto batch(const std::vector<std::map<std::string, T>>& items) {
    std::map<std::string, Collated<T>> parts;
    if (items.empty()) return parts;
    for (const auto& [key, value] : items[0]) {
      std::vector<T> column;
      for (std::size_t i = 0; i < items.size(); ++i) {
        const auto it = items[i].find(key);
        if (it == items[i].end()) missing_key(key, i);
        column.push_back(it->second);
      }
      parts.emplace(key, default_collate(column));
    }
    return parts;
  }
};

struct DefaultCollate {
  template <class T> auto operator()(const std::vector<T>& items) const { return default_collate(items); }
};

// Replaces every tensor of a batch by f(tensor).
template <class B, class F> B map_tensors(B batch, const F& f) {
  if constexpr (std::is_same_v<B, Tensor>) {
    return f(batch);
  } else if constexpr (requires { std::tuple_size<B>::value; }) {
    std::apply([&](auto&... part) { ((part = map_tensors(std::move(part), f)), ...); }, batch);
    return batch;
  } else if constexpr (requires { batch.begin()->second = map_tensors(batch.begin()->second, f); }) {
    for (auto& [key, part] : batch) part = map_tensors(std::move(part), f);
    return batch;
  } else if constexpr (requires { *batch.begin() = map_tensors(*batch.begin(), f); } &&
                       !std::is_same_v<B, std::string>) {
    for (auto& part : batch) part = map_tensors(std::move(part), f);
    return batch;
  } else {
    return batch;
  }
}

}  // namespace neura::data
