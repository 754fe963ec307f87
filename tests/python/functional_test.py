"""neura.nn.functional: PyTorch's names, positions and in-place forms."""

import neura
import neura.nn.functional as F
import pytest


def test_inplace_may_stand_at_its_place():
    for f, rest in [
        (F.relu, ()),
        (F.relu6, ()),
        (F.elu, (1.0,)),
        (F.selu, ()),
        (F.leaky_relu, (0.1,)),
        (F.silu, ()),
        (F.mish, ()),
        (F.hardsigmoid, ()),
        (F.hardswish, ()),
        (F.celu, (1.0,)),
        (F.hardtanh, (-1.0, 1.0)),
        (F.threshold, (0.5, 9.0)),
        (F.rrelu, (0.25, 0.25, True)),
        (F.dropout, (0.5, True)),
    ]:
        x = neura.tensor([-2.0, 0.25, 7.0])
        kept = x.clone()
        assert f(x, *rest, False) is not x and neura.equal(x, kept), f
        assert f(x, *rest, True) is x and not neura.equal(x, kept), f
    with pytest.raises(TypeError, match="exp: expected at most 1 argument by position, got 2"):
        neura.exp(neura.ones(1), True)
    with pytest.raises(TypeError, match="exp: .*inplace"):
        neura.exp(neura.ones(1), inplace=True)


def test_functions_that_layers_call_are_here_and_in_neura():
    for name in "relu relu_ relu6 leaky_relu leaky_relu_ elu elu_ selu selu_ silu mish softplus hardsigmoid".split():
        assert getattr(F, name) is getattr(neura, name)
    for name in "hardswish hardshrink logsigmoid sigmoid tanh prelu pdist".split():
        assert getattr(F, name) is getattr(neura, name)
    assert not hasattr(F, "exp") and not hasattr(F, "sigmoid_")


def test_inplace_is_refused_where_it_says_nothing():
    x = neura.zeros(2)
    for f in (neura.exp, neura.Tensor.sin_, neura.relu_, F.elu_):
        with pytest.raises(TypeError, match="unknown argument 'inplace'"):
            f(x, inplace=True)
    with pytest.raises(TypeError, match="relu: expected at most 1 argument by position, got 2"):
        neura.relu_(x, True)
    with pytest.raises(TypeError, match="relu: expected out or inplace=True, got both"):
        neura.relu(x, inplace=True, out=neura.ones(2))
    assert x.tolist() == [0, 0]
    y = neura.ones(2)
    assert neura.relu(x, inplace=False, out=y) is y and y.tolist() == [0, 0]


def test_an_error_of_a_truth_value_is_raised():
    class Neither:
        def __bool__(self):
            raise LookupError("neither")

    with pytest.raises(LookupError, match="neither"):
        F.relu(neura.ones(2), inplace=Neither())


def test_no_argument_is_given_twice():
    x = neura.ones(2)
    for name, call in {
        "alpha": lambda: F.elu(x, 1.0, alpha=2.0),
        "input": lambda: F.elu(x, input=x),
        "inplace": lambda: F.relu(x, True, inplace=False),
        "negative_slope": lambda: F.leaky_relu(x, None, negative_slope=0.1),
    }.items():
        with pytest.raises(TypeError, match=f"got multiple values for argument '{name}'"):
            call()
    assert F.elu(-x, inplace=False, alpha=0.0).tolist() == [0, 0]


def test_functions_that_end_with_an_underscore_write_into_their_input():
    x = neura.tensor([-2.0, 0.25])
    assert F.threshold_(x, 0.5, 9.0) is x and x.tolist() == [9, 9]
    x = neura.tensor([-2.0, 0.25])
    assert F.hardtanh_(x, -1.0, 0.0) is x and x.tolist() == [-1, 0]
    assert F.rrelu_(x, 0.5, 0.5) is x and x.tolist() == [-0.5, 0]
    assert F.celu_(x) is x


