#include "neura/op/call_error.h"

namespace neura {
namespace {

std::string name_at(const char* names, int at, const char* otherwise, int number) {
  detail::FieldNames list{names};
  std::string_view name;
  for (int i = 0; i <= at; ++i) name = list.next();
  return name.empty() ? otherwise + std::to_string(number) : std::string(name);
}

}  // namespace

std::string describe(const Call& call) {
  std::string s;
  for (int i = 0; i < call.inputs; ++i) {
    const Operand& o = call.in[i];
    s += i ? ", " : "";
    s += o.is_tensor() ? o.tensor->spec.str() : o.is_scalar() ? o.scalar.str() : "none";
  }
  return s;
}

std::string operand_name(const Row& row, int i) {
  const std::string name = name_at(row.operand_names, row.place_of(i), "operand ", i);
  const bool one_of_many = row.group && i >= row.first_of_list && *row.operand_names;
  return one_of_many ? name + " " + std::to_string((i - row.first_of_list) / row.group) : name;
}
std::string result_name(const Row& row, int i) { return name_at(row.result_names, i, "result ", i); }

}  // namespace neura
