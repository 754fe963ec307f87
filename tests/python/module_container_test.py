"""Containers of modules and of parameters."""

from collections import OrderedDict

import pytest

import neura
from neura import nn


def names(pairs):
    return [name for name, _ in pairs]


def test_sequential_is_a_list():
    a, b, c = nn.Linear(1, 1), nn.Identity(), nn.Linear(1, 1)
    s = nn.Sequential(a, b, c)
    assert len(s) == 3 and s[0] is a and s[-1] is c and list(s) == [a, b, c] and isinstance(s[:2], nn.Sequential)
    assert list(s[1:]) == [b, c] and names(s[1:].named_children()) == ["1", "2"]
    for i in (3, -4):
        with pytest.raises(IndexError):
            s[i]
    s[1] = c
    assert s[1] is c
    del s[0]
    assert list(s) == [c, c] and names(s.named_modules(remove_duplicate=False)) == ["", "0", "1"]
    assert s.append(a) is s and s.insert(0, b) is s and list(s) == [b, c, c, a]
    assert s.pop(1) is c and s.pop(-1) is a and list(s) == [b, c]
    assert s.extend([a, a]) is s and len(s) == 4
    del s[1:3]
    assert list(s) == [b, a] and names(s.named_children()) == ["0", "1"]


def test_sequential_arithmetic():
    a, b = nn.Linear(1, 1), nn.Identity()
    s, t = nn.Sequential(a), nn.Sequential(b)
    assert list(s + t) == [a, b] and list((s + t) * 2) == [a, b, a, b] and list(2 * s) == [a, a]
    s += t
    assert list(s) == [a, b]
    s *= 2
    assert list(s) == [a, b, a, b]
    with pytest.raises(ValueError):
        s + [a]
    with pytest.raises(ValueError):
        s * 0
    with pytest.raises(TypeError):
        s * 1.5


def test_sequential_with_names():
    s = nn.Sequential(OrderedDict([("fc", nn.Linear(2, 3)), ("act", nn.Identity())]))
    assert s.fc is s[0] and list(s.state_dict()) == ["fc.weight", "fc.bias"] and s(neura.ones(1, 2)).shape == (1, 3)
    assert names(s[1:].named_children()) == ["act"] and "fc" in repr(s)
    with pytest.raises(TypeError, match="not a Module subclass"):
        nn.Sequential(3)
    with pytest.raises(TypeError, match="not a Module subclass"):
        nn.Sequential(OrderedDict(a=3))
    with pytest.raises(TypeError, match="not a Module subclass"):
        s.append(None)


def test_a_subclass_of_sequential_with_a_parameter_of_its_own():
    class Scaled(nn.Sequential):
        def __init__(self):
            super().__init__(nn.Identity())
            self.scale = nn.Parameter(neura.tensor([3.0]))

        def forward(self, x):
            return super().forward(x) * self.scale

    s = Scaled()
    s.append(nn.Identity())
    assert len(s) == 2 and s(neura.ones(1)).tolist() == [3.0] and nn.Sequential(s)(neura.ones(1)).tolist() == [3.0]
    s._modules["0"] = None
    with pytest.raises((TypeError, ValueError)):
        s(neura.ones(1))


def test_module_list():
    a, b = nn.Linear(1, 1), nn.Identity()
    m = nn.ModuleList([a])
    assert m.append(b) is m and m.extend([a]) is m and len(m) == 3 and m[-1] is a
    m.insert(1, b)
    assert list(m) == [a, b, b, a] and list(m + [a]) == [a, b, b, a, a] and isinstance(m[1:], nn.ModuleList)
    m += [b]
    m[0] = b
    assert m.pop(0) is b and len(m) == 4 and names(m.named_parameters()) == ["2.weight", "2.bias"]
    assert nn.ModuleList().append(a)[0] is a and "0" not in dir(m)
    for wrong in (lambda: m.append(3), lambda: nn.ModuleList(3), lambda: nn.ModuleList([3]), lambda: m["a"]):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(NotImplementedError):
        m(neura.ones(1))
    with pytest.raises(IndexError):
        m[9] = a
    with pytest.raises(IndexError):
        m.insert(9, a)


