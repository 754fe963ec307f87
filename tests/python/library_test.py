"""neura.library: operations of one's own, by PyTorch's names."""

import neura
import numpy
import pytest
from neura import Tensor, library


@library.custom_op("tested::numpy_sin", mutates_args=())
def numpy_sin(x: Tensor, scale: float = 1.0) -> Tensor:
    return neura.from_numpy(numpy.sin(x.numpy()) * numpy.float32(scale))


@numpy_sin.register_fake
def _(x, scale=1.0):
    return neura.empty_like(x)


def keep(ctx, inputs, output):
    ctx.save_for_backward(inputs[0])
    ctx.scale = inputs[1]


numpy_sin.register_autograd(lambda ctx, g: (g * ctx.saved_tensors[0].cos() * ctx.scale, None), setup_context=keep)


def test_a_function_of_numpy_with_its_derivative():
    x = neura.tensor([0.0, 1.0], requires_grad=True)
    for op in (numpy_sin, neura.ops.tested.numpy_sin, neura.ops.tested.numpy_sin.default):
        x.grad = None
        y = op(x, scale=2.0)
        y.sum().backward()
        assert neura.allclose(y, 2 * x.sin()) and neura.allclose(x.grad, 2 * x.cos())
    assert numpy_sin(neura.ones(2, 3, device="meta")).shape == (2, 3)
    assert y.grad_fn.name() == "GeneratedBackwardFor_tested_numpy_sin_defaultBackward"
    assert library.opcheck(numpy_sin, (neura.ones(3),))["test_faketensor"] == "SUCCESS"


def test_without_a_derivative_there_is_no_history():
    @library.custom_op("tested::round_up", mutates_args=())
    def round_up(x: Tensor) -> Tensor:
        return (x + 0.5).floor()

    assert not round_up(neura.ones(2, requires_grad=True)).requires_grad


def test_arguments_are_changed_in_place():
    @library.custom_op("tested::scale_", mutates_args={"x"})
    def scale_(x: Tensor, by: float) -> None:
        x.mul_(by)

    t = neura.ones(2)
    scale_(t, 3.0)
    assert t.tolist() == [3, 3]
    with pytest.raises(RuntimeError, match="changes no argument, got tested::scale_"):
        scale_.register_autograd(lambda ctx, g: g)


def test_libraries_define_and_implement():
    lib = library.Library("tested_too", "DEF")
    assert lib.define("twice(Tensor x) -> Tensor") == "twice"
    with pytest.raises(NotImplementedError, match="expected a kernel for cpu, got none"):
        neura.ops.tested_too.twice(neura.ones(1))
    lib.impl("twice", lambda x: x * 2, "CompositeImplicitAutograd")
    x = neura.ones(2, requires_grad=True)
    neura.ops.tested_too.twice(x).sum().backward()
    assert x.grad.tolist() == [2, 2]

    library.define("tested_too::thrice", "(Tensor x) -> Tensor")

    @library.impl("tested_too::thrice", "cpu")
    def thrice(x):
        return x * 3

    assert neura.ops.tested_too.thrice(neura.ones(1)).item() == 3


def test_names_are_checked():
    with pytest.raises(ValueError, match='a name "namespace::operation", got "sin"'):
        library.custom_op("sin", lambda x: x, mutates_args=())
    with pytest.raises(ValueError, match='"DEF", "FRAGMENT" or "IMPL" as kind'):
        library.Library("tested", "OTHER")
    with pytest.raises(AttributeError, match="no operation of that namespace"):
        neura.ops.nobodys
    with pytest.raises(RuntimeError, match="fake function"):

        @library.custom_op("tested::wrong", mutates_args=())
        def wrong(x: Tensor) -> Tensor:
            return x.sum()

        wrong.register_fake(lambda x: x)
        library.opcheck(wrong, (neura.ones(3),))
