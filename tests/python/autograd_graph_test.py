"""backward and grad with all their arguments, hooks, nodes, modes, saved tensors."""

import threading

import pytest

import neura
from neura.autograd import graph


def leaf(*values):
    return neura.tensor(values, dtype=neura.float64, requires_grad=True)


def test_backward_to_some_inputs_alone():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    h = x * w
    y = (h * h).sum()
    y.backward(inputs=[x], retain_graph=True)
    assert x.grad.tolist() == [18.0, 64.0] and w.grad is None
    y.backward(inputs=x, retain_graph=True)
    assert x.grad.tolist() == [36.0, 128.0]
    y.backward(inputs=[h, w])
    assert h.grad.tolist() == [6.0, 16.0] and w.grad.tolist() == [6.0, 32.0] and x.grad.tolist() == [36.0, 128.0]
    with pytest.raises(RuntimeError, match="at least one tensor"):
        (x * 2).sum().backward(inputs=[])
    with pytest.raises(RuntimeError, match="require a gradient"):
        (x * 2).sum().backward(inputs=[neura.ones(1)])


def test_hooks_run_for_inputs_too():
    x = leaf(1.0)
    seen = []
    x.register_hook(lambda g: seen.append(g.item()))
    x.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.item()))
    (x * 3).backward(inputs=[x])
    assert seen == [3.0, 3.0]


def test_grad_arguments():
    x, w, unused = leaf(1.0, 2.0), leaf(3.0, 4.0), leaf(5.0)
    y = x * w
    gx, gw = neura.autograd.grad(
        y, (x, w), grad_outputs=neura.tensor([1.0, 10.0], dtype=neura.float64), retain_graph=True
    )
    assert gx.tolist() == [3.0, 40.0] and gw.tolist() == [1.0, 20.0] and x.grad is None
    with pytest.raises(RuntimeError, match="allow_unused"):
        neura.autograd.grad(y.sum(), (x, unused), retain_graph=True)
    assert neura.autograd.grad(y.sum(), (x, unused), retain_graph=True, allow_unused=True)[1] is None
    assert neura.autograd.grad(y.sum(), (x, unused), retain_graph=True, materialize_grads=True)[1].tolist() == [0.0]
    with pytest.raises(ValueError, match="is_grads_batched"):
        neura.autograd.grad(y.sum(), x, is_grads_batched=True)
    rows = neura.autograd.grad(y, x, neura.eye(2, dtype=neura.float64), retain_graph=True, is_grads_batched=True)[0]
    assert rows.tolist() == [[3.0, 0.0], [0.0, 4.0]]
    with pytest.raises(ValueError, match="allow_unused"):
        neura.autograd.grad(y.sum(), x, allow_unused=False, materialize_grads=True)
    with pytest.raises(RuntimeError, match="one element"):
        neura.autograd.grad(y, x)
    neura.autograd.backward([y, y.sum()], [neura.ones(2, dtype=neura.float64), None])
    assert x.grad.tolist() == [6.0, 8.0]


def test_nodes():
    x = leaf(1.0, 2.0)
    y = x * 2 + 1
    assert y.grad_fn.name() == "AddBackward0" and type(y.grad_fn).__name__ == "AddBackward0"
    assert repr(y.grad_fn).startswith("<AddBackward0 object at")
    assert isinstance(y.grad_fn, graph.Node) and y.grad_fn is y.grad_fn
    (mul, number), *rest = y.grad_fn.next_functions
    assert mul.name() == "MulBackward0" and number == 0 and all(n is None for n, _ in rest)
    assert (
        mul.next_functions[0][0].name() == "torch::autograd::AccumulateGrad"
        and mul.next_functions[0][0].next_functions == ()
    )
    y.grad_fn.metadata["a"] = 1
    assert y.grad_fn.metadata == {"a": 1}
    assert x.grad_fn is None and "grad_fn=<AddBackward0>" in repr(y)
    node = y.grad_fn
    del y
    assert node.next_functions[0][0] is mul
    assert (x.max(0).values).grad_fn.next_functions[0][0] is mul.next_functions[0][0]


def test_hooks_of_nodes():
    x = leaf(1.0, 2.0)
    h = x * 2
    y = h * h
    order = []

    def post(inputs, outputs):
        order.append(("post", [None if g is None else g.tolist() for g in inputs], [g.tolist() for g in outputs]))
        return tuple(None if g is None else g * 10 for g in inputs)

    def pre(outputs):
        order.append(("pre", [g.tolist() for g in outputs]))
        return (outputs[0] * 3,)

    h.grad_fn.register_hook(post)
    handle = h.grad_fn.register_prehook(pre)
    y.sum().backward(retain_graph=True)
    assert order[0] == ("pre", [[4.0, 8.0]])
    assert order[1][1][0] == [24.0, 48.0] and order[1][2] == [[12.0, 24.0]]
    assert x.grad.tolist() == [240.0, 480.0]
    handle.remove()
    x.grad = None
    y.sum().backward()
    assert x.grad.tolist() == [80.0, 160.0] and len(order) == 3
    bad = (x * 2).sum()
    bad.grad_fn.register_hook(lambda i, o: (1, 2, 3, 4))
    with pytest.raises(ValueError, match="1 gradients"):
        bad.backward()


