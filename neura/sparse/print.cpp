// Sparse tensors as PyTorch writes them.
#include <string>

#include "neura/core/meta.h"
#include "neura/ops/create/create.h"
#include "neura/sparse/parts.h"

namespace neura::sparse {
namespace {

std::string tuple(const Shape& s) {
  std::string text = "(";
  for (int i = 0; i < s.size(); ++i) text += (i ? ", " : "") + std::to_string(s[i]);
  return text + (s.size() == 1 ? ",)" : ")");
}
std::string part(const char* what, const Tensor& t, const PrintOptions& o, const std::string& prefix) {
  const std::string head = std::string(what) + "=";
  if (is_meta(t.device())) return head + "tensor(..., size=" + tuple(t.shape()) + ")";
  if (!t.numel()) return head + "tensor([], size=" + tuple(t.shape()) + ")";
  const std::string indent(7 + head.size(), ' ');
  PrintOptions narrower = o;
  narrower.linewidth -= int(indent.size());
  std::string value = neura::repr(t.detach(), narrower, prefix);
  value.erase(value.rfind(']') + 1);  // dtype and device come once, after all
  value += ")";
  std::string text = head;
  for (char c : value) {
    text += c;
    if (c == '\n') text += indent;
  }
  for (std::size_t at; (at = text.find("\n" + indent + "\n")) != std::string::npos;) text.erase(at + 1, indent.size());
  return text;
}

}  // namespace

std::string Sparse::repr(const Tensor& self, const PrintOptions& o, const std::string& prefix) const {
  const bool coo = pattern.layout == Layout::coo;
  std::string text = "tensor(";
  if (coo) text += part("indices", pattern.first, o, prefix);
  else
    text += part(pattern.by_row() ? "crow_indices" : "ccol_indices", pattern.first, o, prefix) + ",\n       " +
            part(pattern.by_row() ? "col_indices" : "row_indices", pattern.second, o, prefix);
  text += ",\n       " + part("values", data, o, prefix);
  std::vector<std::string> facts = {"size=" + tuple(self.shape()), "nnz=" + std::to_string(pattern.count())};
  if (!self.device().is_cpu()) facts.push_back("device='" + self.device().str() + "'");
  if (self.dtype() != default_dtype() && self.dtype() != DType::int64 && self.dtype() != DType::boolean)
    facts.push_back("dtype=" + prefix + name(self.dtype()));
  facts.push_back("layout=" + prefix + layout());
  if (const char* made_by = self.grad_fn()) facts.push_back("grad_fn=<" + backward_name(made_by, self.dim()) + ">");
  else if (self.requires_grad()) facts.push_back("requires_grad=True");
  std::size_t line = text.size() - text.rfind('\n') + 1;
  for (const std::string& fact : facts) {
    const bool breaks = (coo && &fact == facts.data()) || line + fact.size() + 2 > std::size_t(o.linewidth);
    text += (breaks ? ",\n       " : ", ") + fact;
    line = breaks ? 7 + fact.size() : line + fact.size() + 2;
  }
  return text + ")";
}

}  // namespace neura::sparse
