// neura deploy --small writes a file that says what a library for one program needs (CMake's NEURA_WANTED). It includes
// this header first and end_wanted.h last; who includes it defines those of these macros that it reads.
//
//   WANTED_MODEL("net.neura")            the file, for errors
//   WANTED_OPERATION(linear)             of program_ops.def
//   WANTED_ROW(relu, bit(float32))       in what it is computed
//   WANTED_DTYPE(float32)                of any value
//   WANTED_CONVERSION(uint8, float32)    from, to; also one to itself
#ifndef WANTED_MODEL
#define WANTED_MODEL(...)
#endif
#ifndef WANTED_OPERATION
#define WANTED_OPERATION(...)
#endif
#ifndef WANTED_ROW
#define WANTED_ROW(...)
#endif
#ifndef WANTED_DTYPE
#define WANTED_DTYPE(...)
#endif
#ifndef WANTED_CONVERSION
#define WANTED_CONVERSION(...)
#endif
