// Random tensors, and tensors that are filled with random numbers.
#include "neura/surface/list.h"
#include "neura/surface/options.h"

namespace neura::surface {
namespace {

using T = const Tensor&;
using N = std::int64_t;
using G = Generator*;
using R = const OptionsRandom&;
using L = const OptionsRandomLike&;

template <Tensor (*f)(const Shape&, const neura::RandomOptions&)> Tensor drawn(const Shape& size, R o) {
  return pinned(o.pin_memory, f(size, o));
}
template <Tensor (*f)(T, const LikeOptions&, G)> Tensor drawn_like(T x, L o) {
  return make_like(o, [&](const LikeOptions& given) { return f(x, given, o.generator); });
}

void add_drawn(const List& s) {
  s.add("rand(*size, **options)", &drawn<rand>, function | out,
        "A tensor of this size of uniform random numbers in [0, 1).");
  s.add("randn(*size, **options)", &drawn<randn>, function | out,
        "A tensor of this size of standard normal random numbers.");
  s.add("rand_like(input, **options)", &drawn_like<rand_like>, function,
        "A tensor like input of uniform random numbers in [0, 1).");
  s.add("randn_like(input, **options)", &drawn_like<randn_like>, function,
        "A tensor like input of standard normal random numbers.");
  s.add(
      "randint(high, size, **options)",
      [](N high, const Shape& size, R o) { return pinned(o.pin_memory, randint(high, size, o)); }, function | out,
      "A tensor of this size of random integers in [low, high), low 0 if left out: int64. ValueError where there are "
      "none.");
  s.add(
      "randint(low, high, size, **options)",
      [](N low, N high, const Shape& size, R o) { return pinned(o.pin_memory, randint(low, high, size, o)); },
      function | out);
  s.add(
      "randint_like(input, high, **options)",
      [](T x, N high, L o) {
        return make_like(o, [&](const LikeOptions& given) { return randint_like(x, high, given, o.generator); });
      },
      function, "A tensor like input of random integers in [low, high), low 0 if left out.");
  s.add(
      "randint_like(input, low, high, **options)",
      [](T x, N low, N high, L o) {
        return make_like(o, [&](const LikeOptions& given) { return randint_like(x, low, high, given, o.generator); });
      },
      function);
  s.add(
      "randperm(n, **options)", [](N n, R o) { return pinned(o.pin_memory, randperm(n, o)); }, function | out,
      "A random permutation of 0 to n - 1: int64.");
}

void add_distributions(const List& s) {
  s.add(
      "normal(mean, std, *, generator=None)", [](T m, T d, G g) { return normal(m, d, g); }, function | out,
      "Normal random numbers with this mean and standard deviation, each a tensor or a number; two numbers need a "
      "size. ValueError for a negative std.");
  s.add(
      "normal(mean, std=1.0, *, generator=None)", [](T m, double d, G g) { return normal(m, d, g); }, function | out);
  s.add(
      "normal(mean, std, *, generator=None)", [](double m, T d, G g) { return normal(m, d, g); }, function | out);
  s.add(
      "normal(mean, std, size, **options)",
      [](double m, double d, const Shape& size, R o) { return pinned(o.pin_memory, normal(m, d, size, o)); },
      function | out);
  s.add(
      "bernoulli(input, *, generator=None)", [](T x, G g) { return bernoulli(x, g); }, both | out,
      "1 with probability p (of each element of input, or one number), else 0; the dtype is that of input. ValueError "
      "for a p outside of [0, 1].");
  s.add(
      "bernoulli(input, p, *, generator=None)", [](T x, double p, G g) { return bernoulli(x, p, g); }, both | out);
}

void add_in_place(const List& s) {
#include "neura/surface/entries.h"
#include "neura/tables/functions/random.def"
#include "neura/tables/functions/end.h"
  s.add(
      "bernoulli_(input, p, *, generator=None)", [](Tensor& x, T p, G g) { bernoulli_(x, p, g); }, method,
      "In place. 1 with probability p, a tensor or a number, else 0.");
  s.add(
      "bernoulli_(input, p=0.5, *, generator=None)", [](Tensor& x, double p, G g) { bernoulli_(x, p, g); }, method);
  s.add(
      "random_(input, *, generator=None)", [](Tensor& x, G g) { random_(x, g); }, method,
      "In place. Draws every element from the integers from .. to - 1; without them, from all that the dtype holds.");
  s.add(
      "random_(input, to, *, generator=None)", [](Tensor& x, N to, G g) { random_(x, to, g); }, method);
  s.add(
      "random_(input, from, to, *, generator=None)", [](Tensor& x, N from, N to, G g) { random_(x, from, to, g); },
      method);
}

}  // namespace

void add_random(std::deque<Function>& all) {
  const List s(all, "");
  add_drawn(s);
  add_distributions(s);
  add_in_place(s);
}

}  // namespace neura::surface
