"""gradcheck of forward mode, and of derivatives that are computed for several directions at once."""

from .. import _neura
from ..func._vmap import vmap
from . import forward_ad
from .gradcheck import GradcheckError, _close, _difference, _direction, _outputs, _parts, _unit
from .grad_mode import enable_grad

_DIRECTIONS = 3


def _detached(inputs):
    return [x.detach() if isinstance(x, _neura.Tensor) else x for x in inputs]


def _tangents(func, inputs, i, direction):
    """Of each output along a direction of input i."""
    with forward_ad.dual_level():
        moved = _detached(inputs)
        moved[i] = forward_ad.make_dual(moved[i], direction)
        pairs = [forward_ad.unpack_dual(y) for y in _outputs(func, moved)]
    return [_neura.zeros_like(y) if t is None else t for y, t in pairs]


def _equal(a, b, atol, rtol):
    a, b = a.detach().reshape(-1).tolist(), b.detach().reshape(-1).tolist()
    return len(a) == len(b) and all(_close(x, y, atol, rtol) for x, y in zip(a, b))


def _directions(x, fast):
    if fast:
        return [_direction(x)]
    return [_unit(x, k, part) for k in range(x.numel()) for part in _parts(x)]


def check_forward(func, inputs, wanted, eps, atol, rtol, fast):
    """The tangents of the outputs are what differences say."""
    for i in wanted:
        for u in _directions(inputs[i].detach(), fast):
            found = _tangents(func, inputs, i, u)
            for j, (got, want) in enumerate(zip(found, _difference(func, inputs, i, u, eps))):
                if not _equal(got, want, atol, rtol):
                    raise GradcheckError(
                        f"Jacobian computed with forward mode mismatch for output {j} with respect to input {i},\n"
                        f"numerical: {want.tolist()}\nanalytical: {got.tolist()}\n"
                        "expected the tangent to be what finite differences say; look at its formula (jvp)"
                    )


def _compare(what, each, together, atol, rtol):
    for n, row in enumerate(each):
        for got, want in zip(together, row):
            if not _equal(got[n], want, atol, rtol):
                raise GradcheckError(
                    f"gradcheck: expected {what} of several directions at once (vmap) to be those of each, got "
                    f"{got[n].tolist()} instead of {want.tolist()}; look at the rule of vmap"
                )


def _vmapped(what, function, *batches):
    try:
        return vmap(function)(*batches)
    except (RuntimeError, NotImplementedError, ValueError) as error:
        raise GradcheckError(f"gradcheck: expected {what} inside vmap to be computed, got an error: {error}") from error


def check_batched(inputs, wanted, outputs, atol, rtol):
    """Backward of several gradients at once."""
    xs = [inputs[i] for i in wanted]

    def back(y, v):
        with enable_grad():
            grads = _neura._grad((y,), xs, (v,), retain_graph=True, allow_unused=True)
        return tuple(_neura.zeros_like(x) if g is None else g for g, x in zip(grads, xs))

    for y in outputs:
        if y.requires_grad:
            rows = _neura.stack([_direction(y.detach()) for _ in range(_DIRECTIONS)])
            together = _vmapped("the gradients", lambda v: back(y, v), rows)
            _compare("the gradients", [back(y, v) for v in rows], together, atol, rtol)


def check_batched_forward(func, inputs, wanted, atol, rtol):
    """Forward mode along several directions at once."""
    for i in wanted:
        rows = _neura.stack([_direction(inputs[i].detach()) for _ in range(_DIRECTIONS)])
        together = _vmapped("the tangents", lambda u: tuple(_tangents(func, inputs, i, u)), rows)
        _compare("the tangents", [_tangents(func, inputs, i, u) for u in rows], together, atol, rtol)
