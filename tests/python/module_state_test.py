"""state_dict, load_state_dict and their hooks; conversion of modules."""

import copy
import pickle
from collections import OrderedDict

import pytest

import neura
from neura import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 3)
        self.scale = nn.Parameter(neura.ones(3))
        self.register_buffer("buf", neura.zeros(2))
        self.register_buffer("tmp", neura.zeros(2), persistent=False)
        self.register_buffer("nothing", None)


def test_keys_order_and_sharing():
    net = Net()
    state = net.state_dict()
    assert isinstance(state, OrderedDict) and list(state) == ["scale", "buf", "fc.weight", "fc.bias"]
    assert not state["scale"].requires_grad and state["scale"].data_ptr() == net.scale.data_ptr()
    assert net.state_dict(keep_vars=True)["scale"] is net.scale
    assert list(net.state_dict(prefix="net."))[0] == "net.scale"
    assert state._metadata == {"": {"version": 1}, "fc": {"version": 1}}
    mine = {}
    assert net.state_dict(destination=mine) is mine and len(mine) == 4


@pytest.mark.parametrize("copied", [lambda m: m, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_what_is_deleted_and_put_back_stands_last(copied):
    layer = nn.Linear(2, 2)
    layer.scale = nn.Parameter(neura.ones(2))
    weight = layer.weight
    del layer.weight
    assert list(layer.state_dict()) == ["bias", "scale"]
    layer.register_parameter("weight", weight)
    layer.shift = nn.Parameter(neura.zeros(2))
    layer = copied(layer)
    assert list(layer.state_dict()) == ["bias", "scale", "weight", "shift"]
    assert [name for name, _ in layer.named_parameters()] == list(layer._parameters) == list(layer.state_dict())
    assert layer.weight.tolist() == weight.tolist()
    layer.bias = nn.Parameter(neura.zeros(2))  # assigned to, it keeps its place
    assert list(layer.state_dict())[0] == "bias"
    del layer.weight
    with pytest.raises(AttributeError):
        layer.weight


def test_a_gradient_is_converted_in_place():
    layer = nn.Linear(2, 2)
    layer(neura.ones(1, 2)).sum().backward()
    seen = layer.weight.grad
    layer.double()
    assert layer.weight.grad is seen and seen.dtype is neura.float64 and seen.tolist() == [[1, 1], [1, 1]]
    layer(neura.ones(1, 2).double()).sum().backward()
    assert seen.tolist() == [[2, 2], [2, 2]]


def test_loading():
    a, b = Net(), Net()
    result = a.load_state_dict(b.state_dict())
    assert a.fc.weight.tolist() == b.fc.weight.tolist() and a.fc.weight is not b.fc.weight
    assert repr(result) == "<All keys matched successfully>" and result.missing_keys == []
    missing, unexpected = a.load_state_dict({"scale": neura.zeros(3), "other": neura.zeros(1)}, strict=False)
    assert missing == ["buf", "fc.weight", "fc.bias"] and unexpected == ["other"] and a.scale.tolist() == [0.0] * 3
    assert "missing_keys=['scale', 'buf'" in repr(a.load_state_dict({}, strict=False))


def test_buffers_that_are_not_saved_are_neither_missing_nor_expected():
    net = Net()
    net.tmp.fill_(5)
    keys = net.load_state_dict(Net().state_dict(), strict=True)
    assert keys.missing_keys == [] and net.tmp.tolist() == [5, 5]
    with pytest.raises(RuntimeError, match=r'Unexpected key\(s\) in state_dict: "tmp"'):
        net.load_state_dict({**net.state_dict(), "tmp": neura.zeros(2)})
    assert net.load_state_dict({**net.state_dict(), "tmp": neura.zeros(2)}, strict=False).unexpected_keys == ["tmp"]
    assert net.tmp.tolist() == [5, 5]
    outer = nn.Sequential(net)
    outer.double()
    assert net.tmp.dtype == neura.float64 and "0.tmp" in dict(outer.named_buffers())


def test_nothing_is_written_unless_everything_fits():
    net = Net()
    before = net.fc.weight.tolist()
    state = net.state_dict()
    for wrong in (
        {**state, "fc.weight": neura.zeros(3, 2), "fc.bias": neura.zeros(4)},
        {**state, "fc.weight": neura.zeros(3, 2), "extra": neura.zeros(1)},
        {"fc.weight": neura.zeros(3, 2)},
        {**state, "fc.weight": neura.zeros(3, 2), "scale": 3},
    ):
        with pytest.raises(RuntimeError, match="loading state_dict for Net"):
            net.load_state_dict(wrong)
    assert net.fc.weight.tolist() == before


def test_messages():
    net = Net()
    state = net.state_dict()
    with pytest.raises(RuntimeError, match=r'Missing key\(s\) in state_dict: "fc.weight", "fc.bias"'):
        net.load_state_dict({k: v for k, v in state.items() if "fc" not in k})
    with pytest.raises(RuntimeError, match=r'Unexpected key\(s\) in state_dict: "x", "fc.y.z"'):
        net.load_state_dict({**state, "x": neura.zeros(1), "fc.y.z": neura.zeros(1)})
    with pytest.raises(neura.errors.ShapeError, match=r"size mismatch for scale: .*\[4\].*\[3\]"):
        net.load_state_dict({**state, "scale": neura.zeros(4)})
    with pytest.raises(TypeError, match="dict-like"):
        net.load_state_dict([1, 2])


def test_assign_takes_the_tensors_themselves():
    net, w, b = Net(), nn.Parameter(neura.zeros(3)), neura.ones(2)
    net.scale.requires_grad_(False)
    net.load_state_dict({**net.state_dict(), "scale": w, "buf": b}, assign=True)
    assert net.scale is w and not w.requires_grad and net.buf is b and isinstance(net.fc.weight, nn.Parameter)


def test_a_number_of_the_old_form():
    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("n", neura.tensor(0))

    c = Counter()
    c.load_state_dict({"n": neura.tensor([3])})
    assert c.n.shape == () and c.n.item() == 3


def test_extra_state():
    class Extra(nn.Module):
        note = "first"

        def get_extra_state(self):
            return {"note": self.note}

        def set_extra_state(self, state):
            self.note = state["note"]

    net = nn.Sequential(Extra())
    net[0].note = "second"
    state = net.state_dict()
    assert state["0._extra_state"] == {"note": "second"}
    other = nn.Sequential(Extra())
    other.load_state_dict(state)
    assert other[0].note == "second"
    with pytest.raises(RuntimeError, match="_extra_state"):
        other.load_state_dict({})
    with pytest.raises(RuntimeError, match="Unexpected"):
        nn.Sequential(nn.Identity()).load_state_dict(state)


def test_overridden_saving_and_loading():
    class Mine(nn.Module):
        _version = 2

        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(neura.zeros(1))
            self.seen = None

        def _save_to_state_dict(self, destination, prefix, keep_vars):
            super()._save_to_state_dict(destination, prefix, keep_vars)
            destination[prefix + "more"] = neura.ones(1)

        def _load_from_state_dict(self, state_dict, prefix, local_metadata, *rest):
            self.seen = local_metadata.get("version")
            state_dict.pop(prefix + "more", None)
            super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    net = nn.Sequential(Mine())
    state = net.state_dict()
    assert list(state) == ["0.w", "0.more"]
    state["0.w"] = neura.ones(1)
    net.load_state_dict(state)
    assert net[0].seen == 2 and net[0].w.item() == 1


def test_hooks():
    net, log = Net(), []
    net.register_state_dict_pre_hook(lambda m, prefix, keep: log.append(("pre", m is net, prefix, keep)))
    net.register_state_dict_post_hook(lambda m, state, prefix, meta: state.pop("buf"))
    with pytest.raises(RuntimeError, match="return None"):
        net.state_dict()
    net._state_dict_hooks.clear()
    net._register_state_dict_hook(lambda m, state, prefix, meta: {"all": state})
    assert list(net.state_dict()) == ["all"]
    net._state_dict_hooks.clear()

    def pre(module, state, prefix, *rest):
        assert module is net
        state.setdefault("scale", neura.full((3,), 9.0))

    def post(module, keys):
        keys.missing_keys.clear()

    net.register_load_state_dict_pre_hook(pre)
    handle = net.register_load_state_dict_post_hook(post)
    net.load_state_dict({})
    assert net.scale.tolist() == [9.0] * 3
    handle.remove()
    with pytest.raises(RuntimeError, match="Missing"):
        net.load_state_dict({})
    assert log[0] == ("pre", True, "", False)


def test_conversion_keeps_parameters_and_ties():
    net = Net()
    net.register_buffer("count", neura.tensor([1]))
    net.tied = net.fc
    w, buf = net.fc.weight, net.buf
    (w.sum() * 2).backward()
    assert net.double() is net
    assert net.fc.weight is w and w.dtype == neura.float64 and w.grad.dtype == neura.float64 and net.buf is buf
    assert buf.dtype == neura.float64 and net.count.dtype == neura.int64 and w.grad.tolist() == [[2.0, 2.0]] * 3
    assert net.half().scale.dtype == neura.float16 and net.bfloat16().scale.dtype == neura.bfloat16
    assert net.to(neura.zeros(1, dtype=neura.float64)).scale.dtype == neura.float64
    assert net.to("cpu", neura.float32).scale.dtype == neura.float32 and net.to(device="cpu") is net
    assert net.float().cpu().scale.device.type == "cpu" and net.type(neura.float64).count.dtype == neura.float64
    with pytest.raises(TypeError, match="floating or complex"):
        net.to(neura.int64)
    assert net.to_empty(device="cpu").fc.weight is w


def test_zero_grad():
    net = Net()
    net.scale.sum().backward()
    net.zero_grad(set_to_none=False)
    assert net.scale.grad.tolist() == [0.0] * 3
    net.zero_grad()
    assert net.scale.grad is None
