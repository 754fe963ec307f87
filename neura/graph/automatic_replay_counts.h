// What automatic replay counts; a part of automatic_replay.cpp.
#pragma once
#include <cstdint>

namespace neura::graph {

void count_apart(const char* why, std::int64_t launches);
void count_captures(int n);
void count_moved(int results);
void count_replay(std::int64_t launches);
void count_stretch();

}  // namespace neura::graph
