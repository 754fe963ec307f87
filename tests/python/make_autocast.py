"""Writes autocast.json: calls, the dtypes of their results inside PyTorch's autocast on the cpu, and its lists for
CUDA, which stand in a header of the wheel. Run it with PyTorch: make_autocast.py

A call is evaluated in the names of `names`: x(*sizes) is of the dtype that is tried, w(*sizes) float32, as weights are.
"""

import json
import pathlib
import re

# One call a line, under PyTorch's name of what is called where that is on a list, else under any name.
CALLS = """
pow.Tensor_Scalar: n.pow(x(2, 3), 2)
pow3: x(2, 3) ** 3
pow.Tensor_Tensor: n.pow(x(2, 3), x(2, 3))
pow.Scalar: n.pow(2.0, x(2, 3))
rpow: 2.0 ** x(2, 3)
pow0.5: n.pow(x(2, 3), 0.5)
rdiv: 1 / x(2, 3)
matmul: x(2, 3) @ x(3, 4)
mm: n.mm(x(2, 3), x(3, 4))
bmm: n.bmm(x(2, 2, 3), x(2, 3, 4))
mv: n.mv(x(2, 3), x(3))
matmul_mv: x(2, 3) @ x(3)
matmul_dot: x(3) @ x(3)
dot: n.dot(x(3), x(3))
vdot: n.vdot(x(3), x(3))
inner: n.inner(x(3), x(3))
inner2: n.inner(x(2, 3), x(4, 3))
outer: n.outer(x(3), x(3))
addmm: n.addmm(x(2, 4), x(2, 3), x(3, 4))
addmv: n.addmv(x(2), x(2, 3), x(3))
addr: n.addr(x(2, 3), x(2), x(3))
addbmm: n.addbmm(x(2, 4), x(2, 2, 3), x(2, 3, 4))
baddbmm: n.baddbmm(x(2, 2, 4), x(2, 2, 3), x(2, 3, 4))
linear: F.linear(x(2, 3), w(4, 3), w(4))
linear1: F.linear(x(3), w(4, 3))
einsum: n.einsum('ij,jk->ik', x(2, 3), x(3, 4))
einsum1: n.einsum('ij->j', x(2, 3))
einsum_outer: n.einsum('i,j->ij', x(2), x(3))
einsum_mul: n.einsum('ij,ij->ij', x(2, 3), x(2, 3))
einsum_dot: n.einsum('i,i->', x(3), x(3))
linalg_multi_dot: n.linalg.multi_dot([x(2, 3), x(3, 4), x(4, 2)])
chain_matmul: n.chain_matmul(x(2, 3), x(3, 4), x(4, 2))
tensordot: n.tensordot(x(2, 3), x(3, 4), 1)
linalg_vecdot: n.linalg.vecdot(x(2, 3), x(2, 3))
bilinear: F.bilinear(x(2, 3), x(2, 3), w(4, 3, 3))
kron: n.kron(x(2, 2), x(2, 2))
conv1d: F.conv1d(x(1, 2, 5), w(3, 2, 2), w(3))
conv2d: F.conv2d(x(1, 2, 5, 5), w(3, 2, 2, 2))
conv3d: F.conv3d(x(1, 2, 3, 3, 3), w(3, 2, 2, 2, 2))
conv_transpose2d: F.conv_transpose2d(x(1, 2, 3, 3), w(2, 3, 2, 2), w(3))
conv_tbc: n.conv_tbc(x(5, 1, 2), w(2, 2, 3), w(3))
prelu: F.prelu(x(2, 3), w(1))
scaled_dot_product_attention: F.scaled_dot_product_attention(x(1, 2, 4, 8), x(1, 2, 4, 8), x(1, 2, 4, 8))
layer_norm: F.layer_norm(x(2, 3), (3,), w(3), w(3))
layer_norm0: F.layer_norm(x(2, 3), (3,))
group_norm: F.group_norm(x(2, 4, 3), 2, w(4), w(4))
batch_norm: F.batch_norm(x(4, 3), w(3), w(3), w(3), w(3), True)
batch_norm_eval: F.batch_norm(x(4, 3), w(3), w(3), w(3), w(3), False)
instance_norm: F.instance_norm(x(2, 3, 4))
rms_norm: F.rms_norm(x(2, 3), (3,), w(3))
local_response_norm: F.local_response_norm(x(2, 3, 4), 2)
normalize: F.normalize(x(2, 3))
softmax.int: n.softmax(x(2, 3), 1)
log_softmax.int: F.log_softmax(x(2, 3), 1)
softmin: F.softmin(x(2, 3), 1)
softmax_d: n.softmax(x(2, 3), 1, dtype=half)
gumbel_softmax: F.gumbel_softmax(x(2, 3), dim=1)
sum: x(2, 3).sum()
sum.dim_IntList: n.sum(x(2, 3), 1)
sum_d: n.sum(x(2, 3), 1, dtype=half)
prod: x(2, 3).prod()
prod.dim_int: n.prod(x(2, 3), 1)
cumsum: n.cumsum(x(2, 3), 1)
cumprod: n.cumprod(x(2, 3), 1)
mean: x(2, 3).mean()
var: x(2, 3).var()
std: x(2, 3).std(0)
logsumexp: n.logsumexp(x(2, 3), 1)
amax: n.amax(x(2, 3), 1)
nansum: n.nansum(x(2, 3))
norm.Scalar: n.norm(x(2, 3))
norm.ScalarOpt_dim: n.norm(x(2, 3), dim=1)
Tensor.norm: x(2, 3).norm()
linalg.norm: n.linalg.norm(x(2, 3))
linalg_vector_norm: n.linalg.vector_norm(x(2, 3))
linalg_matrix_norm: n.linalg.matrix_norm(x(2, 3))
frobenius_norm.dim: n.norm(x(2, 3), 'fro')
renorm: n.renorm(x(2, 3), 2, 0, 0.5)
dist: n.dist(x(2, 3), x(2, 3))
cdist: n.cdist(x(2, 3), x(2, 3))
pdist: F.pdist(x(3, 3))
cosine_similarity: F.cosine_similarity(x(2, 3), x(2, 3))
pairwise_distance: F.pairwise_distance(x(2, 3), x(2, 3))
cross: n.cross(x(2, 3), x(2, 3), dim=1)
linalg.cross: n.linalg.cross(x(2, 3), x(2, 3))
trace: n.trace(x(3, 3))
quantile: n.quantile(x(2, 3), 0.5)
nanquantile: n.nanquantile(x(2, 3), 0.5)
cross_entropy: F.cross_entropy(x(2, 3), of(0, 1))
cross_entropy_p: F.cross_entropy(x(2, 3), x(2, 3))
cross_entropy_w: F.cross_entropy(x(2, 3), of(0, 1), w(3))
nll_loss: F.nll_loss(x(2, 3), of(0, 1))
nll_loss2d: F.nll_loss(x(1, 3, 2, 1), of(0, 1).reshape(1, 2, 1))
margin_ranking_loss: F.margin_ranking_loss(x(3), x(3), x(3))
cosine_embedding_loss: F.cosine_embedding_loss(x(2, 3), x(2, 3), of(1, -1))
triplet_margin_loss: F.triplet_margin_loss(x(2, 3), x(2, 3), x(2, 3))
multi_margin_loss: F.multi_margin_loss(x(2, 3), of(0, 1))
multilabel_margin_loss: F.multilabel_margin_loss(x(2, 3), n.zeros(2, 3, dtype=n.int64).to(device))
multilabel_soft_margin_loss: F.multilabel_soft_margin_loss(x(2, 3), x(2, 3))
gaussian_nll_loss: F.gaussian_nll_loss(x(2, 3), x(2, 3), x(2, 3))
ctc_loss: F.ctc_loss(F.log_softmax(w(4, 1, 3), 2).to(dtype), of(1, 2).reshape(1, 2), of(4), of(2))
cat: n.cat([x(2, 3), w(2, 3)])
stack: n.stack([x(2, 3), x(2, 3)])
index_copy: n.index_copy(w(2, 3), 0, of(0), x(1, 3))
index_put: n.index_put(w(3), [of(0)], x(1))
scatter_add: n.scatter_add(w(3), 0, of(0), x(1))
index_add: n.index_add(x(3), 0, of(0), x(1))
addcdiv: n.addcdiv(x(3), w(3), w(3))
addcmul: n.addcmul(x(3), w(3), w(3))
atan2: n.atan2(x(3), w(3))
polar: n.polar(x(3), x(3))
lerp: n.lerp(x(3), x(3), 0.5)
where: n.where(x(3) > 0, x(3), w(3))
add: x(3) + w(3)
stack_mix: n.stack([x(2, 3), w(2, 3)])
view_as_complex: n.view_as_complex(x(3, 2))
grid_sampler: F.grid_sample(x(1, 1, 3, 3), x(1, 2, 2, 2), align_corners=False)
grid_sample_mix: F.grid_sample(x(1, 1, 3, 3), w(1, 2, 2, 2), align_corners=False)
fractional_max_pool2d: F.fractional_max_pool2d(x(1, 2, 5, 5), 2, output_size=2)
fractional_max_pool3d: F.fractional_max_pool3d(x(1, 2, 5, 5, 5), 2, output_size=2)
lp_pool2d: F.lp_pool2d(x(1, 2, 4, 4), 2, 2)
unfold: F.unfold(x(1, 2, 4, 4), 2)
fold: F.fold(x(1, 4, 9), (4, 4), 2)
stft: n.stft(x(8), 4, return_complex=True)
stftw: n.stft(x(8), 4, window=w(4), return_complex=True)
linalg_solve: n.linalg.solve(square(), x(3, 2))
linalg_lstsq: n.linalg.lstsq(square(), x(3, 2))[0]
linalg_tensorinv: n.linalg.tensorinv(square().reshape(3, 3), ind=1)
linalg_tensorsolve: n.linalg.tensorsolve(square(), x(3))
linalg_householder_product: n.linalg.householder_product(x(3, 2), x(2))
cholesky_inverse: n.cholesky_inverse(square())
cholesky_solve: n.cholesky_solve(x(3, 2), square())
inverse: n.inverse(square())
pinverse: n.pinverse(square())
qr: n.qr(square())[0]
svd: n.svd(square())[0]
geqrf: n.geqrf(square())[0]
ormqr: n.ormqr(x(3, 2), x(2), x(3, 2))
triangular_solve: n.triangular_solve(x(3, 2), square())[0]
LSTMCell_c: n.nn.LSTMCell(3, 4).to(device)(x(2, 3))[1]
MultiheadAttention: n.nn.MultiheadAttention(4, 2).to(device)(x(3, 1, 4), x(3, 1, 4), x(3, 1, 4))[0]
MHA_nw: n.nn.MultiheadAttention(4, 2).to(device)(x(3, 1, 4), x(3, 1, 4), x(3, 1, 4), need_weights=False)[0]
TransformerEncoderLayer: n.nn.TransformerEncoderLayer(4, 2, 8).to(device)(x(3, 1, 4))
embedding: F.embedding(of(0, 1), x(3, 4))
embedding_bag: F.embedding_bag(of(0, 1), x(3, 4), of(0))
dropout: F.dropout(x(3, 4))
glu: F.glu(x(3, 4))
one_hot: F.one_hot(of(0, 1))
clamp: n.clamp(x(3), 0, 1)
maximum: n.maximum(x(3), w(3))
sort: n.sort(x(3))[0]
topk: n.topk(x(3), 2)[0]
cov: n.cov(x(3, 3))
roll: n.roll(x(3), 1)
upsample_pixel: F.pixel_shuffle(x(1, 4, 2, 2), 2)
exp_: x(3).exp_()
addmm_: n.zeros(2, 4, dtype=dtype).to(device).addmm_(x(2, 3), x(3, 4))
acos: n.acos(x(2, 3))
asin: n.asin(x(2, 3))
cosh: n.cosh(x(2, 3))
erfinv: n.erfinv(x(2, 3))
exp: n.exp(x(2, 3))
expm1: n.expm1(x(2, 3))
log: n.log(x(2, 3))
log10: n.log10(x(2, 3))
log1p: n.log1p(x(2, 3))
log2: n.log2(x(2, 3))
reciprocal: n.reciprocal(x(2, 3))
rsqrt: n.rsqrt(x(2, 3))
sinh: n.sinh(x(2, 3))
tan: n.tan(x(2, 3))
sin: n.sin(x(2, 3))
cos: n.cos(x(2, 3))
tanh: n.tanh(x(2, 3))
sigmoid: n.sigmoid(x(2, 3))
sqrt: n.sqrt(x(2, 3))
relu: n.relu(x(2, 3))
abs: n.abs(x(2, 3))
neg: n.neg(x(2, 3))
exp2: n.exp2(x(2, 3))
erf: n.erf(x(2, 3))
square: n.square(x(2, 3))
atan: n.atan(x(2, 3))
softplus: F.softplus(x(2, 3))
gelu: F.gelu(x(2, 3))
silu: F.silu(x(2, 3))
mish: F.mish(x(2, 3))
elu: F.elu(x(2, 3))
selu: F.selu(x(2, 3))
leaky_relu: F.leaky_relu(x(2, 3))
hardswish: F.hardswish(x(2, 3))
logsigmoid: F.logsigmoid(x(2, 3))
softsign: F.softsign(x(2, 3))
tanhshrink: F.tanhshrink(x(2, 3))
hardtanh: F.hardtanh(x(2, 3))
relu6: F.relu6(x(2, 3))
celu: F.celu(x(2, 3))
softshrink: F.softshrink(x(2, 3))
hardshrink: F.hardshrink(x(2, 3))
mse_loss: F.mse_loss(x(2, 3), x(2, 3))
mse_loss of two dtypes: F.mse_loss(x(2, 3), w(2, 3))
l1_loss: F.l1_loss(x(2, 3), x(2, 3))
l1_loss of two dtypes: F.l1_loss(x(2, 3), w(2, 3))
smooth_l1_loss: F.smooth_l1_loss(x(2, 3), x(2, 3))
smooth_l1_loss of two dtypes: F.smooth_l1_loss(x(2, 3), w(2, 3))
huber_loss: F.huber_loss(x(2, 3), x(2, 3))
huber_loss of two dtypes: F.huber_loss(x(2, 3), w(2, 3))
kl_div: F.kl_div(x(2, 3), x(2, 3))
kl_div of two dtypes: F.kl_div(x(2, 3), w(2, 3))
binary_cross_entropy_with_logits: F.binary_cross_entropy_with_logits(x(2, 3), x(2, 3))
binary_cross_entropy_with_logits of two dtypes: F.binary_cross_entropy_with_logits(x(2, 3), w(2, 3))
poisson_nll_loss: F.poisson_nll_loss(x(2, 3), x(2, 3))
poisson_nll_loss of two dtypes: F.poisson_nll_loss(x(2, 3), w(2, 3))
hinge_embedding_loss: F.hinge_embedding_loss(x(2, 3), x(2, 3))
hinge_embedding_loss of two dtypes: F.hinge_embedding_loss(x(2, 3), w(2, 3))
soft_margin_loss: F.soft_margin_loss(x(2, 3), x(2, 3))
soft_margin_loss of two dtypes: F.soft_margin_loss(x(2, 3), w(2, 3))
binary_cross_entropy: F.binary_cross_entropy(x(2, 3), x(2, 3))
binary_cross_entropy of two dtypes: F.binary_cross_entropy(x(2, 3), w(2, 3))
upsample_nearest2d: F.interpolate(x(1, 1, 4, 4), scale_factor=2, mode='nearest')
upsample_bilinear2d: F.interpolate(x(1, 1, 4, 4), scale_factor=2, mode='bilinear')
upsample_bicubic2d: F.interpolate(x(1, 1, 4, 4), scale_factor=2, mode='bicubic')
interpolate area: F.interpolate(x(1, 1, 4, 4), scale_factor=2, mode='area')
upsample_linear1d: F.interpolate(x(1, 1, 4), scale_factor=2, mode='linear')
upsample_trilinear3d: F.interpolate(x(1, 1, 2, 2, 2), scale_factor=2, mode='trilinear')
_upsample_nearest_exact2d: F.interpolate(x(1, 1, 4, 4), scale_factor=2, mode='nearest-exact')
upsample_nearest1d: F.interpolate(x(1, 1, 4), scale_factor=2, mode='nearest')
upsample_nearest3d: F.interpolate(x(1, 1, 2, 2, 2), scale_factor=2, mode='nearest')
_upsample_nearest_exact1d: F.interpolate(x(1, 1, 4), scale_factor=2, mode='nearest-exact')
_upsample_nearest_exact3d: F.interpolate(x(1, 1, 2, 2, 2), scale_factor=2, mode='nearest-exact')
_upsample_bilinear2d_aa: F.interpolate(x(1, 1, 4, 4), scale_factor=2, mode='bilinear', antialias=True)
_upsample_bicubic2d_aa: F.interpolate(x(1, 1, 4, 4), scale_factor=2, mode='bicubic', antialias=True)
avg_pool1d: F.avg_pool1d(x(1, 2, 4), 2)
max_pool1d: F.max_pool1d(x(1, 2, 4), 2)
adaptive_avg_pool1d: F.adaptive_avg_pool1d(x(1, 2, 4), 2)
adaptive_max_pool1d: F.adaptive_max_pool1d(x(1, 2, 4), 2)
reflection_pad1d: F.pad(x(1, 2, 4), (1, 1), 'reflect')
replication_pad1d: F.pad(x(1, 2, 4), (1, 1), 'replicate')
circular_pad1d: F.pad(x(1, 2, 4), (1, 1), 'circular')
constant_pad1d: F.pad(x(1, 2, 4), (1, 1), 'constant')
max_unpool1d: F.max_unpool1d(x(1, 2, 2), F.max_pool1d(w(1, 2, 4), 2, return_indices=True)[1], 2)
max_pool1d with indices: F.max_pool1d(x(1, 2, 4), 2, return_indices=True)[0]
avg_pool2d: F.avg_pool2d(x(1, 2, 4, 4), 2)
max_pool2d: F.max_pool2d(x(1, 2, 4, 4), 2)
adaptive_avg_pool2d: F.adaptive_avg_pool2d(x(1, 2, 4, 4), 2)
adaptive_max_pool2d: F.adaptive_max_pool2d(x(1, 2, 4, 4), 2)
reflection_pad2d: F.pad(x(1, 2, 4, 4), (1, 1, 1, 1), 'reflect')
replication_pad2d: F.pad(x(1, 2, 4, 4), (1, 1, 1, 1), 'replicate')
circular_pad2d: F.pad(x(1, 2, 4, 4), (1, 1, 1, 1), 'circular')
constant_pad2d: F.pad(x(1, 2, 4, 4), (1, 1, 1, 1), 'constant')
max_unpool2d: F.max_unpool2d(x(1, 2, 2, 2), F.max_pool2d(w(1, 2, 4, 4), 2, return_indices=True)[1], 2)
max_pool2d with indices: F.max_pool2d(x(1, 2, 4, 4), 2, return_indices=True)[0]
avg_pool3d: F.avg_pool3d(x(1, 2, 4, 4, 4), 2)
max_pool3d: F.max_pool3d(x(1, 2, 4, 4, 4), 2)
adaptive_avg_pool3d: F.adaptive_avg_pool3d(x(1, 2, 4, 4, 4), 2)
adaptive_max_pool3d: F.adaptive_max_pool3d(x(1, 2, 4, 4, 4), 2)
reflection_pad3d: F.pad(x(1, 2, 4, 4, 4), (1, 1, 1, 1, 1, 1), 'reflect')
replication_pad3d: F.pad(x(1, 2, 4, 4, 4), (1, 1, 1, 1, 1, 1), 'replicate')
circular_pad3d: F.pad(x(1, 2, 4, 4, 4), (1, 1, 1, 1, 1, 1), 'circular')
constant_pad3d: F.pad(x(1, 2, 4, 4, 4), (1, 1, 1, 1, 1, 1), 'constant')
max_unpool3d: F.max_unpool3d(x(1, 2, 2, 2, 2), F.max_pool3d(w(1, 2, 4, 4, 4), 2, return_indices=True)[1], 2)
max_pool3d with indices: F.max_pool3d(x(1, 2, 4, 4, 4), 2, return_indices=True)[0]
fft_fft: n.fft.fft(x(4, 4))
fft_ifft: n.fft.ifft(x(4, 4))
fft_rfft: n.fft.rfft(x(4, 4))
fft_ihfft: n.fft.ihfft(x(4, 4))
fft_fft2: n.fft.fft2(x(4, 4))
fft_ifft2: n.fft.ifft2(x(4, 4))
fft_rfft2: n.fft.rfft2(x(4, 4))
fft_fftn: n.fft.fftn(x(4, 4))
fft_ifftn: n.fft.ifftn(x(4, 4))
fft_rfftn: n.fft.rfftn(x(4, 4))
fft_hfft: n.fft.hfft(x(4, 4))
fft_irfft: n.fft.irfft(x(4, 4))
fft_irfft2: n.fft.irfft2(x(4, 4))
fft_irfftn: n.fft.irfftn(x(4, 4))
linalg_cholesky: n.linalg.cholesky(square())
linalg_inv: n.linalg.inv(square())
linalg_eigvalsh: n.linalg.eigvalsh(square())
linalg_eigvals: n.linalg.eigvals(square())
linalg_svdvals: n.linalg.svdvals(square())
linalg_cond: n.linalg.cond(square())
linalg_matrix_rank: n.linalg.matrix_rank(square())
linalg_eigh: n.linalg.eigh(square())[0]
linalg_eig: n.linalg.eig(square())[0]
linalg_qr: n.linalg.qr(square())[0]
linalg_svd: n.linalg.svd(square())[0]
linalg_inv_ex: n.linalg.inv_ex(square())[0]
linalg_cholesky_ex: n.linalg.cholesky_ex(square())[0]
lu_solve: n.linalg.lu_solve(square(), of(1, 2, 3).int(), x(3, 2))
rnn: n.nn.RNN(3, 4).to(device)(x(2, 1, 3))[0]
gru: n.nn.GRU(3, 4).to(device)(x(2, 1, 3))[0]
conv_transpose1d: F.conv_transpose1d(x(1, 2, 3), w(2, 3, 2), w(3))
conv_transpose3d: F.conv_transpose3d(x(1, 2, 3, 3, 3), w(2, 3, 2, 2, 2), w(3))
nuclear_norm: n.norm(x(3, 3), 'nuc')
rnn_relu_cell: n.nn.RNNCell(3, 4, nonlinearity='relu').to(device)(x(2, 3))
addcdiv of a row: n.addcdiv(x(3), w(1, 3), w(3))
_cudnn_rnn: n.nn.LSTM(3, 4).to(device)(x(2, 1, 3))[0]
rnn_tanh_cell: n.nn.RNNCell(3, 4).to(device)(x(2, 3))
lstm_cell: n.nn.LSTMCell(3, 4).to(device)(x(2, 3))[0]
gru_cell: n.nn.GRUCell(3, 4).to(device)(x(2, 3))
cholesky: n.cholesky(square())
orgqr: n.orgqr(x(3, 2), x(2))
grid_sampler_2d: n.grid_sampler_2d(x(1, 1, 3, 3), x(1, 2, 2, 2), 0, 0, False)
grid_sampler_3d: n.grid_sampler_3d(x(1, 1, 3, 3, 3), x(1, 2, 2, 2, 3), 0, 0, False)
cross_entropy_loss: F.cross_entropy(x(2, 3), of(0, 1))
"""


