// Errors that say where they arose.
#pragma once
#include <string>

#include "neura/core/error.h"

namespace neura::onnx {

// What run() returns. An error of it is thrown again as one of the same type, with `where` before its text, from which
// `said` is taken if it begins so.
template <class F> auto located(const std::string& where, F run, const std::string& said = "") {
  const auto text = [&](const Error& e) {
    const std::string what = e.what();
    return where + ": " + (what.starts_with(said) ? what.substr(said.size()) : what);
  };
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
// onnx.load: net.onnx: expected …
template <class F> auto of_file(const std::string& path, F run) {
  return located("onnx.load: " + path, run, "onnx.load: ");
}

}  // namespace neura::onnx
