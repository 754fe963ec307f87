// The rule of each row under vmap. A table of its own: operations know no transforms.
#include "neura/autograd/vmap_rules.h"

#include <string>
#include <unordered_map>

#include "neura/op/pointwise/pointwise.h"
#include "neura/op/struct_operations.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/shape/view.h"

namespace neura {
namespace {

class Editor final : public FieldVisitor {
 public:
  Editor(unsigned edits, std::int64_t batch) : edits_(edits), batch_(batch) {}
  void boolean(FieldName, bool&) override {}
  void real(FieldName, double&) override {}
  void scalar(FieldName, Scalar&) override {}
  void dtype(FieldName, DType&) override {}
  void device(FieldName, Device&) override {}
  void integer(FieldName n, std::int64_t& v) override {
    if (!n.text.empty()) {
      const bool is_dim = n.text == "dim" || n.text == "dim1" || n.text == "dim2" || n.text == "first";
      if (edits_ & kDim && is_dim) ++v;
      if (edits_ & kMask && n.text == "dims") v <<= 1;
    } else if (list_ == "dims" && edits_ & kDims) {
      ++v;
    } else if (list_ == "dims" && edits_ & kPermute) {
      v = std::exchange(next_, v + 1);
    } else if (list_ == "size" && edits_ & kSize) {
      v = std::exchange(next_, v);
    } else if (list_ == "sizes" && edits_ & kFold) {
      v *= std::exchange(next_, 1);
    }
  }
  std::size_t begin(FieldName n, std::size_t size, bool) override {
    list_ = n.text;
    if (list_ == "dims" && edits_ & kPermute) return next_ = 0, size + 1;
    if (list_ == "size" && edits_ & kSize) return next_ = batch_, size + 1;
    if (list_ == "sizes" && edits_ & kFold) next_ = batch_;
    return size;
  }
  void end() override { list_ = {}; }

