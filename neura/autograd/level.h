// A function transform as an interceptor. Its tensors' storages wrap batches of samples (vmap.h) or primals with
// tangents (forward_ad.h). Levels stack: each unwraps its own tensors in a call and makes calls on the wrapped ones,
// which the level below gets. Gradients that the transformed function itself asks for are recorded on the wrapping
// tensors; the graphs of the wrapped ones belong to the outer levels.
#pragma once
#include <cstdint>
#include <span>
#include <unordered_map>

#include "neura/core/wrapped.h"
#include "neura/op/apply.h"

namespace neura {

class Level : public Interceptor {
 public:
  Level();
  ~Level() override;
  // Called before a level is made and after it is gone: while there is none, a guard refuses tensors that outlived
  // their level.
  static void open();
  static void closed();
  void call(Call&) final;
  // t wrapped at this level, as a new leaf; t itself if it is wrapped here already.
  virtual Tensor lift(const Tensor& t) = 0;
  // Told of the random numbers that a call of this level, or of one above, has reserved, before they are drawn.
  virtual void announce(const Call&, const PhiloxState&) {}
  bool owns(const Tensor& t) const { return t && handle_of(t.impl()); }
  Tensor beneath(const Tensor& t) const;  // the tensor that t wraps at this level; t itself if it is not of this level

 protected:
  struct Handle : Wrapped {
    std::uint64_t level;
    Tensor value;
    Handle();
    Handle(const Handle&);
    ~Handle() override;
    const Tensor& beneath() const override { return value; }
  };
  template <class H> H* handle_as(const TensorImpl* t) const { return static_cast<H*>(handle_of(t)); }
  Handle* handle_of(const TensorImpl* t) const;  // null if t is not of this level
  Handle* handle_of(const Operand& o) const { return o.is_tensor() ? handle_of(o.tensor) : nullptr; }
  std::uint64_t number() const { return number_; }
  // A tensor made inside the function (zeros that it fills) becomes one of this level when a value of this level is
  // written into it. spreads(): is the call such a write? adopted(): the wrapped value.
  virtual bool spreads(const Call&) const = 0;
  virtual Tensor adopted(const Tensor& value) = 0;
  virtual void run(Call&) = 0;  // with at least one operand or destination of this level
  void reserve(Call&);          // reserves and announces random numbers, before the call is recorded with them
  // A call that draws and has no operand of this level. False: the level below takes it.
  virtual bool draw(Call&) { return false; }
  virtual bool records_parts(const Call&) const { return false; }  // records the calls that it consists of, not itself

  class Scope {  // while it lives, calls come to this level
   public:
    explicit Scope(Level&);
    ~Scope();
    Scope(const Scope&) = delete;

   private:
    Interceptor* before_;
  };
  // A view's handle knows the root, so that a write to it while recording reaches the root's history.
  void set_base(const Tensor& view, const TensorImpl* of);
  void written(const Call&);  // raises the destination's version

 private:
  void see(const TensorImpl*, bool& ours, bool& history) const;
  void adopt(TensorImpl*);
  void note_if_outside(TensorImpl*);  // of what is about to be written
  bool is_inside(const TensorImpl* root) const;
  const std::uint64_t number_, first_id_;
  std::unordered_map<const TensorImpl*, Ref<TensorImpl>> outside_;  // older than this level, and written since
};

// While it lives, calls of this thread skip that level and those above it: for rules that a program wrote.
class BeneathScope {
 public:
  explicit BeneathScope(const Level&);
  ~BeneathScope();
  BeneathScope(const BeneathScope&) = delete;

 private:
  Interceptor* before_;
};

// The topmost level of this thread, or null.
Level* top_level();
Level* top_level_of(std::span<const Tensor>);  // the topmost to which one of them belongs, or null
// The leaf that the functional grad() differentiates with respect to: x, with its own history if it has one, wrapped at
// the top level, so that all that is computed from it is recorded there.
Tensor own_leaf(const Tensor& x);
// True if the wrapped tensor has a tangent or a graph of an outer level.
bool has_derivative_beneath(const Tensor&);
// NotImplementedError where a derivative written by hand would hide one that an outer level computes.
void check_own_function(const char* name, const std::vector<Tensor>& inputs);
// True if outputs depend on anything but these leaves: then the gradient has to be differentiable.
bool comes_from_elsewhere(const std::vector<Tensor>& outputs, const std::vector<Tensor>& leaves);

}  // namespace neura
