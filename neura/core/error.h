// Every failure that a caller can cause. Text: `<op>: expected <what>, got <what>; <what to do>`.
#pragma once
#include <stdexcept>
#include <string>

namespace neura {

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct ShapeError : Error {
  using Error::Error;
};
struct DTypeError : Error {
  using Error::Error;
};
struct DeviceError : Error {
  using Error::Error;
};
struct IndexError : Error {
  using Error::Error;
};
struct ValueError : Error {
  using Error::Error;
};
struct AutogradError : Error {
  using Error::Error;
};
struct InplaceError : AutogradError {
  using AutogradError::AutogradError;
};
struct NotImplementedError : Error {
  using Error::Error;
};
struct OutOfMemoryError : Error {
  using Error::Error;
};
struct LinAlgError : Error {
  using Error::Error;
};  // a matrix is singular or not positive-definite, or an algorithm does not converge
struct CudaError : Error {
  using Error::Error;
};
struct IoError : Error {
  using Error::Error;
};  // the system refused: no such file, no space, no permission
struct FormatError : Error {
  using Error::Error;
};  // a file was read, and is not what it should be

// check<ShapeError>(ok, [&] { return "matmul: expected …"; }): the text is built only when the check fails (built
// eagerly it costs 250 ns a call).
template <class E, class Text> [[gnu::cold, gnu::noinline, noreturn]] void fail_with(const Text& text) {
  throw E(text());
}
template <class E, class Text> inline void check(bool ok, const Text& text) {
  if (!ok) [[unlikely]]
    fail_with<E>(text);
}

// A bug of Neura itself, never a mistake of its user.
[[gnu::cold, noreturn]] void assertion_failed(const char* claim, const char* file, int line);
#define NEURA_ASSERT(claim)                                  \
  do {                                                       \
    if (!(claim)) [[unlikely]]                               \
      ::neura::assertion_failed(#claim, __FILE__, __LINE__); \
  } while (false)

}  // namespace neura
