#include "neura/optim/lbfgs.h"

#include <algorithm>
#include <cmath>

#include "neura/autograd/grad_mode.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/product/matmul.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/join.h"
#include "neura/ops/shape/view.h"
#include "neura/optim/options.h"

namespace neura::optim {
namespace {

double dot_of(const Tensor& a, const Tensor& b) { return dot(a, b).item<double>(); }
double largest(const Tensor& x) { return amax(abs(x)).item<double>(); }
double number_of(const Value& v) { return v.is<Tensor>() ? v.get<Tensor>()->item<double>() : v.number(); }

struct Point {  // of the search along a direction: how far, the loss and the gradient there, the slope along it
  double t = 0, loss = 0;
  Tensor gradient;
  double slope = 0;
};

// The parameters as one vector of real numbers.
class Variables {
 public:
  Variables(const std::vector<Tensor>& params, const std::function<Tensor()>& closure)
      : params_(params), closure_(closure) {}

  Tensor evaluate() const {
    EnableGrad guard;
    Tensor loss = closure_();
    check<ValueError>(loss.defined(), [] { return std::string("LBFGS: expected a loss of the closure, got none"); });
    return loss.detach();
  }
  Tensor gradient() const {  // zeros where there is none
    std::vector<Tensor> parts;
    for (const Tensor& p : params_) {
      const Tensor g =
          p.grad() ? p.grad().detach() : Tensor::empty(Spec::dense(p.dtype(), p.shape(), p.device())).zero_();
      parts.push_back((is_complex(g.dtype()) ? view_as_real(g) : g).reshape(Shape{-1}));
    }
    return cat(parts);
  }
  void move(double t, const Tensor& direction) const {
    std::int64_t at = 0;
    for (const Tensor& p : params_) {
      Tensor real = is_complex(p.dtype()) ? view_as_real(p.detach()) : p.detach();
      add_(real, direction.slice(0, at, at + real.numel()).reshape(real.shape()), t);
      at += real.numel();
    }
  }
  Point look(double t, const Tensor& direction) const {  // the parameters come back
    std::vector<Tensor> kept;
    for (const Tensor& p : params_) kept.push_back(p.detach().clone());
    move(t, direction);
    Point at{t, evaluate().item<double>(), gradient(), 0};
    for (std::size_t i = 0; i < kept.size(); ++i) params_[i].detach().copy_(kept[i]);
    at.slope = dot_of(at.gradient, direction);
    return at;
  }

 private:
  const std::vector<Tensor>& params_;
  const std::function<Tensor()>& closure_;
};

// The minimum, within bounds, of the cubic through two points with these slopes.
double between(Point a, Point b, double low, double high) {
  if (a.t > b.t) std::swap(a, b);
  const double d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t);
  const double d2 = std::sqrt(d1 * d1 - a.slope * b.slope);  // NaN: there is no such cubic
  const double least = b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2));
  return std::isfinite(least) ? std::min(std::max(least, low), high) : (low + high) / 2;
}

// A point that is lower by kEnough of what the slope predicts, and whose slope is at most kFlat of the first: the
// strong Wolfe conditions. The best of at most `most` + 1 points, if none is.
class Search {
 public:
  Search(const Variables& v, const Tensor& direction, Point start, std::int64_t most)
      : v_(v), direction_(direction), start_(std::move(start)), most_(most) {}

  Point run(double t) {
    Point before = start_, now = look(t);
    std::int64_t tries = 0;
    for (;;) {  // until a suitable point is between two
      if (tries >= most_) return now.loss < start_.loss ? now : start_;
      if (too_high(now) || (tries > 1 && now.loss >= before.loss)) break;
      if (flat_enough(now)) return now;
      if (now.slope >= 0) break;
      t = between(before, now, now.t + 0.01 * (now.t - before.t), now.t * 10);
      before = std::exchange(now, look(t));
      ++tries;
    }
    return narrow(std::move(before), std::move(now), tries);
  }
  std::int64_t looks() const { return looks_; }

