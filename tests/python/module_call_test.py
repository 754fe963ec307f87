"""Calls: forward of Python and of C++, overrides, hooks."""

import threading

import pytest

import neura
from neura import nn


def linear(value, n=2, bias=0.0):
    layer = nn.Linear(n, n)
    with neura.no_grad():
        layer.weight.fill_(value)
        layer.bias.fill_(bias)
    return layer


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = linear(0.5, bias=1.0)
        self.scale = nn.Parameter(neura.tensor([2.0, 2.0]))

    def forward(self, x, flag=False):
        y = self.fc(x)
        return (y, flag) if flag else y + self.scale


X = neura.ones(1, 2)


def test_forward_of_python_from_python_and_from_cpp():
    net = Net()
    assert net(X).tolist() == [[4.0, 4.0]] and net(X, flag=True)[1] is True
    assert net(flag=True, x=X)[0].tolist() == [[2.0, 2.0]] and net.forward(X).tolist() == [[4.0, 4.0]]
    s = nn.Sequential(linear(0.5, bias=1.0), net, nn.Sequential(net))
    assert s(X).tolist() == [[8.0, 8.0]] and s[1] is net and s[2][0] is net and s[-1] is s[2] and len(s) == 3
    assert s.forward(X).tolist() == [[8.0, 8.0]] and s(input=X).tolist() == [[8.0, 8.0]]


def test_any_object_passes_through_cpp():
    class Pass(nn.Module):
        def forward(self, o):
            self.seen = o
            return o

    p, o = Pass(), object()
    assert nn.Sequential(p, Pass())(o) is o and p.seen is o
    value = {"a": (1, [2.5, None, True]), "b": "text", 3: 1 << 80}
    assert nn.Sequential(p)(value) == value
    assert nn.Sequential(p)("\ud800") == "\ud800"


def test_errors_cross_cpp():
    class Boom(nn.Module):
        def forward(self, x):
            raise KeyError("boom")

    with pytest.raises(KeyError, match="boom"):
        nn.Sequential(Boom())(X)
    with pytest.raises(NotImplementedError):
        nn.Module()(X)

    class NoForward(nn.Module):
        pass

    with pytest.raises(NotImplementedError):
        NoForward()(X)


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m(),
        lambda m: m(X, X),
        lambda m: m("text"),
        lambda m: m(other=X),
        lambda m: m(X, input=X),
        lambda m: m(3),
        lambda m: m(None),
        lambda m: nn.Flatten()(None),
    ],
)
def test_wrong_arguments_of_a_cpp_layer_are_type_errors(call):
    with pytest.raises(TypeError):
        call(nn.Linear(2, 2))


def test_a_subclass_of_a_cpp_layer_is_called_from_cpp():
    class LoRA(nn.Linear):
        def __init__(self, *args):
            super().__init__(*args)
            self.r = nn.Parameter(neura.tensor([1.0, 1.0]))

        def forward(self, input):
            return super().forward(input) + self.r

        def extra_repr(self):
            return "lora, " + super().extra_repr()

    layer = LoRA(2, 2)
    with neura.no_grad():
        layer.weight.fill_(0.5)
        layer.bias.fill_(1.0)
    s = nn.Sequential(layer)
    assert s(X).tolist() == [[3.0, 3.0]] and layer(X).tolist() == [[3.0, 3.0]]
    assert [name for name, _ in s.named_parameters()] == ["0.weight", "0.bias", "0.r"]
    assert repr(s) == "Sequential(\n  (0): LoRA(lora, in_features=2, out_features=2, bias=True)\n)"
    old, LoRA.forward = LoRA.forward, lambda self, x: x
    assert s(X).tolist() == [[1.0, 1.0]]
    LoRA.forward = old
    assert s(X).tolist() == [[3.0, 3.0]]


