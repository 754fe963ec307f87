// Module: the base of every layer and network, here and in Python. Members are listed once, by NEURA_MODULE.
//
//   struct Net : nn::Module {
//     nn::Linear hidden{784, 128}, output{128, 10};
//     NEURA_MODULE(Net, hidden, output)
//     Tensor forward(const Tensor& x) { return output(relu(hidden(x))); }
//   };
//
// A module is not copyable: clone() copies deeply, and tensors or children that were one stay one.
#pragma once
#include <functional>
#include <iosfwd>

#include "neura/nn/call.h"
#include "neura/nn/ref_count.h"
#include "neura/nn/state_dict.h"

namespace neura::nn {

// The functions of a module that another language overrides; set by its binding. `overrides` returns which, as a mask
// of Override, at every call, because classes there may change at any time.
struct Bridge {
  std::uint8_t (*overrides)(const Module&) = nullptr;
  Value (*call)(Module&, const Args&) = nullptr;
  void (*train)(Module&, bool) = nullptr;
  std::string (*repr)(const Module&) = nullptr;
  std::string (*extra_repr)(const Module&) = nullptr;
  std::string (*type_name)(const Module&) = nullptr;
  Ref<Module> (*clone)(const Module&) = nullptr;
};
extern Bridge bridge;
enum Override : std::uint8_t { kForward = 1, kTrain = 2, kExtraRepr = 4, kTypeName = 8, kRepr = 16 };

struct Blank {};  // a class without default constructor gives `explicit Net(nn::Blank)` so that it can be cloned

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;
using NamedModules = std::vector<std::pair<std::string, Ref<Module>>>;

class Module {
 public:
  Module();
  Module(Module&&);  // hands a fresh module to a container; ValueError if it is already shared
  Module& operator=(Module&&) = delete;
  virtual ~Module();

  // Its members. Own parameters come first, then own buffers, then children, each in order of declaration; a tensor or
  // module that is met twice counts once.
  std::vector<Tensor> parameters(bool recurse = true) const;
  NamedTensors named_parameters(const std::string& prefix = "", bool recurse = true,
                                bool remove_duplicate = true) const;
  std::vector<Tensor> buffers(bool recurse = true) const;
  NamedTensors named_buffers(const std::string& prefix = "", bool recurse = true, bool remove_duplicate = true) const;
  std::vector<Ref<Module>> children() const;
  NamedModules named_children() const;
  std::vector<Ref<Module>> modules() const;  // itself first, then depth-first
  NamedModules named_modules(const std::string& prefix = "") const;
  Ref<Module> get_submodule(std::string_view path) const;  // "layer.0.conv"; IndexError
  Tensor get_parameter(std::string_view path) const;

  // Members added at run time; they follow the listed ones, as do those that were removed and put back. ValueError for
  // a name that is taken, empty or has a dot.
  Tensor register_parameter(std::string name, const Parameter&);
  Tensor register_buffer(std::string name, const Tensor&, bool persistent = true);
  Ref<Module> register_module(std::string name, Ref<Module>);
  template <class M> Ref<M> register_module(std::string name, Ref<M> m) {
    register_module(std::move(name), Ref<Module>::share(m.get()));
    return m;
  }
  Ref<Module> add_module(std::string name, Ref<Module> m) { return register_module(std::move(name), std::move(m)); }
  bool remove_member(std::string_view name);  // of either kind; false if there is none
  void clear_members();                       // drops every tensor and module

  // For bindings: the very tensor (or none) under a name that is not checked; a listed member that was removed comes
  // back; the removed ones; a number that changes whenever members come or go.
  void add_tensor(Member::Kind, std::string name, const Tensor&, bool persistent = true);
  bool restore_member(std::string_view name, Member::Kind);
  bool visit_removed(const Visitor&) const;
  bool set_persistent(std::string_view buffer, bool);
  bool has_removed() const { return removed_; }
  std::uint32_t structure() const { return structure_; }

  // In place, once per tensor, gradients included; a dtype converts floating (and complex) tensors only.
  Module& to(Device);
  Module& to(DType);
  Module& to(Device, DType);
  Module& half() { return to(DType::float16); }
  Module& bfloat16() { return to(DType::bfloat16); }
  Module& float32() { return to(DType::float32); }
  Module& float64() { return to(DType::float64); }
  Device device() const;  // of the first parameter or buffer; the cpu without any

