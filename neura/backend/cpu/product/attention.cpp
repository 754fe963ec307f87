// Attention: the scores of a block of queries against all keys they see stay in the L2 cache, where they become
// probabilities. The gradients compute them again.
#include <algorithm>

#include "neura/backend/cpu/norm/softmax.h"
#include "neura/backend/cpu/product/gemm_batched.h"
#include "neura/backend/cpu/parallel_units.h"
#include "neura/backend/kernels/attention.h"

namespace neura {
namespace {

constexpr int64_t round16(int64_t n) { return (n + 15) / 16 * 16; }

template <class T> class Attention {
 public:
  Attention(View q, View k, View v, View mask, const AttentionShape& shape)
      : shape_(shape),
        queries_(q.size(q.rank() - 2)),
        keys_(k.size(q.rank() - 2)),
        size_(q.size(q.rank() - 1)),
        values_(v.size(q.rank() - 1)),
        masked_(mask) {
    heads_.rank = q.rank() - 2;
    for (int d = 0; d < heads_.rank; ++d) heads_.batch[d] = q.size(d);
    q_ = of(q), k_ = of(k), v_ = of(v);
    if (masked_) mask_ = of(mask);
    const int64_t fitting = kScores / int64_t(sizeof(T)) / keys_ / kernels_.height;
    block_ = std::clamp<int64_t>(fitting, 4, 16) * kernels_.height;
    blocks_ = parts(queries_, block_), pitch_ = round16(keys_) + 16;
    parts_ = std::min(parts(kUnits, heads_.count()), blocks_);
  }

  void forward(Context& c, T* y) const {
    const int64_t panel = wide(keys_) * size_;
    const int64_t rows = panel + wide(values_) * keys_, scores = rows + round16(block_ * size_);
    parallel_units<T>(c, heads_.count() * parts_, scores + block_ * pitch_, work(2), [&](int64_t unit, T* space) {
      const Head h = head(unit / parts_);
      kernels_.pack_b(h.k, k_.column, k_.row, size_, keys_, space);
      kernels_.pack_b(h.v, v_.row, v_.column, keys_, values_, space + panel);
      for (int64_t i = unit % parts_; i < blocks_; i += parts_) {
        const Block b = block(i);
        T* const s = space + scores;
        probabilities(h, b, space, space + rows, s);
        product({s, pitch_, 1}, b.rows, b.keys, space + panel, keys_, values_,
                y + (unit / parts_ * queries_ + b.begin) * values_, T(1), false);
      }
    });
  }

  void backward(Context& c, View g, T* gq, T* gk, T* gv) {
    g_ = of(g);
    const int64_t count = heads_.count(), more = count * (parts_ - 1);  // partial sums besides the results
    T* const partial = c.scratch_of<T>(more * keys_ * (size_ + values_));
    const Space at(*this);
    parallel_units<T>(c, count * parts_, at.end, work(5), [&](int64_t unit, T* space) {
      const int64_t n = unit / parts_, part = unit % parts_;
      T* const sums = partial + (n * (parts_ - 1) + part - 1) * keys_ * (size_ + values_);
      gradients(n, part, space, at, gq + n * queries_ * size_, part ? sums : gk + n * keys_ * size_,
                part ? sums + keys_ * size_ : gv + n * keys_ * values_);
    });
    if (parts_ > 1)
      parallel_for(count, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin * (parts_ - 1); i < end * (parts_ - 1); ++i) {
          const T* const sums = partial + i * keys_ * (size_ + values_);
          T *const k = gk + i / (parts_ - 1) * keys_ * size_, *const v = gv + i / (parts_ - 1) * keys_ * values_;
          kernels_.axpy(T(1), sums, k, keys_ * size_);
          kernels_.axpy(T(1), sums + keys_ * size_, v, keys_ * values_);
        }
      });
  }

 private:
  static constexpr int64_t kScores = 1 << 17;  // bytes of a block of them, where the keys are not too many
  static constexpr int64_t kUnits = 8;         // fewer heads than that are cut into parts, for threads to share

