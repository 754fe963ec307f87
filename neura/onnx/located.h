// Errors that say where they arose.
#pragma once
#include <string>

#include "neura/core/error.h"

namespace neura::onnx {

// What run() returns. An error of it is thrown again as one of the same type, with `where` before its text.
template <class F> auto located(const std::string& where, F run) {
  const auto text = [&](const Error& e) { return where + ": " + e.what(); };
  try {
    return run();
  } catch (const ShapeError& e) {
    throw ShapeError(text(e));
  } catch (const DTypeError& e) {
    throw DTypeError(text(e));
  } catch (const IndexError& e) {
    throw IndexError(text(e));
  } catch (const ValueError& e) {
    throw ValueError(text(e));
  } catch (const NotImplementedError& e) {
    throw NotImplementedError(text(e));
  } catch (const FormatError& e) {
    throw FormatError(text(e));
  }
}

}  // namespace neura::onnx
