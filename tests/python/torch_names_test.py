"""Functions of the top level and methods of Tensor that are made of others."""

import neura
import pytest
from neura import nn

F = nn.functional


def grid(*sizes):
    return neura.arange(float(neura.Size(sizes).numel())).reshape(sizes)


def test_range_has_its_end():
    assert neura.range(1, 4).tolist() == [1, 2, 3, 4] and neura.range(1, 4).dtype is neura.float32
    assert neura.range(3).tolist() == [0, 1, 2, 3] and neura.range(0, 1, 0.25).tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert neura.range(3, 1, -1, dtype=neura.int64).tolist() == [3, 2, 1] and neura.range(2, 2).tolist() == [2]
    out = neura.empty(0, dtype=neura.float64)
    assert neura.range(0, 2, out=out) is out and out.tolist() == [0, 1, 2]
    for start, end, step in ((0, 1, -1), (0, 1, 0), (0, float("inf"), 1)):
        with pytest.raises(ValueError, match="range: expected"):
            neura.range(start, end, step)


def test_copies_share_nothing():
    x, z = grid(3, 4), neura.view_as_complex(grid(3, 2))
    for copied, view in (
        (neura.select_copy(x, 1, 2), x[:, 2]),
        (neura.slice_copy(x, 1, 1, None, 2), x[:, 1::2]),
        (neura.slice_copy(x, -2, -2, 9), x[-2:]),
        (neura.slice_copy(x, 0, 5), x[5:]),
        (neura.detach_copy(x), x),
        (neura.view_as_real_copy(z), neura.view_as_real(z)),
        (neura.view_as_complex_copy(neura.view_as_real(z)), z),
        *zip(neura.split_copy(x, 2), x.split(2)),
    ):
        assert neura.equal(copied, view)
        if copied.numel():
            copied.zero_()
            assert view.any()
    assert [t.shape for t in neura.unsafe_split_with_sizes(x, [1, 3], 1)] == [(3, 1), (3, 3)]
    out = neura.empty(0)
    assert neura.permute_copy(x, (1, 0), out=out) is out and neura.equal(out, x.t())


def test_questions():
    x = grid(2)
    assert neura.get_device(x) == -1 and not neura.is_neg(x) and not neura.is_conj(x) and neura.is_signed(x)
    assert not neura.is_distributed(x) and not neura.is_inference(x) and neura.is_storage(x.untyped_storage())
    assert neura.typename(x) == "neura.FloatTensor" and neura.typename(3) == "int" and x.dense_dim() == 1
    assert neura.typename(nn.Linear(1, 1)) == "neura.nn.Linear" and x.sparse_dim() == 0 and not x.is_mps
    assert neura.get_deterministic_debug_mode() == 0
    neura.set_deterministic_debug_mode("error")
    assert neura.get_deterministic_debug_mode() == 2 and neura.are_deterministic_algorithms_enabled()
    neura.set_deterministic_debug_mode(0)
    with pytest.raises(ValueError, match="expected 0 to 2, 'default'"):
        neura.set_deterministic_debug_mode("loud")


def test_types_by_name():
    x = grid(2)
    assert x.type() == "neura.FloatTensor" and x.long().type() == "neura.LongTensor"
    assert x.type(neura.int8).dtype is neura.int8 and x.type("torch.DoubleTensor").dtype is neura.float64
    with pytest.raises(ValueError, match="type: expected a dtype"):
        x.type("torch.Nothing")
    assert x.new(2, 3).shape == (2, 3) and x.new([1, 2]).dtype is neura.float32 and x.new().shape == (0,)
    assert x.new(neura.Size([4])).shape == (4,) and x.new(x).data_ptr() == x.data_ptr()
    with pytest.raises(RuntimeError, match="new: expected a tensor of dtype"):
        x.new(x.long())


def test_operators_in_place_keep_the_tensor():
    x = same = grid(3)
    x **= 2
    assert x is same and x.tolist() == [0, 1, 4]
    n = same = neura.arange(3)
    n <<= 2
    n >>= 1
    assert n is same and n.tolist() == [0, 2, 4]


@pytest.mark.parametrize(
    "name, arguments",
    [
        ("cumsum", (0,)),
        ("cumprod", (1,)),
        ("divide", (3.0,)),
        ("true_divide", (3.0,)),
        ("subtract", (1.0,)),
        ("igamma", (neura.tensor(1.5),)),
        ("igammac", (neura.tensor(1.5),)),
        ("ldexp", (neura.tensor(2.0),)),
        ("mvlgamma", (2,)),
        ("nextafter", (neura.tensor(9.0),)),
        ("polygamma", (1,)),
        ("renorm", (2, 0, 1.0)),
    ],
)
def test_methods_in_place(name, arguments):
    x = grid(2, 3) + 2
    want = getattr(x, name)(*arguments)
    assert getattr(x, name + "_")(*arguments) is x and neura.equal(x, want)