  struct Head {
    const T *q, *k, *v, *mask, *g;
  };
  struct Block {  // of queries, and the keys that some of them see
    int64_t begin, rows, keys;
  };
  struct Left {  // a first operand that is read in place
    const T* data;
    int64_t row, column;
  };
  struct Space {  // of the gradients, for one unit: where each operand's panels begin
    explicit Space(const Attention& a)
        : v(a.wide(a.keys_) * a.size_),
          k_left(v + a.wide(a.keys_) * a.values_),
          q_rows(k_left + a.wide(a.size_) * a.keys_),
          g_rows(q_rows + round16(a.block_ * a.size_)),
          q_panel(g_rows + round16(a.block_ * a.values_)),
          g_panel(q_panel + a.wide(a.size_) * a.block_),
          scores(round16(g_panel + a.wide(a.values_) * a.block_)),
          slopes(scores + a.block_ * a.pitch_),
          end(slopes + a.block_ * a.pitch_) {}
    int64_t v, k_left, q_rows, g_rows, q_panel, g_panel, scores, slopes, end;
  };

  MatrixBatch<const T> of(View x) const { return matrices<const T>(x.as<T>(), *x.spec, heads_.rank + 2); }
  Head head(int64_t n) const {
    return {heads_.at(q_, n), heads_.at(k_, n), heads_.at(v_, n), masked_ ? heads_.at(mask_, n) : nullptr,
            g_.data ? heads_.at(g_, n) : nullptr};
  }
  Block block(int64_t i) const {
    const int64_t begin = i * block_, end = std::min(queries_, begin + block_);
    return {begin, end - begin, shape_.causal ? std::min(end, keys_) : keys_};
  }
  int64_t seen(const Block& b, int64_t row) const { return shape_.causal ? std::min(b.begin + row + 1, keys_) : keys_; }
  int64_t wide(int64_t columns) const { return parts(columns, kernels_.width) * kernels_.width; }
  double work(double products) const {
    return double(heads_.count()) * double(queries_) * double(keys_) * double(size_ + values_) / 2 * products;
  }

  // c = alpha * a b (+ c); of b the first `depth` of the `all` rows of each of its slivers.
  void product(Left a, int64_t rows, int64_t depth, const T* b, int64_t all, int64_t columns, T* c, T alpha,
               bool add) const {
    const int64_t cuts = parts(depth, kGemmDepth);
    const int64_t at_once = a.row == 1 ? 8 * kernels_.height : rows;  // of which whole lines of the cache are used up
    for (int64_t row = 0; row < rows; row += at_once)
      for (int64_t j = 0; j < columns; j += kernels_.width)
        for (int64_t cut = 0; cut < cuts; ++cut) {
          const int64_t k = part_begin(depth, cuts, cut), width = std::min<int64_t>(kernels_.width, columns - j);
          T* const to = c + row * columns + j;
          GemmBlock<T> g{std::min(at_once, rows - row),
                         width,
                         part_begin(depth, cuts, cut + 1) - k,
                         {a.data + row * a.row + k * a.column, false, a.row, a.column},
                         {b + j * all + k * kernels_.width},
                         to,
                         columns,
                         {}};
          g.epilogue.alpha = alpha;
          if (add || k) g.epilogue.init = to, g.epilogue.init_row = columns, g.epilogue.init_column = 1;
          kernels_.block(g);
        }
  }
  // s = a b + init, of packed operands; s as wide as the pitch.
  void scores(const T* a, const T* b, const Block& at, int64_t depth, T* s, GemmEpilogue<T> epilogue) const {
    kernels_.block({at.rows, at.keys, depth, {a}, {b}, s, pitch_, epilogue});
  }
  void probabilities(const Head& h, const Block& b, const T* k_panel, T* q_rows, T* s) const {
    kernels_.pack_a(h.q + b.begin * q_.row, q_.row, q_.column, b.rows, size_, q_rows);
    GemmEpilogue<T> epilogue{T(shape_.scale)};
    if (h.mask) epilogue = {T(shape_.scale), h.mask + b.begin * mask_.row, mask_.row, mask_.column};
    scores(q_rows, k_panel, b, size_, s, epilogue);
    const SoftmaxKind kind = masked_ || shape_.causal ? SoftmaxKind::safe_softmax : SoftmaxKind::softmax;
    for (int64_t r = 0; r < b.rows; ++r) {
      T* const row = s + r * pitch_;
      lines_.row[int(kind)](row, row, seen(b, r));
      std::fill(row + seen(b, r), row + b.keys, T(0));
    }
  }

