"""Forward mode: jvp, linearize, jacfwd; and hessian, which uses both modes."""

import functools

from .. import _neura
from .._neura import _grad, _own_leaf
from ..autograd import forward_ad
from ..autograd.grad_mode import enable_grad
from ._reverse import Recorded, arguments, basis, jacrev, split_aux, tensors_of
from ._trees import flatten, map_leaves
from ._vmap import vmap

_Tensor = _neura.Tensor


def _matched(primals, tangents, op):
    if not isinstance(primals, tuple) or not isinstance(tangents, tuple):
        raise RuntimeError(f"{op}: expected primals and tangents to be tuples, got {type(primals).__name__}")
    values, build = tensors_of(primals, op, "the primals")
    directions, _ = tensors_of(tangents, op, "the tangents")
    if not values:
        raise RuntimeError(f"{op}: expected at least one primal, got none")
    if len(values) != len(directions):
        raise RuntimeError(f"{op}: expected a tangent for each of {len(values)} primals, got {len(directions)}")
    return values, directions, build


def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    """func(*primals) and its derivative along tangents, by forward mode: (output, tangent), or with aux third.

    primals and tangents are tuples of the same structure. strict: an output that no primal changes is an error instead
    of a tangent of zeros. Nests with itself, vmap and grad. Raises RuntimeError where structures do not fit, ShapeError
    and DTypeError where tensors do not.

    >>> neura.func.jvp(neura.sin, (neura.tensor(0.),), (neura.tensor(2.),))
    (tensor(0.), tensor(2.))
    """
    values, directions, build = _matched(primals, tangents, "jvp")
    level = _neura._DualLevel()
    try:
        with forward_ad.inside(level):
            duals = build([level.make(x, t) for x, t in zip(values, directions)])
            result, aux = split_aux(func(*duals), has_aux, "jvp")
            outputs, rebuild = tensors_of(result, "jvp", "the results")
            found = [level.tangent(y) for y in outputs]
            outs = [level.primal(y) for y in outputs]
            aux = map_leaves(lambda t: level.primal(t) if isinstance(t, _Tensor) else t, aux)
    finally:
        level.close()
    if strict and any(t is None for t in found):
        raise RuntimeError("jvp: expected outputs that depend on the primals with strict, got one that does not")
    moved = [_neura.zeros_like(y) if t is None else t for y, t in zip(outs, found)]
    result = rebuild(outs), rebuild(moved)
    return (*result, aux) if has_aux else result


def linearize(func, *primals):
    """func(*primals), and its derivative there as a linear function of tangents that does not evaluate func again.

    >>> y, f = neura.func.linearize(neura.sin, neura.tensor(0.))
    >>> f(neura.tensor(3.))
    tensor(3.)
    """
    run = Recorded(func, primals, False, "linearize")
    with enable_grad():
        incoming = [_own_leaf(_neura.zeros_like(y)) for y in run.outputs]
        back = run.gradients(incoming, True, True)

    def along(*tangents):
        given, _ = tensors_of(tangents, "linearize", "the tangents")
        if len(given) != len(run.leaves):
            raise RuntimeError(f"linearize: expected {len(run.leaves)} tangents, got {len(given)}")
        for t, x in zip(given, run.leaves):
            if t.shape != x.shape or t.dtype != x.dtype:
                raise RuntimeError(
                    f"linearize: expected a tangent like its primal, {list(x.shape)} of {x.dtype}, got {list(t.shape)} "
                    f"of {t.dtype}"
                )
        pairs = [(g, t) for g, t in zip(back, given) if g.requires_grad]
        found = (None,) * len(incoming)
        if pairs:
            gs, ts = zip(*pairs)
            found = _grad(gs, incoming, ts, retain_graph=True, create_graph=run.follow, allow_unused=True)
        return run.rebuild([_neura.zeros_like(y) if t is None else t for y, t in zip(run.outputs, found)])

    return run.result(), along


def jacfwd(func, argnums=0, has_aux=False, *, randomness="error"):
    """The Jacobian of func by forward mode, as jacrev gives it; best where there are fewer inputs than outputs.

    randomness is vmap's, which computes all columns together.

    >>> neura.func.jacfwd(lambda x: x**2)(neura.tensor([1., 2.]))
    tensor([[2., 0.],
            [0., 4.]])
    """

    @functools.wraps(func)
    def derived(*args, **kwargs):
        chosen, put = arguments(args, argnums, "jacfwd")
        inputs, build = tensors_of(chosen, "jacfwd", "the arguments")

        def along(*directions):
            def of_leaves(*values):
                return func(*put(build(values)), **kwargs)

            return jvp(of_leaves, tuple(inputs), directions, has_aux=has_aux)[1:]

        tangents, *aux = vmap(along, randomness=randomness)(*basis(inputs))
        outputs, rebuild = flatten(tangents)
        sizes = [x.numel() for x in inputs]
        jacobians = []
        for y in outputs:
            columns = y.movedim(0, -1).split(sizes, -1)
            parts = [c.reshape(*y.shape[1:], *x.shape) for c, x in zip(columns, inputs)]
            jacobians.append(build(parts))
        result = rebuild(jacobians)
        return (result, map_leaves(lambda t: t[0], aux[0])) if has_aux else result

    return derived


def hessian(func, argnums=0):
    """The second derivatives of func: jacfwd of jacrev.

    >>> neura.func.hessian(lambda x: (x**3).sum())(neura.tensor([1., 2.]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)