  void train(bool mode = true);
  void eval() { train(false); }
  bool is_training() const { return training; }
  void zero_grad(bool set_to_none = true);
  Module& requires_grad_(bool on = true);
  Module& apply(const std::function<void(Module&)>& f);  // children first, then itself
  template <class M> M* as() { return dynamic_cast<M*>(this); }

  StateDict state_dict(const std::string& prefix = "") const;  // shares bytes; without history
  // All or nothing: unless every tensor fits, nothing is written. Strict: missing and unexpected keys are an error too.
  LoadResult load_state_dict(const StateDict&, bool strict = true);

  // f may change the arguments, or the result. The id is for remove_hook.
  using PreHook = std::function<void(Module&, Args&)>;
  using ForwardHook = std::function<void(Module&, const Args&, Value& result)>;
  std::uint64_t register_forward_pre_hook(PreHook);
  std::uint64_t register_forward_hook(ForwardHook);
  // f sees, once per backward, the gradients of the call's tensor arguments and those of its results, and may replace
  // the former. The gradient of an argument that requires none is undefined.
  using BackwardHook =
      std::function<void(Module&, std::vector<Tensor>& grad_input, const std::vector<Tensor>& grad_output)>;
  std::uint64_t register_full_backward_hook(BackwardHook);
  // f sees the gradients of the results before the module's backward uses them, and may replace them.
  using BackwardPreHook = std::function<void(Module&, std::vector<Tensor>& grad_output)>;
  std::uint64_t register_full_backward_pre_hook(BackwardPreHook);
  bool remove_hook(std::uint64_t id);

  Value call(Args);                                                           // runs hooks; of any signature
  Value call_hooked(Args, const std::function<Value(const Args&)>& forward);  // runs the hooks around `forward`
  bool direct() const { return !hooked_ && !(overrides() & kForward); }
  bool hooked() const { return hooked_; }
  std::uint8_t overrides() const { return count.object() ? bridge.overrides(*this) : 0; }
  Ref<Module> clone() const;
  std::string str() const;                     // as PyTorch prints it
  std::string text() const { return repr(); }  // the same, without an override of another language
  // What NEURA_MODULE writes.
  virtual bool visit_members(const Visitor&) { return false; }
  virtual Value forward_boxed(const Args&);
  virtual bool forward_tensor(const Tensor& in, Tensor& out);  // unboxed; false where forward is of another form
  virtual Value forward_one(const Tensor& in);                 // whatever comes out
  virtual std::string type_name() const { return "Module"; }
  virtual Ref<Module> blank() const;
  virtual void set_training(bool mode);  // of itself and its children
  virtual std::string extra_repr() const { return ""; }

  bool visit(const Visitor&) const;                        // every member, listed or added
  bool find(std::string_view name, const Visitor&) const;  // the member of that name, if there is one
  static void destroy(Module*);

  bool training = true;
  RefCount count;

 protected:
  virtual std::string repr() const;

 private:
  friend struct Cloner;
  friend struct BackwardHookCall;
  friend class ModuleList;
  friend class Sequential;
  struct RuntimeMember;
  void update_hooked();
  void check_name(const char* function, std::string_view name) const;
  void collect(Member::Kind, NamedTensors&, const std::string& prefix, bool recurse, bool once) const;
  void convert(const Device*, const DType*);
  void save(StateDict&, const std::string& prefix) const;

  std::vector<std::unique_ptr<RuntimeMember>> added_;
  std::vector<std::pair<std::uint64_t, PreHook>> pre_hooks_;
  std::vector<std::pair<std::uint64_t, ForwardHook>> hooks_;
  std::vector<std::pair<std::uint64_t, BackwardHook>> backward_hooks_;
  std::vector<std::pair<std::uint64_t, BackwardPreHook>> backward_pre_hooks_;
  std::uint64_t removed_ = 0;  // of the listed members, by index
  std::uint64_t moved_ = 0;    // those that were removed and came back: they are among the added ones
  std::uint32_t structure_ = 0;
  bool hooked_ = false;
};

namespace detail {
std::string indented(const std::string&);  // all lines but the first, by two
}
std::ostream& operator<<(std::ostream&, const Module&);

// A module on the heap, shared by reference.
template <class M, class... A> Ref<M> make(A&&... a) { return Ref<M>::adopt(new M(std::forward<A>(a)...)); }

}  // namespace neura::nn

#include "neura/nn/macro.h"