def test_patches_of_a_class_and_of_an_object_are_seen_by_cpp():
    layer, s = linear(0.5), nn.Sequential()
    s.append(layer)
    assert s(X).tolist() == [[1.0, 1.0]]
    old = nn.Linear.forward
    nn.Linear.forward = lambda self, x: x * 7
    try:
        assert s(X).tolist() == [[7.0, 7.0]] and layer(X).tolist() == [[7.0, 7.0]]
    finally:
        nn.Linear.forward = old
    assert s(X).tolist() == [[1.0, 1.0]]
    layer.forward = lambda x: x * 5
    assert s(X).tolist() == [[5.0, 5.0]] and layer(X).tolist() == [[5.0, 5.0]]
    del layer.forward
    assert s(X).tolist() == [[1.0, 1.0]]
    object.__setattr__(layer, "forward", lambda x: x * 3)
    assert layer(X).tolist() == [[3.0, 3.0]] and s(X).tolist() == [[3.0, 3.0]]
    del layer.__dict__["forward"]
    assert layer(X).tolist() == [[1.0, 1.0]] and s(X).tolist() == [[1.0, 1.0]]


def test_a_call_of_its_own():
    class Twice(nn.Linear):
        def __call__(self, x):
            return super().__call__(x) * 2

    t = Twice(2, 2)
    once = t.forward(X)
    assert t(X).tolist() == (once * 2).tolist() and nn.Sequential(t)(X).tolist() == (once * 2).tolist()
    handle = t.register_forward_hook(lambda m, a, out: out + 1)
    assert t(X).tolist() == ((once + 1) * 2).tolist() == nn.Sequential(t)(X).tolist()
    handle.remove()
    old = Twice.__call__
    del Twice.__call__
    assert t(X).tolist() == once.tolist()
    Twice.__call__ = old
    assert t(X).tolist() == (once * 2).tolist()


def test_train_of_a_subclass():
    class Frozen(nn.Module):
        calls = 0

        def train(self, mode=True):
            self.calls += 1
            return super().train(False)

    z = Frozen()
    s = nn.Sequential(nn.Linear(1, 1), z)
    assert s.train() is s and s[0].training and not z.training and z.calls == 1
    assert s.eval() is s and not s.training and not s[0].training and z.calls == 2
    with pytest.raises(ValueError):
        s.train("yes")
    s.training = True
    assert s.training and not s[0].training


def test_gradients_through_both_languages():
    net = Net()
    s = nn.Sequential(net, nn.Sequential(net))
    s(X).sum().backward()
    assert all(p.grad is not None for p in s.parameters()) and net.fc.weight.grad is net.fc.weight.grad
    s.zero_grad()
    assert all(p.grad is None for p in s.parameters())
    s.requires_grad_(False)
    assert not any(p.requires_grad for p in s.parameters()) and not s(X).requires_grad


def test_forward_hooks():
    log, layer = [], linear(0.5, bias=1.0)
    handle = layer.register_forward_hook(lambda m, args, out: (log.append((m is layer, len(args))), out + out)[1])
    assert nn.Sequential(layer)(X).tolist() == [[4.0, 4.0]] and log == [(True, 1)]
    handle.remove()
    handle.remove()
    assert layer(X).tolist() == [[2.0, 2.0]]
    with layer.register_forward_hook(lambda m, args, out: out * 0):
        assert layer(X).tolist() == [[0.0, 0.0]]
    assert layer(X).tolist() == [[2.0, 2.0]]
    layer.register_forward_pre_hook(lambda m, args: args[0] * 3)
    assert layer(X).tolist() == [[4.0, 4.0]] == nn.Sequential(layer)(X).tolist()
    layer._forward_pre_hooks.clear()
    assert layer(X).tolist() == [[2.0, 2.0]]


def test_hooks_with_kwargs_order_and_failures():
    net, log = Net(), []
    net.register_forward_pre_hook(lambda m, a, k: (a, {"flag": True}), with_kwargs=True)
    assert net(X)[1] is True and nn.Sequential(net)(X)[1] is True
    net.register_forward_hook(lambda m, a, k, out: log.append(("second", k)), with_kwargs=True)
    net.register_forward_hook(lambda m, a, out: log.append(("first",)), prepend=True)
    net(X)
    assert log == [("first",), ("second", {"flag": True})]
    net.register_forward_pre_hook(lambda m, a, k: 3, with_kwargs=True)
    with pytest.raises(RuntimeError, match="new_args, new_kwargs"):
        net(X)
    net._forward_pre_hooks.clear()
    net._forward_hooks.clear()
    always = []
    net.register_forward_hook(lambda m, a, out: always.append(out), always_call=True)
    net.register_forward_hook(lambda m, a, out: always.append("never"))
    with pytest.raises(TypeError):
        net(3, 4, 5)
    assert always == [None]
    with pytest.raises(TypeError):
        net.register_forward_hook(3)


