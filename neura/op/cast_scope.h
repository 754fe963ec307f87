// How `apply`, and the functions of autocast.def, cast operands inside an autocast region. For the library neura alone.
#pragma once
#include "neura/core/state.h"
#include "neura/op/apply.h"
#include "neura/op/autocast.h"

namespace neura::amp {

void apply_cast(Call&);  // casts the operands as the row's policy says, then calls apply with the mode lifted

enum class Name : std::uint8_t {  // the functions of autocast.def
#define FUNCTION(name, cpu, cuda) name,
#include "neura/op/autocast.def"
};
// y holds the values of x in another dtype: records it as a cast of x, so that its gradient flows to x.
void join_cast(const Tensor& x, Tensor& y);

// For a function made of several operations, whose operands autocast casts once, at its beginning. Its first line is
//
//   if (const amp::CastScope cast{amp::Name::dist, input, other}) return dist(cast(input), cast(other), p);
//
// whose condition is true where autocast is on. Until the function returns nothing is cast again.
class CastScope {
 public:
  template <class... T> explicit CastScope(Name name, const T&... operands) {
    if (!(state.active & kAutocast)) [[likely]]
      return;
    const Tensor* all[] = {&operands...};
    begin(name, all);
  }
  CastScope(Name name, std::span<const Tensor> operands) {
    if (!(state.active & kAutocast)) [[likely]]
      return;
    std::vector<const Tensor*> all;
    for (const Tensor& t : operands) all.push_back(&t);
    begin(name, all);
  }
  ~CastScope() {
    if (here_) state.active |= kAutocast;
  }
  CastScope(const CastScope&) = delete;
  explicit operator bool() const { return here_; }
  Tensor operator()(const Tensor&) const;
  std::vector<Tensor> operator()(std::span<const Tensor> all) const {
    std::vector<Tensor> casts;
    for (const Tensor& t : all) casts.push_back((*this)(t));
    return casts;
  }
  template <class O> O options(O o) const {
    if constexpr (requires { o.pos_weight; }) o.pos_weight = (*this)(o.pos_weight);
    return o.weight = (*this)(o.weight), o;
  }
  template <class W> W weights(const W& w) const {  // of a recurrent cell
    return {(*this)(w.w_ih), (*this)(w.w_hh), (*this)(w.b_ih), (*this)(w.b_hh)};
  }

 private:
  void begin(Name, std::span<const Tensor* const>);
  bool here_ = false;
  std::optional<DType> to_;
};

}  // namespace neura::amp
