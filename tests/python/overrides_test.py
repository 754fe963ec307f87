"""Classes and modes that take the place of functions: __torch_function__."""

import neura
import pytest
from neura import nn, overrides

F = nn.functional


class Plain(neura.Tensor):
    """Has no __torch_function__ of its own."""


class Logged(neura.Tensor):
    seen = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.seen.append(overrides.resolve_name(func) or func.__name__)
        return super().__torch_function__(func, types, args, kwargs)


class Scaled:
    """No tensor: a factor and values."""

    handled = {}

    def __init__(self, factor, values):
        self.factor, self.values = factor, values

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return cls.handled[func](*args, **(kwargs or {})) if func in cls.handled else NotImplemented


def implements(func):
    def keep(f):
        Scaled.handled[func] = f
        return f

    return keep


@implements(neura.add)
def add(a, b):
    a, b = (x.factor * x.values if isinstance(x, Scaled) else x for x in (a, b))
    return a + b


@implements(neura.sum)
def total(x, dim=None):
    return x.factor * neura.sum(x.values, dim=dim)


@implements(F.linear)
def linear(x, weight, bias=None):
    return Scaled(x.factor, F.linear(x.values, weight))


@implements(neura.stack)
def stack(parts):
    return len(parts)


def test_results_of_a_subclass_have_its_class():
    x, plain = neura.ones(3).as_subclass(Plain), neura.ones(3)
    for y in (x + 1, 1 - x, plain * x, -x, x[0], x == plain, x.sum(), neura.stack([plain, x]), neura.exp(x), x.clone()):
        assert type(y) is Plain
    assert type(neura.max(x, 0).values) is Plain and type(x.unbind()[0]) is Plain and type(next(iter(x))) is Plain
    assert type(x + nn.Parameter(plain)) is Plain and type(nn.Linear(3, 2)(x)) is Plain
    assert type(x.shape) is neura.Size and type(x.tolist()) is list and type(plain + 1) is neura.Tensor
    y = x
    y += 1
    assert y is x and x.tolist() == [2, 2, 2]


@pytest.mark.parametrize("name", "T mT H mH real imag data".split())
def test_attributes_that_are_views_have_the_class(name):
    x = neura.tensor([[1 + 2j, 3], [4, 5]])
    assert type(getattr(x, name)) is neura.Tensor and type(getattr(nn.Parameter(x), name)) is neura.Tensor
    y = getattr(x.as_subclass(Plain), name)
    assert type(y) is Plain and y.tolist() == getattr(x, name).tolist()
    assert y.data_ptr() == getattr(x, name).data_ptr() or "H" in name
    Logged.seen.clear()
    assert type(getattr(x.as_subclass(Logged), name)) is Logged and Logged.seen == ["__get__"]
    with overrides.DisableTorchFunctionSubclass():
        assert type(getattr(x.as_subclass(Plain), name)) is neura.Tensor
    with pytest.raises(TypeError):
        getattr(neura.Tensor, name).__get__(3)


def test_gradients_pass():
    w = neura.tensor([1.0, 2.0]).as_subclass(Plain).requires_grad_()
    (w * w).sum().backward()
    assert w.grad.tolist() == [2, 4]


def test_parameters_and_buffers_are_plain():
    assert type(nn.Parameter(neura.ones(2)) + 1) is neura.Tensor and type(nn.Buffer(neura.ones(2)) + 1) is neura.Tensor
    assert not overrides.has_torch_function((nn.Parameter(neura.ones(2)),))


def test_a_subclass_sees_what_is_called():
    x = neura.ones(2, 2).as_subclass(Logged)
    Logged.seen.clear()
    x + 1, 1 - x, x @ x, x[0], x.sum(), neura.sum(x, dim=0), F.linear(x, x), neura.linalg.norm(x), abs(x)
    x[0] = 3
    x.mul_(2)
    x -= 1
    names = "add Tensor.__rsub__ matmul Tensor.__getitem__ sum sum nn.functional.linear linalg.norm abs"
    assert [n.removeprefix("neura.").replace("Tensor.", "") for n in Logged.seen] == [
        *names.replace("Tensor.", "").split(),
        "__setitem__",
        "mul_",
        "sub_",
    ]
    assert type(x + 1) is Logged


def test_an_object_that_is_no_tensor():
    a, ones = Scaled(2.0, neura.ones(2)), neura.ones(2)
    assert neura.add(a, 1).tolist() == [3, 3] and (ones + a).tolist() == [3, 3] and (a + ones).tolist() == [3, 3]
    assert neura.sum(a, dim=0).item() == 4 and neura.stack([ones, a]) == 2
    assert F.linear(a, neura.ones(3, 2)).values.tolist() == [2, 2, 2]
    with pytest.raises(TypeError, match="neura.mul: expected a __torch_function__ that knows this function"):
        neura.mul(a, 2)
    with pytest.raises(TypeError, match="NotImplemented from Scaled"):
        ones * a


