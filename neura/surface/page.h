// The list as text: docs/functions.md is made from it.
#pragma once
#include <deque>
#include <string>

#include "neura/surface/function.h"

namespace neura::surface {

std::string module_of(std::string_view space);      // "neura.nn.functional"
std::string signature_of(const Function&);          // "sum(input, dim=None, keepdim=False, *, dtype=None, out=None)"
std::string page(const std::deque<Function>& all);  // a table for each module

}  // namespace neura::surface
