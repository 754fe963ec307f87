// Connectionist temporal classification. A path goes through the states blank, label, blank, label, …, blank: at each
// time it stays, advances by one, or passes over the blank between two labels that differ. All sums are of logarithms.
#include <cmath>
#include <limits>

#include "neura/backend/cpu/loss/loss_lines.h"
#include "neura/core/parallel.h"

namespace neura {
namespace {

constexpr std::int64_t kState = 20;  // one at a time, counted in additions

template <class T> constexpr T kNever = -std::numeric_limits<T>::infinity();

// One of the batch, and what it works in.
template <class T> struct Sample {
  const T* x;
  std::int64_t step, times, states;
  std::int64_t* label;  // of each state
  T* pass;              // 0 where a path may come from two states before, else -inf
  T* scores;            // x of each state at one time
  T *row, *next;        // of states; padded by two -inf on both sides
  const T* at(std::int64_t time) const { return x + time * step; }
  void read(std::int64_t time) {
    for (std::int64_t i = 0; i < states; ++i) scores[i] = at(time)[label[i]];
  }
};

template <class T> class Batch {
 public:
  const std::int64_t samples, most_labels, classes;
  Batch(Context& c, const CtcOperands& o, std::int64_t blank)
      : samples(o.x.size(1)),
        most_labels(o.targets.size(1)),
        classes(o.x.size(2)),
        x_(o.x),
        times_(o.times.as<std::int64_t>()),
        labels_(o.labels.as<std::int64_t>()),
        targets_(o.targets.as<std::int64_t>()),
        blank_(blank),
        states_(c.scratch_of<std::int64_t>(samples * width())),
        rows_(c.scratch_of<T>(samples * 4 * (width() + 4))) {}

  std::int64_t width() const { return 2 * most_labels + 1; }
  bool valid(Context& c) const {
    for (std::int64_t n = 0; n < samples; ++n) {
      if (times_[n] < 0 || times_[n] > x_.size(0)) return c.fail_index(times_[n], x_.size(0) + 1), false;
      if (labels_[n] < 0 || labels_[n] > most_labels) return c.fail_index(labels_[n], most_labels + 1), false;
      for (std::int64_t i = 0; i < labels_[n]; ++i) {
        const std::int64_t label = targets_[n * most_labels + i];
        if (label < 0 || label >= classes) return c.fail_index(label, classes), false;
      }
    }
    return true;
  }
  Sample<T> sample(std::int64_t n) const {
    const std::int64_t room = width() + 4, states = 2 * labels_[n] + 1;
    T* rows = rows_ + n * 4 * room;
    std::fill(rows, rows + 4 * room, kNever<T>);
    Sample<T> s{
        x_.as<T>() + n * x_.stride(1), x_.stride(0),       times_[n], states, states_ + n * width(), rows, rows + room,
        rows + 2 * room + 2,           rows + 3 * room + 2};
    for (std::int64_t i = 0; i < states; ++i) s.label[i] = i % 2 ? targets_[n * most_labels + i / 2] : blank_;
    for (std::int64_t i = 2; i < states; ++i)
      if (s.label[i] != s.label[i - 2]) s.pass[i] = 0;
    return s;
  }
  // f(n) for every sample, on all threads.
  template <class F> void run(const F& f) const {
    const std::int64_t work = x_.size(0) * (width() * kState + classes);
    parallel_for(samples, kSerial / work + 1, [&](std::int64_t n, std::int64_t end) {
      for (; n < end; ++n) f(n);
    });
  }

 private:
  const View x_;
  const std::int64_t *times_, *labels_, *targets_, blank_;
  std::int64_t* states_;
  T* rows_;
};

// The loss of a sample. Of each time a row of alpha is kept, if there is one.
template <class T> T forward_of(Sample<T> s, T* alpha, std::int64_t width) {
  if (!s.times) return s.states == 1 ? T(0) : -kNever<T>;
  for (std::int64_t t = 0; t < s.times; ++t) {
    s.read(t);
    if (t == 0) std::copy_n(s.scores, std::min<std::int64_t>(2, s.states), s.next);
    else loss_lines<T>().paths(s.row, s.row - 1, s.row - 2, s.pass, s.scores, s.next, s.states);
    std::swap(s.row, s.next);
    if (alpha) std::copy_n(s.row, s.states, alpha + t * width);
  }
  const T a = s.row[s.states - 1], b = s.states > 1 ? s.row[s.states - 2] : kNever<T>, most = std::max(a, b);
  return most == kNever<T> ? -(a + b) : -(most + std::log(std::exp(a - most) + std::exp(b - most)));
}

template <class T>
void forward(Context& c, const CtcOperands& o, std::int64_t blank, const View& loss, const View& alpha) {
  const Batch<T> batch(c, o, blank);
  if (!batch.valid(c)) return;
  const std::int64_t width = batch.width(), times = o.x.size(0);
  batch.run([&](std::int64_t n) {
    T* kept = alpha ? alpha.as<T>() + n * times * width : nullptr;
    loss.as<T>()[n] = forward_of(batch.sample(n), kept, width);
  });
}

// g exp(x) of all classes; the line's exp is for numbers that are not far above 0.
template <class T> void exponentials(const T* x, T g, T* to, std::int64_t n) {
  if (std::all_of(x, x + n, [](T v) { return v < T(16); }))
    return loss_lines<T>().backward(x, nullptr, T(0), T(0), g, T(0), to, n);
  for (std::int64_t i = 0; i < n; ++i) to[i] = g * std::exp(x[i]);
}

// As torch has it, for x that came from log_softmax: g (exp(x) - the part of all paths that is in this class).
template <class T> void slopes(Sample<T> s, T g, T loss, const T* alpha, std::int64_t width, T* gx,
                               std::int64_t to_next, std::int64_t classes) {
  for (std::int64_t t = s.times; t-- > 0;) {  // row: the logarithm of all ends of paths that begin in each state
    s.read(t);
    if (t == s.times - 1) {
      for (std::int64_t i = std::max<std::int64_t>(0, s.states - 2); i < s.states; ++i) s.next[i] = s.scores[i];
    } else {
      loss_lines<T>().paths(s.row, s.row + 1, s.row + 2, s.pass + 2, s.scores, s.next, s.states);
    }
    std::swap(s.row, s.next);
    T* to = gx + t * to_next;
    exponentials(s.at(t), g, to, classes);
    loss_lines<T>().shares(alpha + t * width, s.row, s.scores, loss, s.next, s.states);
    for (std::int64_t i = 0; i < s.states; ++i) to[s.label[i]] -= g * s.next[i];
  }
}

template <class T> void backward(Context& c, const View& g, const CtcOperands& o, const View& loss, const View& alpha,
                                 std::int64_t blank, bool zero_infinity, const View& gx) {
  const Batch<T> batch(c, o, blank);
  if (!batch.valid(c)) return;
  const std::int64_t width = batch.width(), times = o.x.size(0), to_next = batch.samples * batch.classes;
  batch.run([&](std::int64_t n) {
    const Sample<T> s = batch.sample(n);
    const T value = loss.as<T>()[n], incoming = g.as<T>()[n * g.stride(0)];
    T* to = gx.as<T>() + n * batch.classes;
    const bool never = value == -kNever<T>;
    if (!never) slopes(s, incoming, value, alpha.as<T>() + n * times * width, width, to, to_next, batch.classes);
    for (std::int64_t t = never ? 0 : s.times; t < times; ++t) {
      const bool nan = never && !zero_infinity && t < s.times;
      std::fill_n(to + t * to_next, batch.classes, nan ? std::numeric_limits<T>::quiet_NaN() : T(0));
    }
  });
}

bool wide(const CtcOperands& o) { return o.x.dtype() == DType::float64; }

}  // namespace

void cpu_ctc_loss(Context& c, const CtcOperands& o, std::int64_t blank, View loss, View alpha) {
  (wide(o) ? forward<double> : forward<float>)(c, o, blank, loss, alpha);
}
void cpu_ctc_loss_backward(Context& c, View g, const CtcOperands& o, View loss, View alpha, std::int64_t blank,
                           bool zero_infinity, View gx) {
  (wide(o) ? backward<double> : backward<float>)(c, g, o, loss, alpha, blank, zero_infinity, gx);
}

}  // namespace neura
