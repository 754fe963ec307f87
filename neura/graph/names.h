// How a program's parts are written; for the graph's own files.
#pragma once
#include "neura/graph/program.h"

namespace neura::graph {

std::string name_of(const Row&);
const Row* row_of_name(std::string_view);  // null if there is none
std::string text_of(const Node&);          // without its results

}  // namespace neura::graph
