// A library of somebody else's, on top of the installed one: an operation of its own.
#pragma once
#include <neura/neura.h>

neura::Tensor squash(const neura::Tensor& x);  // x / (1 + |x|)