def test_hooks_of_an_accumulating_node():
    x = leaf(1.0)
    node = (x * 1).grad_fn.next_functions[0][0]
    seen = []
    node.register_prehook(lambda g: (g[0] * 2,))
    node.register_hook(lambda i, o: seen.append((i, o[0].item(), x.grad.item())))
    (x * 3).backward()
    assert seen == [((), 6.0, 6.0)] and x.grad.item() == 6.0


def test_tensor_hooks():
    x = leaf(1.0, 2.0)
    h = x * 1
    calls = []
    first = h.register_hook(lambda g: calls.append("a") or g * 2)
    with h.register_hook(lambda g: calls.append("b")):
        h.sum().backward(retain_graph=True)
    h.sum().backward(retain_graph=True)
    first.remove()
    first.remove()
    h.sum().backward()
    assert calls == ["a", "b", "a"] and x.grad.tolist() == [5.0, 5.0]
    with pytest.raises(RuntimeError, match="requires a gradient"):
        neura.ones(1).register_hook(lambda g: g)
    with pytest.raises(RuntimeError, match="leaf"):
        h.register_post_accumulate_grad_hook(lambda p: None)
    with pytest.raises(TypeError, match="callable"):
        x.register_hook(3)
    x.register_hook(lambda g: 3)
    with pytest.raises(TypeError, match="tensor or None"):
        (x * 1).sum().backward()


def test_a_hook_may_remove_itself_and_add_others():
    x = leaf(1.0)
    calls = []

    def once(g):
        calls.append("once")
        handle.remove()
        x.register_hook(lambda g: calls.append("later"))

    handle = x.register_hook(once)
    (x * 1).backward()
    (x * 1).backward()
    assert calls == ["once", "later"]


def test_retain_grad_accumulates_and_can_be_cleared():
    x = leaf(1.0, 2.0)
    h = x * 2
    h.retain_grad()
    h.retain_grad()
    h.sum().backward(retain_graph=True)
    h.sum().backward(retain_graph=True)
    assert h.grad.tolist() == [2.0, 2.0]
    h.grad = None
    assert h.grad is None
    h.sum().backward()
    assert h.grad.tolist() == [1.0, 1.0]


def test_modes_nest_decorate_and_come_back():
    x = leaf(1.0)
    with neura.no_grad():
        assert not (x * 2).requires_grad
        with neura.enable_grad():
            assert (x * 2).requires_grad
        with neura.set_grad_enabled(True):
            assert neura.is_grad_enabled()
        assert not neura.is_grad_enabled()
    with pytest.raises(KeyError):
        with neura.no_grad():
            raise KeyError
    assert neura.is_grad_enabled()

    @neura.no_grad()
    def off(a, *, b=1):
        "doc"
        return neura.is_grad_enabled(), a + b

    @neura.no_grad
    def bare():
        return neura.is_grad_enabled()

    @neura.set_grad_enabled(False)
    def also():
        return neura.is_grad_enabled()

    assert off(1, b=2) == (False, 3) and off.__name__ == "off" and off.__doc__ == "doc"
    assert bare() is False and also() is False and neura.is_grad_enabled()
    neura.set_grad_enabled(False)
    assert not neura.is_grad_enabled()
    neura.set_grad_enabled(True)
    guard = neura.no_grad()
    for _ in range(2):
        with guard:
            assert not neura.is_grad_enabled()
        assert neura.is_grad_enabled()


def test_modes_of_generators():
    @neura.no_grad()
    def numbers(n):
        try:
            for i in range(n):
                sent = yield (i, neura.is_grad_enabled())
                if sent == "throw":
                    raise KeyError
        except ValueError:
            yield "caught", neura.is_grad_enabled()
        return "end"

    generator = numbers(3)
    assert next(generator) == (0, False) and neura.is_grad_enabled()
    assert generator.send("x") == (1, False) and neura.is_grad_enabled()
    assert generator.throw(ValueError()) == ("caught", False)
    with pytest.raises(StopIteration) as end:
        next(generator)
    assert end.value.value == "end" and neura.is_grad_enabled()
    generator = numbers(3)
    next(generator)
    with pytest.raises(KeyError):
        generator.send("throw")
    generator = numbers(3)
    next(generator)
    generator.close()
    assert list(numbers(2)) == [(0, False), (1, False)] and neura.is_grad_enabled()


def test_a_class_may_be_decorated_with_a_warning():
    with pytest.warns(FutureWarning):

        @neura.no_grad()
        class Made:
            def __init__(self):
                self.on = neura.is_grad_enabled()

    assert Made().on is False