def test_module_dict():
    a, b = nn.Linear(1, 1), nn.Identity()
    d = nn.ModuleDict({"x": a})
    d["y"] = b
    assert d["x"] is a and list(d) == ["x", "y"] == list(d.keys()) and list(d.values()) == [a, b]
    assert dict(d.items()) == {"x": a, "y": b} and "x" in d and "z" not in d and len(d) == 2
    d.update([("z", a)])
    d.update({"x": b})
    assert list(d) == ["x", "y", "z"] and d["x"] is b and d.pop("z") is a
    del d["x"]
    with pytest.raises(KeyError):
        d["x"]
    assert names(nn.ModuleDict([["p", a]]).named_parameters()) == ["p.weight", "p.bias"]
    d.clear()
    assert len(d) == 0 and repr(d) == "ModuleDict()"
    for wrong in (lambda: d.update(3), lambda: d.__setitem__("a", 3), lambda: d.__setitem__(3, a)):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(KeyError):
        d["keys"] = a


def test_parameter_list():
    p = nn.ParameterList([neura.ones(2), nn.Parameter(neura.zeros(1))])
    assert len(p) == 2 and isinstance(p[0], nn.Parameter) and names(p.named_parameters()) == ["0", "1"]
    w = nn.Parameter(neura.ones(3))
    p.append(w).extend([neura.zeros(1)])
    assert p[2] is w and p[-1].shape == (1,) and len(p[1:]) == 3 and [len(x) for x in p] == [2, 1, 3, 1]
    p[0] = w
    assert p[0] is w and p.pop(1).shape == (1,) and len(p) == 3 and len(list(p.parameters())) == 2
    p.append(3)
    assert p[3] == 3 and len(p) == 4
    with pytest.raises(TypeError):
        nn.ParameterList(neura.ones(2))
    with pytest.raises(RuntimeError):
        p(1)
    with pytest.raises(IndexError):
        p[4]
    assert repr(nn.ParameterList([neura.ones(2, 3), neura.ones(1)])) == (
        "ParameterList(\n"
        "    (0): Parameter containing: [neura.float32 of size 2x3]\n"
        "    (1): Parameter containing: [neura.float32 of size 1]\n"
        ")"
    )


def test_a_plain_dict_of_parameters_comes_in_order_of_names():
    given = {"w": neura.ones(1), "b": neura.ones(1)}
    assert list(nn.ParameterDict(given)) == ["b", "w"]
    assert list(nn.ParameterDict(OrderedDict(given))) == list(nn.ParameterDict(given.items())) == ["w", "b"]
    p = nn.ParameterDict(given.items())
    assert list(nn.ParameterDict(p)) == list(p.copy()) == ["w", "b"]
    assert list(p.fromkeys(["w", "b"], neura.zeros(1))) == ["w", "b"]


def test_parameter_dict():
    p = nn.ParameterDict({"a": neura.ones(2)})
    w = nn.Parameter(neura.zeros(1))
    p["b"] = w
    assert p["b"] is w and list(p) == ["a", "b"] and names(p.named_parameters()) == ["a", "b"] and len(p) == 2
    assert p.get("c") is None and p.setdefault("c", neura.ones(1)).shape == (1,) and "c" in p
    assert p.popitem()[0] == "c" and p.pop("b") is w and list(p.keys()) == ["a"]
    q = p | {"d": w}
    assert list(q) == ["a", "d"] and q["a"] is p["a"] and [k for k, _ in q.items()] == ["a", "d"]
    q |= {"e": w}
    del q["d"]
    assert list(reversed(q)) == ["e", "a"] and list(q.values())[1] is w
    q.clear()
    assert len(q) == 0
    with pytest.raises(KeyError):
        q["a"]
    with pytest.raises(TypeError):
        q[3] = w