 private:
  static constexpr double kEnough = 1e-4, kFlat = 0.9, kLeast = 1e-9;
  Point look(double t) { return ++looks_, v_.look(t, direction_); }
  bool too_high(const Point& p) const { return p.loss > start_.loss + kEnough * p.t * start_.slope; }
  bool flat_enough(const Point& p) const { return std::abs(p.slope) <= -kFlat * start_.slope; }

  Point narrow(Point low, Point high, std::int64_t tries) {
    if (high.loss < low.loss) std::swap(low, high);
    const double size = largest(direction_);
    bool slow = false;
    for (; tries < most_ && std::abs(high.t - low.t) * size >= kLeast; ++tries) {
      const double left = std::min(low.t, high.t), right = std::max(low.t, high.t), edge = 0.1 * (right - left);
      double t = between(low, high, left, right);
      if (std::min(right - t, t - left) >= edge) {
        slow = false;
      } else if (slow || t >= right || t <= left) {
        t = std::abs(t - right) < std::abs(t - left) ? right - edge : left + edge;
        slow = false;
      } else {
        slow = true;
      }
      Point now = look(t);
      if (too_high(now) || now.loss >= low.loss) {
        high = std::move(now);
        if (high.loss < low.loss) std::swap(low, high);
        continue;
      }
      if (flat_enough(now)) return now;
      if (now.slope * (high.t - low.t) >= 0) high = low;
      low = std::move(now);
    }
    return low;
  }

  const Variables& v_;
  const Tensor& direction_;
  Point start_;
  std::int64_t most_, looks_ = 0;
};

struct Memory {  // of past steps; torch's names
  Memory(Dict& state, Device device) : state_(state), device_(device) {
    read("func_evals", func_evals), read("n_iter", n_iter), read("t", t), read("prev_loss", prev_loss);
    read("H_diag", diagonal), read("d", direction), read("prev_flat_grad", gradient);
    read("old_dirs", changes), read("old_stps", steps), read("ro", inverse);
  }
  ~Memory() {  // also after an error of the closure
    state_["func_evals"] = func_evals, state_["n_iter"] = n_iter;
    if (n_iter == 0) return;
    state_["d"] = direction, state_["t"] = t, state_["prev_flat_grad"] = gradient, state_["prev_loss"] = prev_loss;
    state_["old_dirs"] = list(changes), state_["old_stps"] = list(steps), state_["ro"] = list(inverse);
    state_["H_diag"] = diagonal;
  }
  void remember(const Tensor& change, const Tensor& step, double curvature, std::size_t most) {
    if (changes.size() >= most)
      changes.erase(changes.begin()), steps.erase(steps.begin()), inverse.erase(inverse.begin());
    changes.push_back(change), steps.push_back(step), inverse.push_back(1 / curvature);
    diagonal = curvature / dot_of(change, change);
  }

  std::int64_t func_evals = 0, n_iter = 0;
  double t = 0, prev_loss = 0, diagonal = 1;
  Tensor direction, gradient;
  std::vector<Tensor> changes, steps;
  std::vector<double> inverse;

 private:
  template <class T> static nn::List list(const std::vector<T>& x) {
    nn::List l{{}, false};
    for (const T& e : x) l.items.emplace_back(e);
    return l;
  }
  void read(const char* name, std::int64_t& x) {
    if (const Value* v = state_.find(name)) x = std::int64_t(number_of(*v));
  }
  void read(const char* name, double& x) {
    if (const Value* v = state_.find(name)) x = number_of(*v);
  }
  void read(const char* name, Tensor& x) {
    const Value* v = state_.find(name);
    if (v && v->is<Tensor>()) x = v->get<Tensor>()->to(device_);
  }
  template <class T> void read(const char* name, std::vector<T>& x) {
    const Value* v = state_.find(name);
    const nn::List* l = v ? v->get<nn::List>() : nullptr;
    for (std::size_t i = 0; l && i < l->items.size(); ++i) {
      if constexpr (std::is_same_v<T, double>) x.push_back(number_of(l->items[i]));
      else x.push_back(nn::unbox<Tensor>(l->items[i]).to(device_));
    }
  }
  Dict& state_;
  Device device_;
};

