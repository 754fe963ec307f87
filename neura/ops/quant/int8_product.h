// Products of matrices of 8-bit integers with int32 sums, exact as long as these hold them: 66,000 terms and more.
#pragma once
#include "neura/ops/quant/functions.h"
