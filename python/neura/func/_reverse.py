"""Gradients of functions: grad, vjp and jacrev."""

import functools

from .. import _neura
from .._neura import _comes_from_elsewhere, _cut, _grad, _has_derivative_beneath, _own_leaf
from ..autograd.grad_mode import enable_grad
from ._trees import flatten, map_leaves
from ._vmap import vmap

_Tensor = _neura.Tensor


def arguments(args, argnums, op):
    """Those that argnums names, and a function that puts others in their place."""
    many = isinstance(argnums, (tuple, list))
    if not many and not isinstance(argnums, int):
        raise TypeError(f"{op}: expected argnums to be an int or a tuple of them, got {type(argnums).__name__}")
    numbers = tuple(argnums) if many else (argnums,)
    if not numbers:
        raise RuntimeError(f"{op}: expected argnums to name at least one argument, got ()")
    for n in numbers:
        if not -len(args) <= n < len(args):
            raise RuntimeError(f"{op}: expected argnums to be one of {len(args)} positional arguments, got {n}")
    numbers = tuple(n % len(args) for n in numbers)
    if len(set(numbers)) != len(numbers):
        raise RuntimeError(f"{op}: expected each argument once in argnums, got {argnums}")
    chosen = tuple(args[n] for n in numbers)

    def put(values):
        out = list(args)
        for n, v in zip(numbers, values if many else (values,)):
            out[n] = v
        return out

    return chosen if many else chosen[0], put


def tensors_of(tree, op, what):
    leaves, build = flatten(tree)
    for x in leaves:
        if not isinstance(x, _Tensor):
            raise TypeError(f"{op}: expected {what} to be tensors or structures of them, got {type(x).__name__}")
    return leaves, build


def split_aux(result, has_aux, op):
    if not has_aux:
        return result, None
    if not isinstance(result, tuple) or len(result) != 2:
        raise RuntimeError(
            f"{op}: expected a function that gives (output, aux) with has_aux, got {type(result).__name__}"
        )
    return result


class Recorded:
    """func(*primals), recorded from leaves of its own. follow: the gradients have to be differentiable themselves."""

    def __init__(self, func, primals, has_aux, op):
        outer = _neura.is_grad_enabled()
        with enable_grad():
            inputs, self.build = tensors_of(primals, op, "the primals")
            self.leaves = [_own_leaf(x) for x in inputs]
            result, aux = split_aux(func(*self.build(self.leaves)), has_aux, op)
            self.outputs, self.rebuild = tensors_of(result, op, "the results")
            self.follow = outer and _comes_from_elsewhere(self.outputs, self.leaves)
        self.aux = map_leaves(lambda t: self.finished(t) if isinstance(t, _Tensor) else t, aux)

    def finished(self, t):
        """A value for outside: joined to no leaf of this transform."""
        return t if self.follow else _cut(t)

    def result(self):
        return self.rebuild([self.finished(y) for y in self.outputs])

    def gradients(self, cotangents, retain_graph, follow):
        pairs = [(y, g) for y, g in zip(self.outputs, cotangents) if y.requires_grad]
        found = (None,) * len(self.leaves)
        if pairs:
            ys, gs = zip(*pairs)
            found = _grad(ys, self.leaves, gs, retain_graph=retain_graph, create_graph=follow, allow_unused=True)
        return [_neura.zeros_like(x) if g is None else g for g, x in zip(found, self.leaves)]


def grad_and_value(func, argnums=0, has_aux=False):
    """Like grad, with the value: a function that gives (gradient, value), or (gradient, (value, aux)).

    >>> neura.func.grad_and_value(lambda x: (x**2).sum())(neura.tensor([1., 2.]))
    (tensor([2., 4.]), tensor(5.))
    """

    @functools.wraps(func)
    def derived(*args, **kwargs):
        op = "grad"
        chosen, put = arguments(args, argnums, op)
        run = Recorded(lambda *values: func(*put(values[0]), **kwargs), (chosen,), has_aux, op)
        if len(run.outputs) != 1 or run.outputs[0].ndim:
            shape = list(run.outputs[0].shape) if len(run.outputs) == 1 else f"{len(run.outputs)} tensors"
            raise RuntimeError(f"grad: expected a function that gives one tensor without dimensions, got {shape}")
        (gradient,) = run.build(run.gradients((None,), run.follow, run.follow))
        value = run.result()
        return gradient, ((value, run.aux) if has_aux else value)

    return derived


