// clang-format off
// Every function that a formula may call, for numbers to which those of a kind are alike: define the six kinds, include.
#include "neura/backend/number/functions.def"
#include "neura/backend/number/special.def"
INSTRUCTION1(sgn) INSTRUCTION1(real) INSTRUCTION1(imag) INSTRUCTION1(conj) INSTRUCTION1(finite) INSTRUCTION1(infinite)
INSTRUCTION1(signbit) INSTRUCTION1(angle) INSTRUCTION2(max) INSTRUCTION2(min) FUNCTION2(gcd) FUNCTION2(floor_divide)
FUNCTION2(remainder) PRIMITIVE2(polygamma)
#include "neura/backend/number/end_functions.h"
