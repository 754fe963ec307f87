// An answer that is no result: its code of HTTP and its sentence.
#pragma once
#include <string>

#include "neura/core/error.h"

namespace neura::serve {

struct ErrorResponse : Error {
  ErrorResponse(int c, const std::string& text) : Error(text), code(c) {}
  int code;
};

}  // namespace neura::serve
