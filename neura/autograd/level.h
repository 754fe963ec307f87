// A transform of functions: an interceptor that knows its own tensors, batches of samples (batch.h) or values with
// tangents (forward.h), by what their storage wraps. Levels stack; each takes its own tensors out of a call and hands
// what is beneath to the level below. What a program inside records for its own gradients is recorded here, above: the
// graphs of the tensors beneath belong to the outer levels.
#pragma once
#include <cstdint>
#include <span>

#include "neura/core/wrapped.h"
#include "neura/op/apply.h"

namespace neura {

class Level : public Interceptor {
 public:
  Level();
  ~Level() override;
  // Before a level is made, and after it is gone: while none is there, a guard refuses tensors that outlived theirs.
  static void open();
  static void closed();
  void call(Call&) final;
  // t at this level, to be a leaf of its own: itself if it is wrapped here already.
  virtual Tensor lift(const Tensor& t) = 0;
  // Numbers that a call of a level above, or of this one, draws: whose part they are is said before they are drawn.
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
  // A tensor made inside, which is written with what only this level's tensors hold, becomes one of them: zeros that a
  // program fills. These say whether such a write is ahead, and what it becomes.
  virtual bool spreads(const Call&) const = 0;
  virtual Tensor adopted(const Tensor& value) = 0;
  virtual void run(Call&) = 0;                // with at least one operand or destination of this level
  void reserve(Call&);                        // announced here and below; before the call is recorded with them
  virtual bool draw(Call&) { return false; }  // of random numbers, with none; false: goes below
  virtual bool records_parts(const Call&) const { return false; }  // the call is recorded as what it is made of

  class Inside {  // calls are of this level again
   public:
    explicit Inside(Level&);
    ~Inside();
    Inside(const Inside&) = delete;

   private:
    Interceptor* before_;
  };
  // A view's handle knows the root, so that a write to it while recording reaches the root's history.
  void set_base(const Tensor& view, const TensorImpl* of);
  void written(const Call&);  // versions of the destination

 private:
  void see(const TensorImpl*, bool& ours, bool& history) const;
  void adopt(TensorImpl*);
  const std::uint64_t number_, first_id_;
};

// While it lives, calls of this thread see only what lies beneath that level: for a rule that a program wrote.
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
// What grad() of functions differentiates by: x joined to nothing, or to x's own history where it has one, wrapped at
// the top level so that everything made of it is recorded there.
Tensor own_leaf(const Tensor& x);
// True if the wrapped tensor has a tangent or a graph of an outer level.
bool has_derivative_beneath(const Tensor&);
// NotImplementedError where a derivative written by hand would hide one that an outer level computes.
void check_own_function(const char* name, const std::vector<Tensor>& inputs);
// True if outputs depend on anything but these leaves: then the gradient has to be differentiable.
bool comes_from_elsewhere(const std::vector<Tensor>& outputs, const std::vector<Tensor>& leaves);

}  // namespace neura
