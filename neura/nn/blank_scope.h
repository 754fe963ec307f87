// While it lives, new layers of this thread draw their initial values from a generator of their own: they are about to
// be overwritten, and clone() must not move the user's random numbers on.
#pragma once
#include "neura/core/random.h"

namespace neura::nn {

class BlankScope {
 public:
  BlankScope();
  ~BlankScope();
  BlankScope(const BlankScope&) = delete;
  static Generator* generator();  // null outside

 private:
  Generator generator_;
  BlankScope* outer_;
};

}  // namespace neura::nn
