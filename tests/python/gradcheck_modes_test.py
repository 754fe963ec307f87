"""gradcheck of forward mode and of batches: operations, and custom functions with right and wrong rules."""

import neura
import pytest
from neura.autograd import Function, GradcheckError, gradcheck, gradgradcheck

ALL = {"check_forward_ad": True, "check_batched_grad": True, "check_batched_forward_grad": True}
TWICE = {"check_fwd_over_rev": True, "check_batched_grad": True}


def leaf(*sizes, complex=False):
    i = neura.arange(float(neura.Size(sizes).numel()), dtype=neura.float64)
    x = (i + 0.37 * i * i + 1).sin().reshape(sizes)
    return (neura.complex(x, x.cos()) if complex else x).requires_grad_()


CALLS = {
    "product": (lambda x, y: x @ y, leaf(2, 3), leaf(3, 2)),
    "softmax": (lambda x: x.softmax(-1) * x, leaf(2, 3)),
    "solve": (lambda a, b: neura.linalg.solve(a + 3 * neura.eye(3).double(), b), leaf(3, 3), leaf(3, 2)),
    "complex": (lambda z: (z * z.conj() + z.exp(), z.abs()), leaf(3, complex=True)),
    "convolution": (lambda x, w: neura.nn.functional.conv1d(x, w, padding=1), leaf(1, 2, 4), leaf(2, 2, 3)),
    "norm": (lambda x: neura.nn.functional.layer_norm(x, (3,)), leaf(2, 3)),
    "sorted": (lambda x: x.sort(-1), leaf(2, 3)),
    "attention": (lambda q: neura.nn.functional.scaled_dot_product_attention(q, q + 1, q * q), leaf(1, 2, 2, 3)),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("fast", [False, True])
def test_operations_pass_in_every_mode(name, fast):
    func, *inputs = CALLS[name]
    assert gradcheck(func, inputs, fast_mode=fast, **ALL)
    assert gradgradcheck(func, inputs, fast_mode=fast, **TWICE)


def cube(**members):
    """x**3, with members in the place of its right ones."""

    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x * x

    body = {"forward": lambda x: x * x * x, "setup_context": setup_context, "backward": backward, "jvp": backward}
    body = {k: staticmethod(f) if callable(f) else f for k, f in {**body, **members}.items()}
    return type("Cube", (Function,), body)


def by_hand(info, in_dims, x):
    return x**3, in_dims[0]


@pytest.mark.parametrize("rule", [{"generate_vmap_rule": True}, {"vmap": by_hand}])
def test_functions_of_ones_own_pass_in_every_mode(rule):
    function = cube(**rule)
    assert gradcheck(function.apply, leaf(3), **ALL)
    assert gradgradcheck(function.apply, leaf(3), **TWICE)
    rows = neura.func.vmap(function.apply, in_dims=1)
    assert gradcheck(rows, leaf(2, 3), **ALL)
    assert gradgradcheck(rows, leaf(2, 3), **TWICE)


def test_a_wrong_tangent_is_found():
    wrong = cube(jvp=lambda ctx, t: t * 2)
    for fast in (False, True):
        with pytest.raises(GradcheckError, match="forward mode mismatch for output 0 with respect to input 0"):
            gradcheck(wrong.apply, leaf(3), check_forward_ad=True, fast_mode=fast)
    assert gradcheck(wrong.apply, leaf(3)) and not gradcheck(
        wrong.apply, leaf(3), check_forward_ad=True, raise_exception=False
    )


def test_a_wrong_rule_of_vmap_is_found():
    def backward(ctx, g):
        return wrong.apply(g)

    wrong = type(
        "Double",
        (Function,),
        {
            "forward": staticmethod(lambda x: x * 2),
            "setup_context": staticmethod(lambda ctx, inputs, output: None),
            "backward": staticmethod(backward),
            "vmap": staticmethod(lambda info, in_dims, x: (x * 3, 0)),
        },
    )
    assert gradcheck(wrong.apply, leaf(3))
    with pytest.raises(GradcheckError, match="look at the rule of vmap"):
        gradcheck(wrong.apply, leaf(3), check_batched_grad=True)


def test_what_cannot_be_computed_is_said():
    plain = type("Plain", (Function,), {"forward": staticmethod(lambda ctx, x: x * 2), "backward": staticmethod(max)})
    with pytest.raises(NotImplementedError, match="jvp"):
        gradcheck(plain.apply, leaf(2), check_forward_ad=True, check_backward_ad=False)

    def backward(ctx, g):
        return g * 2 if g[0].item() else g * 2

    reads = type(
        "Reads", (Function,), {"forward": staticmethod(lambda ctx, x: x * 2), "backward": staticmethod(backward)}
    )
    assert gradcheck(reads.apply, leaf(2))
    with pytest.raises(GradcheckError, match="inside vmap"):
        gradcheck(reads.apply, leaf(2), check_batched_grad=True)
