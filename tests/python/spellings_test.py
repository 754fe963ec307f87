"""Spellings of PyTorch's that ordinary programs use."""

import warnings

import neura
import pytest
from neura import errors

x = neura.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


@pytest.mark.parametrize("name", "add sub mul div subtract multiply divide true_divide floor_divide".split())
def test_a_number_may_come_first(name):
    f = getattr(neura, name)
    expected = f(neura.tensor(2.0), x)
    assert neura.equal(f(2, x), expected) and neura.equal(f(2.0, x), expected)
    assert neura.equal(f(input=2, other=x), expected)
    p = x.clone().requires_grad_()
    if name != "floor_divide":
        f(2, p).sum().backward()
        assert p.grad is not None
    with pytest.raises(TypeError, match="expected at least one tensor"):
        f(2, 3)
    with pytest.raises(TypeError):
        f("2", x)


def test_add_and_sub_take_alpha_after_a_number():
    assert neura.equal(neura.add(1, x, alpha=3), 1 + 3 * x)
    assert neura.equal(neura.sub(1, x, alpha=3), 1 - 3 * x)


class TestViewOfAnotherDtype:
    def test_the_bits_are_the_same(self):
        t = neura.tensor([1.0, -2.0])
        bits = t.view(neura.int32)
        assert bits.tolist() == [0x3F800000, 0xC0000000 - 2**32]
        bits[0] = 0x40000000
        assert t.tolist() == [2.0, -2.0]
        assert neura.equal(t.view(dtype=neura.int32), bits) and t.view(neura.float32).shape == (2,)

    def test_the_last_dimension_follows_the_size(self):
        assert x.view(neura.uint8).shape == (2, 12)
        assert x.view(neura.uint8).view(neura.float32).tolist() == x.tolist()
        assert neura.zeros(2, 4).view(neura.float64).shape == (2, 2)
        assert x.double().view(neura.int16).shape == (2, 12)
        assert x.t().view(neura.int32).tolist() == x.view(neura.int32).t().tolist()
        part = neura.arange(8, dtype=neura.int64).view(neura.int32)[2::2]
        assert part.tolist() == list(range(1, 8))
        assert neura.zeros(0, 4).view(neura.float64).shape == (0, 2)
        assert neura.zeros(2, 3, dtype=neura.complex64).view(neura.float32).shape == (2, 6)

    def test_what_does_not_fit_is_refused(self):
        for t, dtype in ((x, neura.float64), (x.t(), neura.uint8), (neura.tensor(1.0), neura.uint8)):
            with pytest.raises(errors.ShapeError, match="view: expected elements side by side"):
                t.view(dtype)
        with pytest.raises(errors.ShapeError):
            neura.zeros(9)[1:].view(neura.float64)

    def test_bools_are_zeros_and_ones(self):
        assert neura.tensor([0, 1], dtype=neura.uint8).view(neura.bool).tolist() == [False, True]
        with pytest.raises(errors.ValueError, match="bytes 0 and 1"):
            neura.tensor([2], dtype=neura.uint8).view(neura.bool)

    def test_writes_are_counted(self):
        a = neura.ones(2, requires_grad=True)
        b = a * 1
        c = b * b
        b.detach().view(neura.int32).zero_()
        with pytest.raises(errors.InplaceError):
            c.sum().backward()


def test_equal_compares_values_of_two_dtypes():
    assert neura.equal(x, x.double()) and neura.equal(neura.tensor([1, 2]), neura.tensor([1.0, 2.0]))
    assert not neura.equal(neura.tensor([1]), neura.tensor([1.5]))
    assert not neura.equal(neura.tensor([1]), neura.tensor([1.0, 1.0]))


def test_grad_takes_only_inputs():
    p = x.clone().requires_grad_()
    (g,) = neura.autograd.grad((p * p).sum(), p, None, None, False, True)
    assert neura.equal(g, 2 * x)
    with pytest.warns(FutureWarning, match="only_inputs"):
        neura.autograd.grad(p.sum(), p, only_inputs=False)


def test_einsum_takes_lists_of_dimensions():
    a, b = neura.randn(2, 3), neura.randn(3, 4)
    assert neura.equal(neura.einsum(a, [0, 1], b, [1, 2], [0, 2]), neura.einsum("ij,jk->ik", a, b))
    assert neura.equal(neura.einsum(a, [0, 1], b, [1, 51]), neura.einsum("ij,jk", a, b))
    assert neura.equal(neura.einsum(a, [0, 1], b[:, 0], [1], [0]), neura.einsum("ij,j->i", a, b[:, 0]))
    assert neura.equal(neura.einsum(a, [..., 1], [1, ...]), a.t())
    for wrong in ((a, [52, 1]), (a, [0, "j"])):
        with pytest.raises(errors.ValueError, match="from 0 to 51"):
            neura.einsum(*wrong)
    with pytest.raises(TypeError):
        neura.einsum(a, b)


@pytest.mark.parametrize("name", ["any", "all"])
def test_any_and_all_of_no_dimension_ask_each_element(name):
    t = neura.tensor([[0.0, 2.0], [float("nan"), 0.0]])
    for call in (lambda: getattr(neura, name)(t, dim=()), lambda: getattr(t, name)(())):
        assert call().tolist() == [[False, True], [True, False]]
    assert getattr(t.to(neura.uint8), name)(dim=()).dtype == neura.uint8
    assert getattr(t, name)(dim=None).dim() == 0