def test_a_class_comes_before_those_it_derives_from():
    order = []

    class Base(neura.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            order.append(cls.__name__)
            return NotImplemented

    class Derived(Base):
        pass

    with pytest.raises(TypeError):
        neura.add(neura.ones(1).as_subclass(Base), neura.ones(1).as_subclass(Derived))
    assert order == ["Derived", "Base"]


def test_questions():
    x, plain, a = neura.ones(1).as_subclass(Plain), neura.ones(1), Scaled(1, None)
    assert overrides.has_torch_function_unary(x) and overrides.has_torch_function_variadic(plain, a)
    assert not overrides.has_torch_function((plain, 3, "x"))
    assert [overrides.is_tensor_like(v) for v in (plain, x, a, 3)] == [True, True, True, False]
    assert overrides.resolve_name(neura.softmax) == "neura.softmax" and overrides.resolve_name(test_questions) is None
    assert overrides.is_tensor_method_or_property(neura.Tensor.add)
    assert neura.add in overrides.get_overridable_functions()[neura]
    assert neura.manual_seed in overrides.get_ignored_functions()


def test_functions_of_a_program_join():
    @overrides.wrap_torch_function(lambda x, y=None: (x, y))
    def double(x, y=None):
        return x * 2

    implements(double)(lambda x, y=None: "taken")
    assert double(neura.ones(1)).item() == 2 and double(Scaled(1, None)) == "taken"

    def shown(x):
        if overrides.has_torch_function((x,)):
            return overrides.handle_torch_function(shown, (x,), x)
        return "plain"

    implements(shown)(lambda x: "taken")
    assert shown(neura.ones(1)) == "plain" and shown(Scaled(1, None)) == "taken"


class Names(overrides.TorchFunctionMode):
    def __init__(self):
        self.seen = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen.append(func.__name__)
        return func(*args, **(kwargs or {}))


def test_a_mode_sees_the_calls_of_its_block():
    with Names() as outer:
        x = neura.ones(2) + 1
        with Names() as inner:
            F.relu(x)
            x[0]
        x.sum(dim=0)
    neura.exp(x)
    assert inner.seen == ["relu", "__getitem__"] and outer.seen == ["ones", "add", "relu", "__getitem__", "sum"]


def test_a_mode_may_give_another_result_and_ends_after_an_error():
    class Zeros(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            return result * 0 if func is neura.ones else result

    with pytest.raises(KeyError), Zeros():
        assert neura.ones(2).tolist() == [0, 0]
        raise KeyError
    assert neura.ones(2).tolist() == [1, 1]


def test_the_usual_way_to_write_a_subclass():
    class Tagged(neura.Tensor):
        @staticmethod
        def __new__(cls, data, tag):
            x = neura.Tensor._make_subclass(cls, neura.as_tensor(data))
            x.tag = tag
            return x

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            with neura._C.DisableTorchFunctionSubclass():
                result = func(*args, **(kwargs or {}))
            if func in overrides.get_default_nowrap_functions() or not isinstance(result, neura.Tensor):
                return result
            return Tagged(result, next(a.tag for a in args if isinstance(a, Tagged)))

    class Quiet(neura.Tensor):
        __torch_function__ = neura._C._disabled_torch_function_impl

    x = Tagged([1.0, 2.0], "t")
    assert (x * 2).tag == "t" and x.sum().item() == 3 and x[0].tag == "t" and isinstance(x + 1, Tagged)
    assert type(neura.ones(1).as_subclass(Quiet) + 1) is neura.Tensor


def test_overrides_can_be_switched_off():
    x = neura.ones(2).as_subclass(Plain)
    with overrides.DisableTorchFunctionSubclass():
        assert type(x + 1) is neura.Tensor
    with Names() as names, overrides.DisableTorchFunction():
        x + 1
    assert names.seen == [] and type(x + 1) is Plain


def test_a_subclass_is_shown_by_its_name():
    x = neura.arange(4.0).reshape(2, 2)
    assert repr(x.as_subclass(Plain)) == "Plain([[0., 1.],\n       [2., 3.]])"
    assert repr(x.as_subclass(Logged)) == "Logged([[0., 1.],\n        [2., 3.]])"
    assert repr(nn.Buffer(x)).startswith("tensor(") and repr(x).startswith("tensor(")
    assert type(x.as_subclass(Plain).as_subclass(neura.Tensor)) is neura.Tensor


def test_a_tensor_takes_no_keywords():
    with pytest.raises(TypeError, match="Tensor: unknown argument 'size'; expected no keywords"):
        neura.Tensor(2, size=3)

    class Named(neura.Tensor):
        def __init__(self, data, name=None):
            self.name = name

    assert Named([1.0], name="a").name == "a"