 private:
  const unsigned edits_;
  const std::int64_t batch_;
  std::int64_t next_ = 0;
  std::string_view list_;
};

// Broadcasting counts a sample's dimensions, and so does promotion: 0-d tensors give way to those with dimensions.
void promote_samples(BatchCall& b) {
  DType first = DType::boolean;
  bool mixed = false, seen = false;
  for (std::size_t i = b.row().types.mask_first; i < b.in.size(); ++i) {
    if (!b.in[i]) continue;
    mixed |= seen && b.in[i].dtype() != first;
    first = b.in[i].dtype(), seen = true;
  }
  if (!mixed) return;
  const DType common = promoted(b.call);
  for (std::size_t i = b.row().types.mask_first; i < b.in.size(); ++i)
    if (b.in[i] && b.rank(int(i)) == 0) b.in[i] = to(b.in[i], common);
}

using Rules = std::unordered_map<const Row*, BatchRule>;
void views_and_copies(Rules& r);
void reductions(Rules& r);
void products(Rules& r);
void indices(Rules& r);
void layers(Rules& r);
void algebra(Rules& r);

const Rules& rules() {
  static const Rules all = [] {
    Rules r;
    views_and_copies(r), reductions(r), products(r), indices(r), layers(r), algebra(r);
    return r;
  }();
  return all;
}

}  // namespace

BatchRule batch_rule(const Row& row) {
  if (row.kind == Row::pointwise || row.kind == Row::slope) return &aligned;
  const auto at = rules().find(&row);
  return at == rules().end() ? nullptr : at->second;
}

BatchedAttributes::BatchedAttributes(const BatchCall& b, unsigned edits) : op_(b.row(), b.call.op) {
  Editor editor(edits, b.size());
  if (edits) b.row().visit(op_.get(), editor);
}

void shift(BatchCall& b, unsigned edits) {
  b.batch_all();
  bool bare = false;
  for (int i = 0; i < b.call.inputs; ++i)
    if (edits & (kDim | kMask) && b.in[std::size_t(i)] && b.rank(i) == 0) b.pad(i, 1), bare = true;
  if (b.row().kind != Row::view) b.lay_out();
  BatchedAttributes op(b, edits);
  if (!bare) return b.finish(b.row(), op.get());
  if (b.call.destination != Destination::fresh) return loop_over_samples(b);
  const Row& row = b.row();
  std::vector<const Spec*> specs;
  static const Spec none = [] {
    Spec s;
    s.rank = kAbsent;
    return s;
  }();
  for (int i = 0; i < b.call.inputs; ++i) specs.push_back(b.call.in[i].is_tensor() ? &b.spec(i) : &none);
  Spec sample[kMaxOutputs];
  row.infer(b.call.op, specs.data(), b.call.inputs, sample);
  std::vector<Operand> operands(b.in.begin(), b.in.end());
  Tensor out[kMaxOutputs];
  Call inner{&row, op.get(), operands.data(), b.call.inputs, out};
  apply(inner);
  for (int k = 0; k < row.outputs; ++k) {
    Shape sizes = sample[k].sizes();
    sizes.insert(0, b.size());
    b.set_result(k, reshape(out[k], sizes));
  }
}

Tensor fold(const Tensor& t, int into) {
  const Tensor moved = into ? movedim(t, 0, into) : t;
  Shape sizes = moved.shape();
  sizes[into] *= sizes[into + 1], sizes.erase(into + 1);
  return reshape(moved, sizes);
}
Tensor unfold_batch(const Tensor& t, int from, std::int64_t size) {
  Shape sizes = t.shape();
  sizes.insert(from, size);
  sizes[from + 1] = size ? sizes[from + 1] / size : 0;
  const Tensor apart = reshape(t, sizes);
  return from ? movedim(apart, from, 0) : apart;
}

void fold_samples(BatchCall& b, unsigned edits) {
  if (b.call.destination != Destination::fresh) return loop_over_samples(b);
  b.batch_all(), b.lay_out();
  std::vector<Operand> operands(b.call.in, b.call.in + b.call.inputs);
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (b.in[i]) b.in[i] = contiguous(fold(b.in[i], 0)), operands[i] = Operand(b.in[i]);
  Tensor out[kMaxOutputs];
  BatchedAttributes op(b, edits);
  Call inner{&b.row(), op.get(), operands.data(), b.call.inputs, out};
  apply(inner);
  for (int k = 0; k < b.row().outputs; ++k)
    if (out[k]) b.set_result(k, unfold_batch(out[k], 0, b.size()));
}

void aligned(BatchCall& b) {
  const bool slope = b.row().kind == Row::slope;
  if (slope) b.batch(0);  // the result has its sizes
  int rank = 0;
  for (int i = 0; i < b.call.inputs; ++i)
    if (b.in[std::size_t(i)]) rank = std::max(rank, b.rank(i));
  if (b.row().kind == Row::pointwise) promote_samples(b);
  for (int i = 0; i < b.call.inputs; ++i) b.pad(i, rank);
  b.finish(b.row(), b.call.op);
}

namespace {

namespace op = operations;

void views_and_copies(Rules& r) {
  for (const Row* row : {&op::to(), &op::to_device(), &op::lazy_clone(), &op::fill(), &op::zero(), &op::view_as_real(),
                         &op::view_as_complex(), &op::tril(), &op::triu(), &op::one_hot()})
    r[row] = &shifted<kNothing>;
  for (const Row* row :
       {&op::copy(), &op::fill_(), &op::masked_fill_(), &op::put_(), &op::masked_scatter_(), &op::index_put_()})
    r[row] = &aligned;
  for (const Row* row : {&op::select(), &op::unbind(), &op::slice(), &op::split(), &op::diagonal(), &op::cat()})
    r[row] = &shifted<kDim>;
  r[&op::permute()] = &shifted<kPermute>;
  r[&op::flip()] = r[&op::roll()] = &shifted<kDims>;
  r[&op::expand()] = &batched_expand, r[&op::view()] = &batched_view;
  for (const Row* row : {&op::as_strided(), &op::strided_gather(), &op::strided_sum(), &op::strided_put()})
    r[row] = &batched_strided;
  r[&op::unfold()] = &shifted<kDim>;
}

void reductions(Rules& r) {
  for (const Row* row : {&op::sum(), &op::mean(), &op::nansum(), &op::prod(), &op::amax(), &op::amin(), &op::any(),
                         &op::all(), &op::var(), &op::std(), &op::logsumexp(), &op::norm()})
    r[row] = &shifted<kMask>;
  for (const Row* row : {&op::max(),
                         &op::min(),
                         &op::argmax(),
                         &op::argmin(),
                         &op::cumsum(),
                         &op::cumprod(),
                         &op::shift(),
                         &op::recurrence(),
                         &op::cummax(),
                         &op::cummin(),
                         &op::logcumsumexp(),
                         &op::sort(),
                         &op::topk(),
                         &op::kthvalue(),
                         &op::median(),
                         &op::nanmedian(),
                         &op::mode(),
                         &op::softmax(),
                         &op::log_softmax(),
                         &op::_safe_softmax(),
                         &op::softmax_backward(),
                         &op::log_softmax_backward()})
    r[row] = &shifted<kDim>;
  r[&op::searchsorted()] = &shifted<kNothing>;
}

void products(Rules& r) {
  r[&op::matmul()] = &batched_matmul, r[&op::addmm()] = &batched_addmm, r[&op::linear()] = &batched_linear;
  r[&op::convolution()] = &batched_convolution;
  r[&op::convolution_backward_input()] = &batched_convolution_input;
  r[&op::convolution_backward_weight()] = &batched_convolution_weight;
  r[&op::im2col()] = r[&op::fold()] = &folded<>;
  for (const Row* row : {&op::_fft_c2c(), &op::_fft_r2c(), &op::_fft_c2r()}) r[row] = &shifted<kDims>;
}

void indices(Rules& r) {
  r[&op::index_select()] = &batched_index_select, r[&op::gather()] = &shifted<kDim>;
  for (const Row* row :
       {&op::index_add(), &op::index_copy(), &op::index_fill(), &op::index_reduce(), &op::scatter(), &op::scatter_add(),
        &op::scatter_reduce(), &op::put(), &op::masked_scatter(), &op::index_put()})
    r[row] = &batched_index_write;
  for (const Row* row : {&op::positions_index(), &op::positions_index_put(), &op::positions_take(),
                         &op::positions_put(), &op::positions_take_along_dim()})
    r[row] = &shifted<kNothing>;
  r[&op::embedding()] = &batched_embedding, r[&op::embedding_dense_backward()] = &batched_embedding_backward;
}

void layers(Rules& r) {
  r[&op::layer_norm()] = r[&op::rms_norm()] = &batched_layer_norm;
  r[&op::layer_norm_backward()] = r[&op::rms_norm_backward()] = &batched_layer_norm_backward;
  r[&op::group_norm()] = &batched_group_norm;
  r[&op::group_norm_backward()] = r[&op::batch_norm_backward()] = &batched_channel_norm_backward;
  r[&op::batch_norm()] = r[&op::batch_norm_inference()] = &batched_batch_norm;
  for (const Row* row :
       {&op::max_pool(), &op::max_pool_gather(), &op::max_pool_backward(), &op::avg_pool(), &op::avg_pool_backward()})
    r[row] = &shifted<kNothing>;
  r[&op::grid_sample()] = &folded<>, r[&op::grid_sample_backward()] = &folded<kFold>;
  r[&op::scaled_dot_product_attention_backward()] = &batched_attention_backward;
  r[&op::cross_entropy_backward()] = r[&op::nll_loss_backward()] = &batched_loss_backward;
  r[&op::dropout()] = &batched_dropout;
  for (const Row* row : {&op::uniform(), &op::normal(), &op::log_normal(), &op::cauchy(), &op::exponential(),
                         &op::geometric(), &op::bernoulli(), &op::poisson(), &op::random()})
    r[row] = &batched_random;
}

void algebra(Rules& r) {
  for (const Row* row :
       {&op::lu_unpack(), &op::eigh(), &op::eig(), &op::solve_triangular(), &op::lu_factor(), &op::solve(), &op::inv(),
        &op::det(), &op::qr(), &op::geqrf(), &op::householder_product(), &op::svd(), &op::pinv(), &op::cholesky(),
        &op::cholesky_solve(), &op::ldl_factor(), &op::ldl_solve()})
    r[row] = &shifted<kNothing>;
}

}  // namespace

}  // namespace neura
