// How a module's backward hooks see gradients: its arguments and results pass through identities. Private to
// module.cpp.
#pragma once
#include "neura/nn/module.h"

namespace neura::nn {

struct BackwardHookCall;                                               // one call
std::shared_ptr<BackwardHookCall> enter_for_backward(Module&, Args&);  // null where there are no hooks
void leave_for_backward(const std::shared_ptr<BackwardHookCall>&, Value& result);

}  // namespace neura::nn
