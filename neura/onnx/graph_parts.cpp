// Parts, joins and sizes of tensors in a graph that is written.
#include <algorithm>
#include <numeric>

#include "neura/onnx/graph_writer.h"

namespace neura::onnx {

std::string GraphWriter::slice(const std::string& x, std::int64_t dim, std::int64_t start, std::int64_t end,
                               std::int64_t size) {
  if (start == 0 && end == size) return x;
  if (const auto at = parts_.find(x); at != parts_.end() && at->second.dim == dim) {
    const Part p = at->second;
    return slice(p.of, dim, p.start + start, p.start + end, p.size);
  }
  if (const auto at = joins_.find(x); at != joins_.end() && at->second.dim == dim) {
    const Join& j = at->second;
    std::int64_t first = 0;
    for (std::size_t i = 0; i < j.parts.size(); first += j.sizes[i++])
      if (start >= first && end <= first + j.sizes[i])
        return slice(j.parts[i], dim, start - first, end - first, j.sizes[i]);
  }
  const std::string y = add("Slice", {x, integers({start}), integers({end}), integers({dim})});
  parts_[y] = {x, dim, start, end, size};
  return y;
}

std::string GraphWriter::concat(const Names& parts, std::int64_t dim, const std::vector<std::int64_t>& sizes) {
  Names merged;
  std::vector<std::int64_t> lengths;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto a = merged.empty() ? parts_.end() : parts_.find(merged.back()), b = parts_.find(parts[i]);
    const bool follows = a != parts_.end() && b != parts_.end() && a->second.of == b->second.of &&
                         a->second.dim == dim && b->second.dim == dim && a->second.end == b->second.start;
    if (!follows) {
      merged.push_back(parts[i]), lengths.push_back(sizes[i]);
      continue;
    }
    const Part first = a->second, next = b->second;
    merged.back() = slice(first.of, dim, first.start, next.end, first.size);
    lengths.back() += sizes[i];
  }
  if (merged.size() == 1) return merged[0];
  const std::string y = add("Concat", merged, {attribute("axis", dim)});
  joins_[y] = {merged, dim, lengths};
  return y;
}

std::string GraphWriter::reshape(const std::string& x, const std::vector<std::int64_t>& from,
                                 const std::vector<std::int64_t>& to) {
  if (from == to) return x;
  if (const auto at = reshaped_.find(x); at != reshaped_.end()) {
    const auto [base, sizes] = at->second;
    return reshape(base, sizes, to);
  }
  AttributeList a;
  if (opset >= 14 && std::count(to.begin(), to.end(), 0)) a = {attribute("allowzero", std::int64_t{1})};
  const std::string y = add("Reshape", {x, integers(to)}, a);
  reshaped_[y] = {x, from};
  return y;
}

}  // namespace neura::onnx