  // Those of head n, from every parts_-th block of queries.
  void gradients(int64_t n, int64_t part, T* space, const Space& at, T* gq, T* gk, T* gv) const {
    const Head h = head(n);
    kernels_.pack_b(h.k, k_.column, k_.row, size_, keys_, space);
    kernels_.pack_b(h.v, v_.column, v_.row, values_, keys_, space + at.v);
    kernels_.pack_b(h.k, k_.row, k_.column, keys_, size_, space + at.k_left);
    std::fill_n(gk, keys_ * size_, T(0)), std::fill_n(gv, keys_ * values_, T(0));
    T *const s = space + at.scores, *const slopes = space + at.slopes;
    for (int64_t i = part; i < blocks_; i += parts_) {
      const Block b = block(i);
      const T *const q = h.q + b.begin * q_.row, *const g = h.g + b.begin * g_.row;
      probabilities(h, b, space, space + at.q_rows, s);
      kernels_.pack_b(g, g_.row, g_.column, b.rows, values_, space + at.g_panel);
      product({s, 1, pitch_}, b.keys, b.rows, space + at.g_panel, b.rows, values_, gv, T(1), true);
      kernels_.pack_a(g, g_.row, g_.column, b.rows, values_, space + at.g_rows);
      scores(space + at.g_rows, space + at.v, b, values_, slopes, {});
      for (int64_t r = 0; r < b.rows; ++r) {
        T* const row = slopes + r * pitch_;
        lines_.row_backward[0](row, s + r * pitch_, row, seen(b, r));
        std::fill(row + seen(b, r), row + b.keys, T(0));
      }
      product({slopes, pitch_, 1}, b.rows, b.keys, space + at.k_left, keys_, size_, gq + b.begin * size_,
              T(shape_.scale), false);
      kernels_.pack_b(q, q_.row, q_.column, b.rows, size_, space + at.q_panel);
      product({slopes, 1, pitch_}, b.keys, b.rows, space + at.q_panel, b.rows, size_, gk, T(shape_.scale), true);
    }
  }

  const AttentionShape shape_;
  const int64_t queries_, keys_, size_, values_;
  const bool masked_;
  BatchSizes heads_;
  MatrixBatch<const T> q_, k_, v_, mask_, g_;
  const GemmKernels<T>& kernels_ = gemm_kernels<T>();
  const SoftmaxLines<T>& lines_ = softmax_lines<T>();
  int64_t block_, blocks_, pitch_, parts_;
};

AttentionSupport supports(const Spec& q, const Spec&, const Spec&, bool, const AttentionShape&) {
  return bit(q.dtype) & dtypes::halves ? AttentionSupport::none : AttentionSupport::plain;
}
void forward(Context& c, View q, View k, View v, View mask, const AttentionShape& shape, View y, View) {
  if (y.dtype() == DType::float64) return Attention<double>(q, k, v, mask, shape).forward(c, y.as<double>());
  Attention<float>(q, k, v, mask, shape).forward(c, y.as<float>());
}
void backward(Context& c, View g, View q, View k, View v, View mask, View, View, const AttentionShape& shape, View gq,
              View gk, View gv) {
  if (gq.dtype() == DType::float64)
    return Attention<double>(q, k, v, mask, shape).backward(c, g, gq.as<double>(), gk.as<double>(), gv.as<double>());
  Attention<float>(q, k, v, mask, shape).backward(c, g, gq.as<float>(), gk.as<float>(), gv.as<float>());
}

}  // namespace

const attention_kernels* cpu_attention() {
  static constexpr attention_kernels kernels = {.supports = &supports, .forward = &forward, .backward = &backward};
  return &kernels;
}

}  // namespace neura