def grad(func, argnums=0, has_aux=False):
    """A function that gives the gradient of func, whose result is one tensor without dimensions.

    argnums: the arguments to differentiate by, one or a tuple: tensors or structures of them, as is the gradient.
    has_aux: func gives (output, aux), and the new function (gradient, aux). Applied again it gives higher derivatives;
    under vmap, a gradient for each sample. Raises RuntimeError for another result, TypeError for other arguments.

    >>> neura.func.grad(neura.sin)(neura.tensor(0.))
    tensor(1.)
    >>> neura.func.grad(neura.func.grad(lambda x: x**3))(neura.tensor(2.))
    tensor(12.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def derived(*args, **kwargs):
        gradient, value = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return derived


def vjp(func, *primals, has_aux=False):
    """func(*primals), and a function that multiplies a vector with its Jacobian: (output, vjp_fn), or with aux third.

    vjp_fn takes cotangents like the output, as one argument or several, and gives a tuple: a gradient per primal.
    It may be called again, and under vmap. Raises TypeError for what is no tensor, RuntimeError for too few cotangents.

    >>> y, vjp_fn = neura.func.vjp(neura.sin, neura.tensor([0., 0.]))
    >>> vjp_fn(neura.tensor([1., 2.]))
    (tensor([1., 2.]),)
    """
    run = Recorded(func, primals, has_aux, "vjp")

    def vjp_fn(*cotangents, retain_graph=True, create_graph=None):
        tree = cotangents[0] if len(cotangents) == 1 else cotangents
        given, _ = tensors_of(tree, "vjp", "the cotangents")
        if len(given) != len(run.outputs):
            raise RuntimeError(f"vjp: expected {len(run.outputs)} cotangents, one for each output, got {len(given)}")
        follow = create_graph
        if follow is None:
            moving = run.follow or any(g.requires_grad or _has_derivative_beneath(g) for g in given)
            follow = moving and _neura.is_grad_enabled()
        return run.build(run.gradients(given, retain_graph, follow))

    out = run.result()
    return (out, vjp_fn, run.aux) if has_aux else (out, vjp_fn)


def basis(tensors):
    """For each tensor the directions of all elements of all of them: [elements, *shape]."""
    total = sum(t.numel() for t in tensors)
    out, at = [], 0
    for t in tensors:
        n = t.numel()
        rows = _neura.zeros(total, n, dtype=t.dtype, device=t.device)
        rows[at : at + n] = _neura.eye(n, dtype=t.dtype, device=t.device)
        out.append(rows.reshape(total, *t.shape))
        at += n
    return out


def jacrev(func, argnums=0, has_aux=False, *, chunk_size=None):
    """A function that gives the Jacobian of func by reverse mode: for output y and input x of y.shape + x.shape.

    argnums and has_aux are grad's. Structures of outputs give structures, in each of whose places is a structure like
    the inputs'. All rows are computed together, or chunk_size at a time. Best where outputs are fewer than inputs.

    >>> neura.func.jacrev(lambda x: x**2)(neura.tensor([1., 2.]))
    tensor([[2., 0.],
            [0., 4.]])
    """

    @functools.wraps(func)
    def derived(*args, **kwargs):
        chosen, put = arguments(args, argnums, "jacrev")
        run = Recorded(lambda *values: func(*put(values[0]), **kwargs), (chosen,), has_aux, "jacrev")
        outputs = run.outputs
        rows = vmap(lambda *g: tuple(run.gradients(g, True, run.follow)), chunk_size=chunk_size)(*basis(outputs))
        sizes = [y.numel() for y in outputs]
        columns = [x.split(sizes) for x in rows]
        jacobians = []
        for i, y in enumerate(outputs):
            parts = [c[i].reshape(*y.shape, *x.shape) for c, x in zip(columns, run.leaves)]
            jacobians.append(run.build(parts)[0])
        result = run.rebuild(jacobians)
        return (result, run.aux) if has_aux else result

    return derived