def test_backward_with_create_graph_warns_of_the_cycle():
    p = x.clone().requires_grad_()
    with pytest.warns(UserWarning, match="cycle"):
        (p * p).sum().backward(create_graph=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        neura.autograd.grad((p * p).sum(), p, create_graph=True)
        (p * p).sum().backward()


class TestDetachInPlace:
    def test_a_result_becomes_a_leaf(self):
        p = x.clone().requires_grad_()
        y = p * 2
        assert y.detach_() is y and y.is_leaf and not y.requires_grad and y.grad_fn is None
        y.requires_grad_()
        (y * 3).sum().backward()
        assert p.grad is None and y.grad.tolist() == [[3.0] * 3] * 2

    def test_what_was_computed_before_keeps_its_history(self):
        p = x.clone().requires_grad_()
        y = p * 2
        z = y * 3
        y.detach_()
        z.sum().backward()
        assert p.grad.tolist() == [[6.0] * 3] * 2

    def test_a_leaf_needs_no_gradient_any_more(self):
        p = x.clone().requires_grad_()
        assert p.detach_() is p and not p.requires_grad

    def test_views_are_refused(self):
        p = x.clone().requires_grad_()
        with pytest.raises(errors.AutogradError, match="no view"):
            (p * 2)[0].detach_()


def test_retains_grad_says_whether_a_result_keeps_its_gradient():
    p = x.clone().requires_grad_()
    y = p * 2
    assert not y.retains_grad and not p.retains_grad and not x.retains_grad
    y.retain_grad()
    assert y.retains_grad


LOOKS = {
    "unsqueeze_": ((1,), lambda t: t.unsqueeze(1)),
    "squeeze_": ((), lambda t: t.squeeze()),
    "t_": ((), lambda t: t.t()),
    "transpose_": ((0, -1), lambda t: t.transpose(0, -1)),
    "swapaxes_": ((0, 1), lambda t: t.swapaxes(0, 1)),
    "swapdims_": ((0, 1), lambda t: t.swapdims(0, 1)),
    "as_strided_": (((2,), (1,)), lambda t: t.as_strided((2,), (1,))),
}


@pytest.mark.parametrize("name", LOOKS)
class TestLooksInPlace:
    @staticmethod
    def start(name):
        return neura.arange(3.0).reshape(1, 3).clone() if name == "squeeze_" else x.clone()

    def test_the_tensor_itself_changes(self, name):
        args, expected = LOOKS[name]
        t = self.start(name)
        wanted, place = expected(t), t.data_ptr()
        assert getattr(t, name)(*args) is t
        assert t.shape == wanted.shape and t.tolist() == wanted.tolist() and t.data_ptr() == place

    def test_gradients_follow(self, name):
        args, expected = LOOKS[name]
        gradients = []
        for in_place in (True, False):
            p = self.start(name).requires_grad_()
            y = p * p
            view = y[0]
            y = getattr(y, name)(*args) if in_place else expected(y)
            weights = neura.arange(float(y.numel())).reshape(y.shape) + 1
            ((y * weights).sum() + view.sum()).backward()
            gradients.append(p.grad.tolist())
        assert gradients[0] == gradients[1]

    def test_writes_after_it_are_recorded(self, name):
        args, expected = LOOKS[name]
        p = self.start(name).requires_grad_()
        y = getattr(p * 1, name)(*args)
        y.mul_(3)
        y.sum().backward()
        assert set(p.grad.flatten().tolist()) <= {0.0, 3.0} and p.grad.max() == 3

    def test_a_leaf_changes_only_without_recording(self, name):
        args, expected = LOOKS[name]
        p = self.start(name).requires_grad_()
        with pytest.raises(errors.InplaceError, match="leaf"):
            getattr(p, name)(*args)
        if name == "as_strided_":
            return
        wanted = expected(p).shape
        with neura.no_grad():
            getattr(p, name)(*args)
        assert p.shape == wanted
        (p * 2).sum().backward()
        assert p.grad.shape == wanted


def test_views_of_several_are_not_looked_at_in_place():
    p = x.clone().requires_grad_()
    with pytest.raises(errors.InplaceError, match="together"):
        (p * 1).unbind()[0].unsqueeze_(0)


RESULTS = {
    "cumsum_": (1,),
    "cumprod_": (0,),
    "float_power_": (2.0,),
    "igamma_": (neura.ones(2, 3),),
    "igammac_": (neura.ones(2, 3),),
    "ldexp_": (neura.ones(2, 3),),
    "nextafter_": (neura.zeros(2, 3),),
    "mvlgamma_": (1,),
    "polygamma_": (1,),
    "renorm_": (2.0, 0, 1.0),
    "subtract_": (1,),
    "divide_": (2,),
    "true_divide_": (2,),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_are_written_in_place(name):
    t = x.double()
    expected = getattr(t, name[:-1])(*(a.double() if isinstance(a, neura.Tensor) else a for a in RESULTS[name]))
    args = [a.double() if isinstance(a, neura.Tensor) else a for a in RESULTS[name]]
    assert getattr(t, name)(*args) is t
    assert neura.equal(t, expected)


def test_a_result_that_does_not_fit_is_refused():
    with pytest.raises(errors.DTypeError, match="float_power_: expected a tensor that holds float64"):
        neura.tensor([1, 2]).float_power_(2)


def test_cumsum_in_place_has_a_gradient():
    p = x.clone().requires_grad_()
    (p * 1).cumsum_(1).sum().backward()
    assert p.grad.tolist() == [[3.0, 2.0, 1.0]] * 2