def test_inference_mode():
    x = leaf(1.0)
    with neura.inference_mode():
        y = x * 2
        assert neura.is_inference_mode_enabled() and y.is_inference() and not y.requires_grad
        with neura.inference_mode(False):
            assert (x * 2).requires_grad and not neura.is_inference_mode_enabled()
        assert neura.is_inference_mode_enabled()
    assert not x.is_inference() and neura.is_grad_enabled()
    with pytest.raises(RuntimeError, match="inference"):
        y.requires_grad_()
    assert y.clone().requires_grad_().requires_grad

    @neura.inference_mode
    def bare():
        return neura.is_inference_mode_enabled()

    @neura.inference_mode()
    def called():
        return neura.is_inference_mode_enabled()

    assert bare() and called()


def test_modes_belong_to_their_thread():
    seen = []
    with neura.no_grad():
        thread = threading.Thread(target=lambda: seen.append(neura.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_saved_tensors_hooks():
    x = leaf(1.0, 2.0, 3.0)
    packed = []

    def pack(t):
        packed.append(t.tolist())
        assert not neura.is_grad_enabled() and not t.requires_grad
        return len(packed) - 1

    with graph.saved_tensors_hooks(pack, lambda i: neura.tensor(packed[i], dtype=neura.float64)):
        y = x.exp() * x
    y.sum().backward()
    assert len(packed) == 3
    assert neura.allclose(x.grad, x.detach().exp() * (1 + x.detach()))
    with graph.saved_tensors_hooks(lambda t: t, lambda t: neura.zeros(5)):
        y = x.exp()
    with pytest.raises(RuntimeError, match="unpack hook"):
        y.sum().backward()
    with graph.saved_tensors_hooks(lambda t: t, lambda t: 3):
        y = x.exp()
    with pytest.raises(TypeError, match="unpack hook"):
        y.sum().backward()

    def fails(t):
        raise KeyError("pack")

    with pytest.raises(KeyError, match="pack"):
        with graph.saved_tensors_hooks(fails, fails):
            x.exp()
    assert (x.exp().sum().backward(), x.grad is not None)[1]


def test_save_on_cpu_and_second_derivatives_through_hooks():
    x = leaf(0.5, -1.0)
    with graph.save_on_cpu():
        y = (x.sin() * x).sum()
        (d,) = neura.autograd.grad(y, x, create_graph=True)
    (dd,) = neura.autograd.grad(d.sum(), x)
    v = x.detach()
    assert neura.allclose(dd, 2 * v.cos() - v * v.sin())
    with graph.disable_saved_tensors_hooks("not here"):
        with pytest.raises(RuntimeError, match="not here"):
            with graph.save_on_cpu():
                pass
    with graph.save_on_cpu():
        pass


def test_backward_from_two_threads():
    x = leaf(*([1.0] * 1000))
    ys = [(x * x).sum() for _ in range(8)]
    threads = [threading.Thread(target=y.backward) for y in ys]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert x.grad.tolist() == [16.0] * 1000


def test_python_callbacks_from_many_threads():
    class Twice(neura.autograd.Function):
        forward = staticmethod(lambda ctx, x: x * 2)
        backward = staticmethod(lambda ctx, g: g * 2)

    x = leaf(1.0)
    calls = []
    x.register_hook(lambda g: calls.append(1))

    def work():
        for _ in range(50):
            y = Twice.apply(x)
            y.register_hook(lambda g: calls.append(2))
            Twice.apply(y).backward()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert not any(t.is_alive() for t in threads)
    assert x.grad.item() == 800 and calls.count(1) == 200 and calls.count(2) == 200


def test_nodes_bear_pytorchs_names():
    x, v = neura.rand(2, 2).requires_grad_(), neura.rand(2).requires_grad_()
    functional = neura.nn.functional
    for y, name in (
        (x @ x, "MmBackward0"),
        (neura.bmm(x[None], x[None]), "BmmBackward0"),
        (functional.linear(x, x, v), "AddmmBackward0"),
        (x.sum(), "SumBackward0"),
        (x.sum(0), "SumBackward1"),
        (x.mean(1), "MeanBackward1"),
        (x.double(), "ToCopyBackward0"),
        (x.clone(), "CloneBackward0"),
        (functional.layer_norm(x, (2,)), "NativeLayerNormBackward0"),
        (functional.cross_entropy(x, neura.tensor([0, 1])), "NllLossBackward0"),
        (functional.gelu(x, approximate="tanh"), "GeluBackward0"),
        (functional.max_pool2d(x[None], 2), "MaxPool2DWithIndicesBackward0"),
        (neura.linalg.det(x), "LinalgDetBackward0"),
        (x.norm(), "LinalgVectorNormBackward0"),
        (x.max(), "MaxBackward1"),
        (x.clamp(0, 1), "ClampBackward1"),
    ):
        assert y.grad_fn.name() == name and f"grad_fn=<{name}>" in repr(y), name