// The gradient times the inverse curvature that past steps have shown: the two loops of the method.
Tensor direction_of(Memory& m, const Tensor& gradient, std::size_t most) {
  if (m.n_iter == 1) {
    m.changes.clear(), m.steps.clear(), m.inverse.clear(), m.diagonal = 1;
    return neg(gradient);
  }
  const Tensor change = gradient - m.gradient, step = m.direction * m.t;
  const double curvature = dot_of(change, step);
  if (curvature > 1e-10) m.remember(change, step, curvature, most);
  Tensor d = neg(gradient);
  std::vector<double> factors(m.changes.size());
  for (std::size_t i = factors.size(); i-- > 0;) {
    factors[i] = dot_of(m.steps[i], d) * m.inverse[i];
    add_(d, m.changes[i], -factors[i]);
  }
  mul_(d, m.diagonal);
  for (std::size_t i = 0; i < factors.size(); ++i)
    add_(d, m.steps[i], factors[i] - dot_of(m.changes[i], d) * m.inverse[i]);
  return d;
}

}  // namespace

Tensor detail::lbfgs_step(const std::vector<Tensor>& params, const LBFGSOptions& o, Dict& state,
                          const std::function<Tensor()>& closure) {
  NoGrad guard;
  const Variables v(params, closure);
  const Tensor first = v.evaluate();
  Memory m(state, params.at(0).device());
  ++m.func_evals;
  const std::int64_t most = max_eval_of(o);
  double loss = first.item<double>();
  Tensor gradient = v.gradient();
  std::int64_t evaluations = 1;
  for (std::int64_t i = 1; i <= o.max_iter && largest(gradient) > o.tolerance_grad; ++i) {
    ++m.n_iter;
    m.direction = direction_of(m, gradient, std::size_t(o.history_size));
    m.t = m.n_iter == 1 ? std::min(1.0, 1 / sum(abs(gradient)).item<double>()) * o.lr : o.lr;
    m.gradient = gradient, m.prev_loss = loss;
    const double slope = dot_of(gradient, m.direction);
    if (slope > -o.tolerance_change) break;
    std::int64_t again = 1;
    if (o.line_search_fn) {
      Search search(v, m.direction, {0, loss, gradient, slope}, most - evaluations);
      const Point best = search.run(m.t);
      m.t = best.t, loss = best.loss, gradient = best.gradient, again = search.looks();
      v.move(best.t, m.direction);
    } else {
      v.move(m.t, m.direction);
      if (i == o.max_iter) break;  // the closure's result would not be used
      loss = v.evaluate().item<double>(), gradient = v.gradient();
    }
    evaluations += again, m.func_evals += again;
    const bool still = largest(m.direction) * std::abs(m.t) <= o.tolerance_change;
    if (evaluations >= most || still || std::abs(loss - m.prev_loss) < o.tolerance_change) break;
  }
  return first;
}

namespace {

Dict defaults_of(LBFGSOptions o) {
  o.max_eval = detail::max_eval_of(o);
  return detail::dict_of(o);
}

}  // namespace

LBFGS::LBFGS(std::vector<Tensor> params, const LBFGSOptions& o)
    : Optimizer(one_group(std::move(params)), defaults_of(o)) {
  LBFGS::check_group(param_groups()[0]);
}
void LBFGS::add_param_group(ParamGroup g) {
  check<ValueError>(param_groups().empty(),
                    [] { return std::string("LBFGS: expected one parameter group, got another"); });
  Optimizer::add_param_group(std::move(g));
}
void LBFGS::check_group(const ParamGroup& g) const {
  detail::check_options("LBFGS", detail::options_of<LBFGSOptions>(g));
}
void LBFGS::update(ParamGroup&) {
  throw ValueError("LBFGS: expected a closure that computes the loss and its gradients, got none; call step(closure)");
}
Tensor LBFGS::step(const std::function<Tensor()>& closure) {
  const ParamGroup& g = param_groups()[0];
  check_group(g);
  return detail::lbfgs_step(g.params, detail::options_of<LBFGSOptions>(g), state(g.params[0]).values, closure);
}

}  // namespace neura::optim
