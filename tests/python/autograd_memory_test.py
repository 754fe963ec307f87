"""Cycles through contexts and hooks are collected; contexts go with their graph."""

import gc
import weakref

import neura
import pytest
from neura.autograd import Function


def leaf(*values):
    return neura.tensor(values, dtype=neura.float64, requires_grad=True)


class Token:
    pass


def collected(make):
    """Whether what `make` hangs its token on goes away."""
    token = Token()
    watch = weakref.ref(token)
    make(token)
    del token
    gc.collect()
    gc.collect()  # what two cycles share is free when the first is gone
    return watch() is None


def test_cycles_through_the_context_are_collected():
    class Keeps(Function):
        @staticmethod
        def forward(ctx, x, token):
            ctx.token, ctx.me = token, ctx
            y = x * 2
            ctx.y = y
            return y

        @staticmethod
        def backward(ctx, g):
            return g, None

    assert collected(lambda token: Keeps.apply(leaf(1.0), token) and None)
    assert collected(lambda token: Keeps.apply(leaf(1.0), token).backward())

    def through_a_chain(token):
        y = Keeps.apply(leaf(1.0), token)
        z = (y * 3).exp()
        z.register_hook(lambda g: print(z, token))

    assert collected(through_a_chain)


def test_cycles_through_hooks_are_collected():
    def on_a_leaf(token):
        x = leaf(1.0)
        x.register_hook(lambda g: print(x, token))

    def on_a_result(token):
        h = leaf(1.0) * 2
        h.register_hook(lambda g: print(h, token))

    def after_accumulation(token):
        x = leaf(1.0)
        x.register_post_accumulate_grad_hook(lambda p: print(x, token))

    def on_a_node(token):
        h = leaf(1.0) * 2
        h.grad_fn.register_hook(lambda a, b: print(h, token))
        h.grad_fn.metadata["token"] = token

    for make in (on_a_leaf, on_a_result, after_accumulation, on_a_node):
        assert collected(make), make.__name__


def test_contexts_go_with_the_graph():
    alive = []

    class Watched(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.token = Token()
            alive.append(weakref.ref(ctx.token))
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = leaf(1.0)
    for _ in range(10):
        Watched.apply(Watched.apply(x)).backward()
    assert [w() for w in alive] == [None] * 20
    node = Watched.apply(x).grad_fn
    with pytest.raises(RuntimeError, match="gone"):
        node.next_functions
