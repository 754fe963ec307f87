#include "neura/graph/foreign.h"

#include "neura/graph/program_internal.h"

namespace neura::graph {
namespace {

// Does the row take so many operands, and have those that it needs?
bool takes_operands(const Node& n) {
  const Row& row = *n.row;
  if (!row.group && n.in.size() != row.inputs) return false;
  for (std::size_t i = 0; i < n.in.size(); ++i)
    if (!n.in[i].is_value() && (n.in[i].kind != Arg::absent || !row.may_be_absent(int(i)))) return false;
  return true;
}

bool fits(const Program& p, const Node& n) {
  if (!takes_operands(n)) return false;
  const std::vector<const Spec*> in = operand_specs(p, n);
  return n.row->is_safe(n.op->get(), in.data(), int(in.size()));
}

void check_node(const Program& p, const Node& n) {
  if (n.row->kind == Row::pointwise) return;
  check<NotImplementedError>(is_checked(*n.row) && n.destination == Destination::fresh, [&] {
    return "program: expected operations that are checked in programs of files, got " + text_of(n) +
           "; trust the file, if it is your own";
  });
  check<ValueError>(fits(p, n),
                    [&] { return "program: expected attributes and operands that fit, got " + text_of(n); });
}

}  // namespace

bool is_checked(const Row& row) { return row.kind == Row::pointwise || row.is_safe; }

void check_foreign(const Program& p) {
  for (const Node& n : p.nodes) check_node(p, n);
  for (const Update& u : p.updates)
    check<ValueError>(u.external < p.externals.size() && p.externals[u.external].kind == External::captured,
                      [] { return std::string("program: expected updates of captured memory, got one of an input"); });
}

}  // namespace neura::graph