def test_indices_come_where_the_name_says_so():
    x = neura.arange(8.0).reshape(1, 2, 4)
    values, places = F.max_pool1d_with_indices(x, 2)
    assert values.tolist() == [[[1, 3], [5, 7]]] and places.tolist() == [[[1, 3], [1, 3]]]
    assert F.adaptive_max_pool1d_with_indices(x, 2)[1].tolist() == places.tolist()
    assert F.max_unpool1d(values, places, 2).tolist() == [[[0, 1, 0, 3], [0, 5, 0, 7]]]


def test_old_arguments_of_losses_keep_their_places():
    x, y = neura.ones(4), neura.zeros(4)
    assert F.mse_loss(x, y, None, None, "sum").item() == 4
    assert F.mse_loss(x, y, False).item() == 4
    assert F.l1_loss(x, y, reduce=False).shape == (4,)
    assert F.mse_loss(x, y, weight=neura.tensor([1.0, 0, 0, 0])).item() == 1
    scores = neura.zeros(2, 3)
    assert F.cross_entropy(scores, neura.tensor([0, 1]), None, None, 1, None, "sum").item() == pytest.approx(1.0986123)


def test_gumbel_samples_follow_their_logits():
    neura.manual_seed(0)
    logits = neura.tensor([0.0, 2.0]).expand(4000, 2).clone().requires_grad_()
    hard = F.gumbel_softmax(logits, tau=0.5, hard=True)
    assert set(hard.detach().flatten().tolist()) == {0.0, 1.0}
    assert abs(hard[:, 1].mean().item() - 1 / (1 + 2.718281828**-2)) < 0.02
    (hard[:, 1]).sum().backward()
    assert logits.grad.abs().sum().item() > 0
    soft = F.gumbel_softmax(logits.detach())
    assert neura.allclose(soft.sum(-1), neura.ones(4000))
    with pytest.raises(ValueError, match="tau above 0"):
        F.gumbel_softmax(logits, tau=0)


def test_sizes_or_factors_resize():
    x = neura.arange(4.0).reshape(1, 1, 2, 2)
    assert F.interpolate(x, size=(3, 2), mode="nearest")[0, 0].tolist() == [[0, 1], [0, 1], [2, 3]]
    assert F.interpolate(x, scale_factor=(1, 1.5), mode="bilinear", align_corners=True)[0, 0].tolist() == [
        [0, 0.5, 1],
        [2, 2.5, 3],
    ]
    assert F.upsample_bilinear(x, 3)[0, 0, 1].tolist() == [1, 1.5, 2]
    for wrong in (
        {},
        {"size": 3, "scale_factor": 2},
        {"size": 3, "align_corners": True},
        {"size": 3, "mode": "linear"},
        {"size": 3, "mode": "best"},
        {"scale_factor": -1},
        {"scale_factor": "2"},
    ):
        with pytest.raises((ValueError, TypeError), match="interpolate: expected"):
            F.interpolate(x, **wrong)
    with pytest.raises(ValueError, match="antialias with mode bilinear or bicubic"):
        F.interpolate(x, 3, mode="nearest", antialias=True)


def test_distances_may_be_functions():
    a, p, n = (neura.tensor([[v, 0.0]], requires_grad=True) for v in (0.0, 1.0, 3.0))

    def distance(x, y):
        return (x - y).abs().sum(-1)

    assert F.triplet_margin_with_distance_loss(a, p, n, distance_function=distance, margin=4.0).item() == 2
    assert F.triplet_margin_with_distance_loss(a, p, n, distance_function=distance, margin=4.0, swap=True).item() == 3
    loss = neura.nn.TripletMarginWithDistanceLoss(distance_function=distance, margin=4.0, reduction="sum")
    loss(a, p, n).backward()
    assert n.grad[0, 0].item() == -1
    with pytest.raises(ValueError, match="margin above 0"):
        neura.nn.TripletMarginWithDistanceLoss(margin=0.0)
