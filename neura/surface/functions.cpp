// The functions of tables/functions.def.
#include "neura/ops/functions.h"

#include "neura/surface/list.h"

namespace neura::surface {

void add_functions(std::deque<Function>& all) {
  const List s(all, "");
#define FUNCTION(name, result, parameters, signature, forms, text) s.add(signature, &name, forms, text);
#define OPERATION(name, type, ...) FUNCTION(name, __VA_ARGS__)
#include "neura/tables/functions.def"
}

}  // namespace neura::surface