def names(n, dtype, half, device):
    def w(*sizes):
        count = 1
        for size in sizes:
            count *= size
        values = (n.arange(count, dtype=n.float32) * 0.37 + 0.11).remainder(1.0) * 0.8 + 0.1
        return values.reshape(sizes).to(device)

    return {
        "n": n,
        "F": n.nn.functional,
        "device": device,
        "dtype": dtype,
        "half": half,
        "w": w,
        "x": lambda *sizes: w(*sizes).to(dtype),
        "of": lambda *values: n.tensor(values).to(device),
        "square": lambda: (n.eye(3) * 3 + 0.1).to(dtype).to(device),
    }


def answer(n, call, dtype, half, device):
    """The dtype of the call's result inside autocast, as a text."""
    within = names(n, dtype, half, device)
    with n.autocast(device):
        return str(eval(call, within).dtype).rpartition(".")[2]


def on_cpu(torch, call):
    answers = []
    for dtype in (torch.float32, torch.bfloat16):
        try:
            answers.append(answer(torch, call, dtype, torch.bfloat16, "cpu"))
        except (RuntimeError, NotImplementedError, TypeError):
            answers.append(None)  # PyTorch has no such kernel
    return answers


def cpu_names(torch):
    found = torch._C._dispatch_get_registrations_for_dispatch_key("AutocastCPU")
    return sorted({name.removeprefix("aten::").split(".")[0] for name in found if name.startswith("aten::")})


