"""NumPy's keywords, and keywords that a function does not have."""

import neura
import pytest
from neura import nn

x = neura.tensor([[1.0, 5.0, 3.0], [4.0, 2.0, 6.0]])
y = neura.ones(2, 3)
F = nn.functional

REDUCTIONS = "sum nansum mean nanmean prod amax amin any all std var logsumexp max min median argmax argmin".split()


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_take_numpys_keywords(name):
    function, method = getattr(neura, name), getattr(x, name)
    for expected, got in (
        (function(x, dim=1), function(x, axis=1)),
        (function(x, dim=0, keepdim=True), function(x, axis=0, keepdims=True)),
        (function(x, dim=0, keepdim=True), method(axis=0, keepdims=True)),
    ):
        expected, got = (r if isinstance(r, tuple) else (r,) for r in (expected, got))
        assert [e.tolist() for e in expected] == [g.tolist() for g in got]
        assert [e.shape for e in expected] == [g.shape for g in got]


@pytest.mark.parametrize(
    "name", "cumsum cumprod softmax log_softmax sort argsort squeeze unsqueeze flip cummax".split()
)
def test_functions_along_a_dimension_take_axis(name):
    where = "dims" if name == "flip" else "dim"
    expected, got = getattr(neura, name)(x, **{where: 1}), getattr(x, name)(axis=1)
    assert str(expected) == str(got)


def test_joining_and_splitting_take_axis():
    assert neura.cat([x, y], axis=1).shape == (2, 6)
    assert neura.stack([x, y], axis=2).shape == (2, 3, 2)
    assert len(neura.split(x, 1, axis=1)) == 3
    assert neura.index_select(x, axis=1, index=neura.tensor([2])).tolist() == [[3], [6]]


@pytest.mark.parametrize("name", "add sub mul div maximum minimum atan2 eq lt fmod remainder".split())
def test_operands_are_x_and_x2(name):
    f = getattr(neura, name)
    assert neura.equal(f(x=x, x2=y), f(x, y))
    assert neura.equal(f(x, x2=y), f(x, y))
    assert neura.equal(getattr(x, name)(x2=y), f(x, y))


@pytest.mark.parametrize("name", "exp sin abs neg relu sigmoid floor".split())
def test_the_operand_is_x(name):
    assert neura.equal(getattr(neura, name)(x=x), getattr(neura, name)(x))


def test_other_names_of_pytorchs():
    assert [t.shape for t in neura.split(x, split_size_or_sections=2, dim=1)] == [(2, 2), (2, 1)]
    assert len(neura.tensor_split(x, sections=3, dim=1)) == len(neura.tensor_split(x, indices=(1, 2), dim=1)) == 3
    assert nn.Hardtanh(min_value=-2.0, max_value=2.0).min_val == -2


UNKNOWN = {
    "sum: unknown argument 'axes'; did you mean 'dim'?": lambda: neura.sum(x, axes=1),
    "sum: unknown argument 'keep_dims'; did you mean 'keepdim'?": lambda: x.sum(1, keep_dims=True),
    "zeros: unknown argument 'dtyp'; did you mean 'dtype'?": lambda: neura.zeros(2, dtyp=neura.int64),
    "exp: unknown argument 'outt'; did you mean 'out'?": lambda: neura.exp(x, outt=x),
    "relu: unknown argument 'inplce'; did you mean 'inplace'?": lambda: F.relu(x, inplce=True),
    "Linear: unknown argument 'bais'; did you mean 'bias'?": lambda: nn.Linear(3, 4, bais=False),
    "Conv2d: unknown argument 'pading'; did you mean 'padding'?": lambda: nn.Conv2d(3, 4, 3, pading=1),
    "normal_: unknown argument 'sdt'; did you mean 'std'?": lambda: nn.init.normal_(y.clone(), sdt=1.0),
    "cross_entropy: unknown argument 'labels'; expected one of": lambda: F.cross_entropy(x, labels=y),
    "grad: unknown argument 'retain'; did you mean 'retain_graph'?": lambda: neura.autograd.grad(x, x, retain=True),
    "fft: unknown argument 'dims'; did you mean 'dim'?": lambda: neura.fft.fft(x, dims=1),
    "svd: unknown argument 'full_matrixes'; did you mean 'full_matrices'?": lambda: neura.linalg.svd(
        x, full_matrixes=False
    ),
    "mul: unknown argument 'zzz'; expected one of input, other, out": lambda: neura.mul(x, y, zzz=1),
}


@pytest.mark.parametrize("text", UNKNOWN)
def test_an_unknown_keyword_is_named(text):
    with pytest.raises(TypeError) as error:
        UNKNOWN[text]()
    assert str(error.value).startswith(text)


@pytest.mark.parametrize("call", [neura.sum, neura.add, neura.exp, x.sum, x.exp_, F.softmax, neura.tensor])
def test_half_a_surrogate_pair_is_no_keyword(call):
    with pytest.raises((TypeError, UnicodeEncodeError)):
        call(x, **{"\ud800": 1})


def test_both_names_of_one_argument_are_an_error():
    with pytest.raises(TypeError):
        neura.sum(x, dim=0, axis=1)
    with pytest.raises(TypeError):
        neura.exp(x, x=x)


def test_a_wrong_value_is_named_with_what_fits():
    with pytest.raises(TypeError, match="sum: expected an integer or integers or None for dim, got str"):
        neura.sum(x, dim="rows")
    with pytest.raises(TypeError, match="matmul: expected other, got none; pass it by position or by its name"):
        neura.matmul(x)
