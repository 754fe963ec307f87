"""neura.nn.init and neura.nn.utils: first values, clipping, flattening."""

import math

import neura
import pytest
from neura.nn import init, utils


def test_every_function_fills_its_tensor_and_returns_it():
    w = neura.empty(6, 4, requires_grad=True)
    calls = [
        init.uniform_,
        init.normal_,
        init.trunc_normal_,
        init.ones_,
        init.zeros_,
        init.eye_,
        init.xavier_uniform_,
        init.xavier_normal_,
        init.kaiming_uniform_,
        init.kaiming_normal_,
        init.orthogonal_,
        lambda t: init.constant_(t, 3),
        lambda t: init.sparse_(t, sparsity=0.5),
    ]
    for call in calls:
        before = w.detach().clone()
        assert call(w) is w
        assert w.is_leaf and w.requires_grad
        assert not neura.equal(before, w.detach())
    assert init.dirac_(neura.empty(4, 2, 3), groups=2).sum().item() == 4


def test_bounds_and_deviations_follow_the_arguments():
    neura.manual_seed(1)
    w = neura.empty(100, 300)
    assert abs(init.kaiming_normal_(w, mode="fan_out", nonlinearity="relu").std().item() - math.sqrt(2 / 100)) < 0.003
    bound = 2 * math.sqrt(6 / 400)
    assert init.xavier_uniform_(w, gain=2.0).abs().max().item() <= bound
    assert w.abs().max().item() > 0.99 * bound
    assert init.trunc_normal_(w, std=2, a=-1, b=0.5).min().item() >= -1 and w.max().item() <= 0.5
    assert init.kaiming_uniform_(w, a=math.sqrt(5)).abs().max().item() <= 1 / math.sqrt(300)
    rows = init.orthogonal_(neura.empty(3, 5, dtype=neura.float64), gain=2)
    assert neura.allclose(rows @ rows.T, 4 * neura.eye(3, dtype=neura.float64))


def test_gains_and_fans_as_tabled():
    table = {"linear": 1, "conv2d": 1, "sigmoid": 1, "tanh": 5 / 3, "relu": math.sqrt(2), "selu": 0.75}
    assert {f: init.calculate_gain(f) for f in table} == table
    assert type(init.calculate_gain("linear")) is int and type(init.calculate_gain("leaky_relu", 1)) is float
    assert init.calculate_gain("leaky_relu", 0.2) == pytest.approx(math.sqrt(2 / 1.04))
    fans = {(5, 3): (3, 5), (6, 4, 3): (12, 18), (6, 4, 3, 5): (60, 90), (6, 4, 3, 5, 2): (120, 180)}
    assert {s: init._calculate_fan_in_and_fan_out(neura.empty(s)) for s in fans} == fans


def test_wrong_shapes_and_words_are_named():
    with pytest.raises(ValueError, match="expected at least 2 dimensions, got"):
        init.xavier_normal_(neura.empty(3))
    with pytest.raises(ValueError, match="kaiming_uniform_: expected mode fan_in or fan_out, got fan"):
        init.kaiming_uniform_(neura.empty(3, 3), mode="fan")
    with pytest.raises(ValueError, match="calculate_gain: expected linear"):
        init.calculate_gain("sine")
    with pytest.raises(ValueError, match="eye_: expected a tensor of 2 dimensions"):
        init.eye_(neura.empty(3))
    with pytest.raises(TypeError):
        init.ones_([1, 2])


def with_gradients(*values):
    out = [neura.zeros(1, requires_grad=True) for _ in values]
    for p, v in zip(out, values):
        if v is not None:
            p.grad = neura.tensor([float(v)])
    return out


def test_norms_are_clipped_together():
    params = with_gradients(3, None, -4)
    norm = utils.clip_grad_norm_(iter(params), max_norm=1.0)
    assert norm.item() == 5
    assert params[0].grad.item() == pytest.approx(0.6) and params[2].grad.item() == pytest.approx(-0.8)
    assert utils.clip_grad_norm_(with_gradients(3, -4), 10, norm_type=1).item() == 7
    assert utils.clip_grad_norm_(with_gradients(3, -4), 10, norm_type=float("inf"), foreach=True).item() == 4
    assert utils.clip_grad_norm_([], 1.0).item() == 0
    one = with_gradients(2)[0]
    assert utils.clip_grad_norm_(one, 1.0).item() == 2
    assert utils.get_total_norm([neura.tensor([3.0]), neura.tensor([4.0])]).item() == 5
    utils.clip_grads_with_norm_(params, 0.5, utils.get_total_norm([p.grad for p in params if p.grad is not None]))
    assert params[0].grad.item() == pytest.approx(0.3, rel=1e-4)


def test_norms_that_are_not_finite_are_reported_or_passed_on():
    params = with_gradients(math.nan, 2)
    with pytest.raises(RuntimeError, match="expected finite gradients, got a total norm of nan"):
        utils.clip_grad_norm_(params, 1.0, error_if_nonfinite=True)
    assert params[1].grad.item() == 2
    assert math.isnan(utils.clip_grad_norm_(params, 1.0).item()) and math.isnan(params[1].grad.item())


def test_values_are_clipped():
    params = with_gradients(3, None, -4)
    grad = params[2].grad
    utils.clip_grad_value_(params, 3.5)
    assert params[0].grad.item() == 3 and grad.item() == -3.5
    with pytest.raises(ValueError, match="from 0 up"):
        utils.clip_grad_value_(params, -1)
    with pytest.raises(TypeError, match="clip_grad_value_: expected tensors, got int among them"):
        utils.clip_grad_value_([1], 1.0)
    with pytest.raises(TypeError, match="clip_grad_norm_: expected a tensor or an iterable"):
        utils.clip_grad_norm_(3, 1.0)


def test_parameters_become_a_vector_and_back():
    params = [neura.rand(2, 3, requires_grad=True), neura.rand(4, requires_grad=True)]
    vector = utils.parameters_to_vector(params)
    assert vector.shape == (10,) and vector.requires_grad
    utils.vector_to_parameters(neura.arange(10.0), params)
    assert params[0].tolist() == [[0, 1, 2], [3, 4, 5]] and params[1].tolist() == [6, 7, 8, 9]
    assert params[0].is_leaf and params[0].requires_grad
    with pytest.raises(ValueError, match="expected a vector of 10 elements"):
        utils.vector_to_parameters(neura.zeros(11), params)
    assert params[0].tolist() == [[0, 1, 2], [3, 4, 5]]