def test_methods_in_place_are_recorded():
    x = (grid(2, 3) + 2).requires_grad_()
    for name, arguments in (("cumprod", (1,)), ("ldexp", (neura.tensor(2.0),)), ("polygamma", (1,))):
        y = x * 1
        getattr(y, name + "_")(*arguments)
        (got,) = neura.autograd.grad(y.sum(), x)
        (want,) = neura.autograd.grad(getattr(x, name)(*arguments).sum(), x)
        assert neura.allclose(got, want)


def test_methods_in_place_refuse():
    with pytest.raises(RuntimeError, match="ldexp_: expected a tensor that holds float32, got int64"):
        neura.arange(3).ldexp_(neura.tensor(1))
    with pytest.raises(RuntimeError, match="float_power_: expected a tensor that holds float64"):
        grid(3).float_power_(2)
    assert grid(3).double().float_power_(2).tolist() == [0, 1, 4]
    with pytest.raises(RuntimeError, match="igamma_: expected operands that broadcast"):
        neura.ones(3).igamma_(neura.ones(2, 3))
    with pytest.raises(RuntimeError, match="cumsum_: expected dtype to be the tensor's"):
        grid(3).cumsum_(0, dtype=neura.int64)
    assert neura.arange(4, dtype=neura.int32).cumsum_(0).dtype is neura.int32


def test_geometry_in_place():
    x = grid(2, 3)
    assert x.t_() is x and x.shape == (3, 2) and x.tolist() == [[0, 3], [1, 4], [2, 5]] and not x.is_contiguous()
    assert x.unsqueeze_(0).shape == (1, 3, 2) and x.transpose_(0, 2).shape == (2, 3, 1)
    assert x.squeeze_().shape == (2, 3) and x.tolist() == [[0, 1, 2], [3, 4, 5]] and x.swapaxes_(0, 1).shape == (3, 2)
    assert x.as_strided_((2, 2), (1, 2)).tolist() == [[0, 2], [1, 3]] and x.add_(1).tolist() == [[1, 3], [2, 4]]
    with pytest.raises(RuntimeError, match="t_: expected no leaf that requires gradients"):
        neura.ones(2, 2, requires_grad=True).t_()


def test_elements_by_a_function():
    x = grid(2, 3)
    assert x.apply_(lambda v: v * 2) is x and x.tolist() == [[0, 2, 4], [6, 8, 10]]
    assert x.t().map_(neura.tensor([1.0, 2.0]), lambda a, b: a - b).tolist() == [[-1, 4], [1, 6], [3, 8]]
    assert neura.arange(3).map2_(neura.tensor(2), neura.tensor(3), lambda a, b, c: a * b + c).tolist() == [3, 5, 7]
    with pytest.raises(RuntimeError, match="apply_: expected a tensor that requires no gradient"):
        neura.ones(2, requires_grad=True).apply_(abs)


def test_functions_of_networks_by_torch_s_other_names():
    x, w, b = grid(1, 2, 5), grid(4, 2, 3) / 9, grid(4)
    assert neura.equal(neura.conv1d(x, w, b), F.conv1d(x, w, b))
    assert neura.equal(neura.convolution(x, w, b, [2], [1], [1], False, [0], 1), F.conv1d(x, w, b, 2, 1))
    transposed = neura.convolution(x, w.transpose(0, 1), None, [1], [0], [1], True, [0], 1)
    assert neura.equal(transposed, F.conv_transpose1d(x, w.transpose(0, 1)))
    over_time = neura.conv_tbc(x.permute(2, 0, 1), w.permute(2, 1, 0), b, 1)
    assert neura.allclose(over_time.permute(1, 2, 0), F.conv1d(x, w, b, padding=1))
    values, places = neura.adaptive_max_pool1d(x, 2)
    assert values.tolist() == [[[2, 4], [7, 9]]] and places.tolist() == [[[2, 4], [2, 4]]]
    table, rows = grid(3, 2), neura.tensor([2, 0])
    assert neura.embedding(table, rows).tolist() == [[4, 5], [0, 1]]
    assert neura.embedding_renorm_(table, rows, 1.0, 2.0) is table
    assert table.norm(dim=1).tolist() == pytest.approx([1, table[1].norm().item(), 1])
    mean, var = neura.zeros(2), neura.ones(2)
    assert neura.allclose(neura.batch_norm(x, None, None, mean, var, False, 0.1, 1e-5, True), x, atol=1e-3)
    out, mean, rstd = neura.native_group_norm(x, None, None, 1, 2, 5, 1, 0.0)
    assert neura.allclose(out, (x - mean.item()) * rstd.item()) and mean.shape == rstd.shape == (1, 1)