def test_backward_hooks():
    layer, x, log = linear(0.5), neura.ones(1, 2, requires_grad=True), []
    handle = layer.register_full_backward_hook(lambda m, gi, go: log.append((m, gi, go)))
    layer(x).sum().backward()
    (m, (grad_input,), (grad_output,)) = log[0]
    assert m is layer and grad_output.tolist() == [[1.0, 1.0]] and grad_input.tolist() == [[1.0, 1.0]]
    handle.remove()
    layer.register_full_backward_hook(lambda m, gi, go: (gi[0] * 10,))
    x.grad = None
    nn.Sequential(layer)(x).sum().backward()
    assert x.grad.tolist() == [[10.0, 10.0]]
    layer.register_full_backward_pre_hook(lambda m, go: (go[0] * 2,))
    x.grad = None
    layer(x).sum().backward()
    assert x.grad.tolist() == [[20.0, 20.0]] and len(log) == 1
    layer.register_full_backward_hook(lambda m, gi, go: (gi[0], gi[0]))
    with pytest.raises(RuntimeError, match="expected a hook to return 1 gradients, got 2"):
        layer(x).sum().backward()


def test_backward_hook_where_no_input_needs_a_gradient():
    layer, log = linear(0.5), []
    layer.register_full_backward_hook(lambda m, gi, go: log.append((gi, go)))
    layer(X).sum().backward()
    ((gi, go),) = log
    assert gi == (None,) and go[0].tolist() == [[1.0, 1.0]] and layer.weight.grad is not None


def test_a_hook_may_remove_itself():
    layer, log = linear(1.0), []

    def once(m, a, out):
        log.append(1)
        handle.remove()

    handle = layer.register_forward_hook(once)
    layer(X)
    layer(X)
    assert log == [1]


def test_repr():
    assert repr(nn.Linear(2, 3)) == "Linear(in_features=2, out_features=3, bias=True)"
    net = nn.Sequential(Net(), nn.ModuleList([nn.Linear(1, 1) for _ in range(3)]))
    assert repr(net) == (
        "Sequential(\n"
        "  (0): Net(\n"
        "    (fc): Linear(in_features=2, out_features=2, bias=True)\n"
        "  )\n"
        "  (1): ModuleList(\n"
        "    (0-2): 3 x Linear(in_features=1, out_features=1, bias=True)\n"
        "  )\n"
        ")"
    )

    class Odd(nn.Module):
        def __repr__(self):
            return "mine"

    class Named(nn.Module):
        def _get_name(self):
            return "Other"

        def extra_repr(self):
            return "a\nb"

    assert repr(nn.Sequential(Odd(), Named())) == "Sequential(\n  (0): mine\n  (1): Other(\n    a\n    b\n  )\n)"
    assert str(nn.Module()) == "Module()"


def test_threads_share_a_module():
    net, out = nn.Sequential(Net(), linear(1.0)), []

    def work():
        for _ in range(50):
            out.append(net(X).tolist())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert out == [[[8.0, 8.0]]] * 200


def test_a_module_within_itself_is_an_error():
    s = nn.Sequential()
    s.append(s)
    for use in (lambda: s(X), s.train, s.eval, lambda: repr(s), s.state_dict, s.float, lambda: s.apply(print)):
        with pytest.raises((RecursionError, ValueError)):
            use()
    assert list(s.parameters()) == [] and list(s.modules()) == [s]
    nested = []
    for _ in range(100000):
        nested = [nested]
    with pytest.raises(RecursionError):
        nn.Sequential(nn.Identity())(nested)
