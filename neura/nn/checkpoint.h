// Activation checkpointing: a module saves only its inputs, and recomputes in backward what its parts would have saved.
#pragma once
#include "neura/nn/container.h"

namespace neura::nn {

struct CheckpointModuleOptions {
  std::int64_t segments = 1;    // how many segments of about equal length; each is recomputed as a whole
  bool preserve_random = true;  // the second run draws the same random numbers, and so drops the same elements
};

// The entries of a Sequential under their own names, so that parameters, states and files are the same as without; or
// one other module, named "module". They stay shared with their other owners.
class CheckpointModule : public ModuleList {
 public:
  CheckpointModule() = default;
  explicit CheckpointModule(const Ref<Module>& module, CheckpointModuleOptions o = {});  // ValueError

  Tensor forward(const Tensor& input) { return unbox<Tensor>(run({{input}, {}})); }
  Value run(const Args& args);  // of any types

  std::int64_t segments = 1;
  bool preserve_random = true;
  NEURA_MEMBERS(CheckpointModule, segments, preserve_random)
  std::string type_name() const override { return class_name(); }
  bool visit_members(const Visitor& v) override { return visit_list(v); }
  Value forward_boxed(const Args& args) override { return run(args); }
  bool forward_tensor(const Tensor& in, Tensor& out) override { return out = forward(in), true; }
  Value forward_one(const Tensor& input) override { return run({{input}, {}}); }
  Ref<Module> blank() const override { return make_blank<CheckpointModule>(); }

  std::string extra_repr() const override;

 protected:
  std::string repr() const override { return Module::repr(); }  // NOLINT(bugprone-parent-virtual-call): no list's
};

}  // namespace neura::nn