def cuda_lists(torch):
    header = pathlib.Path(torch.__file__).parent / "include/ATen/autocast_mode.h"
    lists = {"refuse": ["binary_cross_entropy"]}
    words = {"LOWER_PRECISION_FP": "low", "FP32": "wide", "FP32_SET_OPT_DTYPE": "wide", "PROMOTE": "promote"}
    text = header.read_text()
    for word, policy in words.items():
        block = re.search(r"#define AT_FORALL_" + word + r"\(_\)(.*?)\n\n", text, re.S)[1]
        found = re.findall(r"_\((\w+)(?:, (\w+))?\)", block)
        lists.setdefault(policy, []).extend(".".join(filter(None, pair)) for pair in found)
    lists["wide"] += ["norm.Scalar", "norm.ScalarOpt_dim"]
    lists["low"] += ["_cudnn_rnn"]
    return lists


if __name__ == "__main__":
    import torch

    calls = dict(line.split(": ", 1) for line in CALLS.strip().splitlines())
    stored = {
        "calls": calls,
        "cpu": {name: on_cpu(torch, call) for name, call in calls.items()},
        "cpu_names": cpu_names(torch),
        "cuda": cuda_lists(torch),
    }
    out = pathlib.Path(__file__).parent / "autocast.json"
    out.write_text(json.dumps(stored, indent=0) + "\n")