def test_dropouts_by_torch_s_other_names():
    neura.manual_seed(0)
    x = neura.ones(30, 40, 3)
    assert neura.dropout(x, 0.5, False) is x
    kept = neura.feature_dropout(x, 0.25, True)
    assert (kept == kept[:, :, :1]).all() and set(kept.unique().tolist()) == {0, neura.tensor(4 / 3).item()}
    y, mask = neura.native_dropout(x, 0.5, True)
    assert neura.equal(y, mask * 2.0) and 0.4 < mask.float().mean().item() < 0.6
    assert neura.native_dropout(x, 1.0, True)[0].sum() == 0 and neura.native_dropout(x, 0.5, False)[1].all()
    assert neura.dropout_(x, 0.5, True) is x and set(x.unique().tolist()) == {0, 2}
    with pytest.raises(ValueError, match="native_dropout: expected a probability"):
        neura.native_dropout(x, 1.5, True)


def test_norms_over_dimensions():
    v = grid(2, 3, 2)
    for dim in range(3):
        others = [d for d in range(3) if d != dim]
        want = (v**2).sum(others, keepdim=True).sqrt()
        assert neura.allclose(neura.norm_except_dim(v, 2, dim), want)
    assert neura.norm_except_dim(v, 2, -1).item() == pytest.approx(v.norm().item())
    assert neura.allclose(neura.frobenius_norm(v, [0, 2]), (v**2).sum([0, 2]).sqrt())
    assert neura.frobenius_norm(v).item() == pytest.approx(v.norm().item())


@pytest.mark.parametrize("number, word", list(enumerate(("none", "mean", "sum"))))
def test_losses_with_numbers_for_reductions(number, word):
    neura.manual_seed(1)
    a, b, c = neura.rand(3, 4), neura.rand(3, 4), neura.rand(3, 4)
    signs, each = neura.tensor([1.0, -1.0, 1.0]), (grid(3, 4) % 2) * 2 - 1
    for got, want in (
        (neura.kl_div(a, b, number), F.kl_div(a, b, reduction=word)),
        (neura.kl_div(a, b, number, log_target=True), F.kl_div(a, b, reduction=word, log_target=True)),
        (
            neura.binary_cross_entropy_with_logits(a, b, None, c[0], number),
            F.binary_cross_entropy_with_logits(a, b, pos_weight=c[0], reduction=word),
        ),
        (
            neura.cosine_embedding_loss(a, b, signs, 0.2, number),
            F.cosine_embedding_loss(a, b, signs, 0.2, reduction=word),
        ),
        (neura.hinge_embedding_loss(a, each, 0.7, number), F.hinge_embedding_loss(a, each, 0.7, reduction=word)),
        (neura.margin_ranking_loss(a, b, each, 0.1, number), F.margin_ranking_loss(a, b, each, 0.1, reduction=word)),
        (neura.poisson_nll_loss(a, b, True, True, 1e-8, number), F.poisson_nll_loss(a, b, full=True, reduction=word)),
        (neura.triplet_margin_loss(a, b, c, reduction=number), F.triplet_margin_loss(a, b, c, reduction=word)),
    ):
        assert neura.equal(got, want)
    with pytest.raises(ValueError, match="kl_div: expected reduction 0"):
        neura.kl_div(a, b, 3)


def test_normalisation_becomes_part_of_the_layer_before():
    neura.manual_seed(4)
    pairs = [
        (nn.Conv2d(3, 4, 3, bias=False), nn.BatchNorm2d(4), (2, 3, 6, 6), False),
        (nn.ConvTranspose1d(3, 4, 3), nn.BatchNorm1d(4), (2, 3, 6), True),
        (nn.Linear(3, 4), nn.BatchNorm1d(4, affine=False), (5, 3), None),
    ]
    for layer, bn, sizes, transposed in pairs:
        bn(layer(neura.randn(*sizes) * 3))
        x = neura.randn(*sizes)
        with pytest.raises(ValueError, match="expected both modules in evaluation"):
            nn.utils.fuse_linear_bn_eval(layer, bn)
        layer.eval(), bn.eval()
        made = (
            nn.utils.fuse_linear_bn_eval(layer, bn)
            if transposed is None
            else nn.utils.fuse_conv_bn_eval(layer, bn, transposed)
        )
        assert type(made) is type(layer) and made is not layer and isinstance(made.bias, nn.Parameter)
        assert neura.allclose(made(x), bn(layer(x)), atol=1e-5)
