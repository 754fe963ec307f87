// What a library has that is built for one program (CMake's NEURA_WANTED): a file that neura deploy --small writes, and
// that begins with this one and ends with end_wanted.h. A reader defines of these what it needs.
//
//   WANTED_MODEL("net.neura")            the file, for errors
//   WANTED_OPERATION(linear)             of inference_ops.def and small_ops.def
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
