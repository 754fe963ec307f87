"""A tensor that only C++ still holds keeps its Python object: attributes, class, weak references, identity."""

import gc
import threading
import weakref

import neura
import pytest
from fuzz_values import Clears


class Marked(neura.Tensor):
    __slots__ = ("mark",)


class Note:
    pass


def held_as_gradient(make):
    """A tensor that is the gradient of a leaf, and the leaf; the tensor's object has no other owner."""
    leaf = neura.zeros(3, requires_grad=True)
    leaf.grad = make()
    return leaf


def with_attribute():
    g = neura.ones(3)
    g.tag = Note()
    return g


def test_attributes_survive_in_cpp():
    leaf = held_as_gradient(with_attribute)
    gc.collect()
    assert isinstance(leaf.grad.tag, Note)
    assert leaf.grad is leaf.grad


def test_base_of_a_view_comes_back():
    x = neura.arange(6.0)
    x.name_ = "base"
    y, seen = x.view(2, 3), weakref.ref(x)
    del x
    gc.collect()
    assert seen() is y._base and y._base.name_ == "base"
    assert neura.ones(2)._base is None


def test_subclasses_survive():
    def make():
        g = Marked(neura.ones(3))
        g.mark = "m"
        return g

    leaf = held_as_gradient(make)
    gc.collect()
    assert type(leaf.grad) is Marked and leaf.grad.mark == "m"


def test_weak_references_survive_and_end():
    seen = []

    def make():
        g = neura.ones(3)
        seen.append(weakref.ref(g))
        return g

    leaf = held_as_gradient(make)
    assert seen[0]() is leaf.grad
    leaf.grad = None
    gc.collect()
    assert seen[0]() is None


@pytest.mark.parametrize("kind", [neura.Tensor, Marked])
def test_an_object_can_be_kept_many_times(kind):
    leaf = neura.zeros(3, requires_grad=True)
    g = kind(neura.ones(3))
    g.tag, g.me = Note(), g  # a cycle: the collector meets the object too
    leaf.grad = g
    del g
    for _ in range(4):
        gc.collect()
        assert leaf.grad.me is leaf.grad and isinstance(leaf.grad.tag, Note)
    died = weakref.ref(leaf.grad.tag)
    leaf.grad = None
    gc.collect()
    gc.collect()
    assert died() is None


@pytest.mark.filterwarnings("ignore:backward")
def test_last_handle_goes_in_backward_without_the_lock():
    died = []
    leaf = neura.ones(3, requires_grad=True)
    for _ in range(20):
        leaf.grad = with_attribute()
        died.append(weakref.ref(leaf.grad.tag))
        (leaf * leaf).sum().backward(create_graph=True)  # makes another gradient and drops the first
        assert not hasattr(leaf.grad, "tag")
        leaf.grad = None
    gc.collect()
    gc.collect()
    assert [d() for d in died] == [None] * 20


@pytest.mark.filterwarnings("ignore:backward")
def test_references_taken_while_cpp_lets_go():
    """Weak references, the leaf and backward race for one object; nothing is freed twice or lost."""
    leaf = neura.ones(2000, requires_grad=True)
    stop, errors, seen = threading.Event(), [], [lambda: None]

    def look():
        while not stop.is_set():
            g = seen[0]()
            if g is not None and float(g[0]) != 1.0:
                errors.append(g)

    threads = [threading.Thread(target=look) for _ in range(2)]
    [t.start() for t in threads]
    for _ in range(300):
        g = neura.ones(2000)
        g.tag = 1
        seen[0] = weakref.ref(g)
        leaf.grad = g
        del g
        (leaf * 2).sum().backward(create_graph=True)
        leaf.grad = None
    stop.set()
    [t.join() for t in threads]
    assert not errors


def test_hooks_die_without_the_lock():
    note = Note()
    died = weakref.ref(note)
    x = neura.ones(3, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g, note=note: None)
    loss = y.sum()
    del note, y
    loss.backward()
    del loss, x
    gc.collect()
    gc.collect()
    assert died() is None


class Appends(Clears):
    def __index__(self):
        self.owner.append(self)
        return 1


READERS = {
    "tensor": lambda numbers: neura.tensor(numbers),
    "nested": lambda numbers: neura.tensor([numbers, [1, 2, 3]]),
    "as_tensor": lambda numbers: neura.as_tensor(numbers),
    "index": lambda numbers: neura.ones(4, 4, 4)[numbers],
    "assigned": lambda numbers: neura.ones(4)[1:].copy_(neura.tensor(numbers)),
    "shape": lambda numbers: neura.zeros(numbers),
    "dims": lambda numbers: neura.ones(2, 2, 2).permute(numbers),
    "betas": lambda numbers: neura.optim.Adam([neura.ones(1, requires_grad=True)], betas=numbers[:2] and numbers),
}


@pytest.mark.parametrize("kind", [Clears, Appends])
@pytest.mark.parametrize("name", READERS)
def test_lists_that_change_while_they_are_read(name, kind):
    for length in range(1, 4):
        for place in range(length):
            numbers = [0] * length
            numbers[place] = kind(numbers)
            try:
                READERS[name](numbers)
            except (ValueError, TypeError, IndexError):
                pass
            assert len(numbers) <= length + 2
