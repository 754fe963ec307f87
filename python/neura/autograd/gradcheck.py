"""Derivatives against finite differences."""

from .. import _neura
from .._neura import _grad
from .grad_mode import enable_grad, no_grad

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


class GradcheckError(RuntimeError):
    """A gradient differs from finite differences."""


def _is_number(t):
    return isinstance(t, _neura.Tensor) and (t.is_floating_point() or t.is_complex())


def _outputs(func, inputs):
    result = func(*inputs)
    result = result if isinstance(result, (tuple, list)) else (result,)
    return [y for y in result if _is_number(y)]


def _check_arguments(op, inputs, unsupported):
    for name, value in unsupported.items():
        if value:
            raise NotImplementedError(f"{op}: {name} is not there; leave it False")
    inputs = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    wanted = [i for i, x in enumerate(inputs) if _is_number(x) and x.requires_grad]
    if not wanted:
        raise ValueError(f"{op}: expected at least one input that requires a gradient, got none; set requires_grad_()")
    for i in wanted:
        if inputs[i].dtype not in (_neura.float64, _neura.complex128):
            import warnings

            text = f"{op}: input {i} is {inputs[i].dtype}; finite differences need double precision"
            warnings.warn(text, UserWarning, stacklevel=3)
    return inputs, wanted


def _moved(func, inputs, i, step):
    """The outputs with input i moved by a tensor."""
    with no_grad():
        moved = [x.detach().clone() if isinstance(x, _neura.Tensor) else x for x in inputs]
        moved[i] = (moved[i] + step).requires_grad_(False)
        return [y.detach().clone() for y in _outputs(func, moved)]


def _difference(func, inputs, i, direction, eps):
    above, below = (_moved(func, inputs, i, direction * step) for step in (eps, -eps))
    return [(a - b) / (2 * eps) for a, b in zip(above, below)]


def _unit(like, k, value=1):
    flat = _neura.zeros(like.numel(), dtype=like.dtype, device=like.device)
    flat[k] = value
    return flat.reshape(like.shape)


def _parts(t):
    return (1, 1j) if t.is_complex() else (1,)


def _numerical(func, inputs, i, outputs, eps):
    """For each output: rows by element of the input (and real or imaginary part), columns by element of the output."""
    tables = [[] for _ in outputs]
    for k in range(inputs[i].numel()):
        for part in _parts(inputs[i]):
            for table, d in zip(tables, _difference(func, inputs, i, _unit(inputs[i].detach(), k, part), eps)):
                table.append(d.reshape(-1).tolist())
    return tables


def _backward(y, xs, v):
    with enable_grad():
        grads = _grad((y,), xs, (v,), retain_graph=True, allow_unused=True)
    return [_neura.zeros_like(x) if g is None else g for g, x in zip(grads, xs)]


def _expected(rows, x, column, part):
    """What backward should give for one element of the output: the gradient of its real or imaginary part."""
    pick = (lambda c: complex(c).imag) if part == 1j else (lambda c: complex(c).real)
    values = [pick(row[column]) for row in rows]
    return [complex(a, b) for a, b in zip(values[::2], values[1::2])] if x.is_complex() else values


def _close(a, b, atol, rtol):
    return a == b or abs(a - b) <= atol + rtol * abs(b) or (a != a and b != b)


def _mismatch(j, i, got, want):
    return GradcheckError(
        f"Jacobian mismatch for output {j} with respect to input {i},\nnumerical: {want}\nanalytical: {got}\n"
        "expected the derivative to be what finite differences say; look at its formula, or at eps, atol and rtol"
    )


def _slow(func, inputs, wanted, outputs, eps, atol, rtol, nondet_tol):
    xs = [inputs[i] for i in wanted]
    tables = {i: _numerical(func, inputs, i, outputs, eps) for i in wanted}
    for j, y in enumerate(outputs):
        if not y.requires_grad:
            for i in wanted:
                if any(c != 0 for row in tables[i][j] for c in row):
                    raise GradcheckError(f"gradcheck: output {j} depends on input {i}, but requires no gradient")
            continue
        for k in range(y.numel()):
            for part in _parts(y):
                v = _unit(y, k, part)
                grads, again = _backward(y, xs, v), _backward(y, xs, v)
                for i, g, other in zip(wanted, grads, again):
                    got, want = g.reshape(-1).tolist(), _expected(tables[i][j], inputs[i], k, part)
                    if not all(_close(a, b, atol, rtol) for a, b in zip(got, want)):
                        raise _mismatch(j, i, f"{got} (element {k})", want)
                    _same_again(got, other.reshape(-1).tolist(), nondet_tol)


def _same_again(first, second, nondet_tol):
    if not all(a == b or abs(a - b) <= nondet_tol or a != a for a, b in zip(first, second)):
        raise GradcheckError(
            "gradcheck: Backward is not reentrant: expected the same gradients from the same backward, got others; "
            f"the tolerance nondet_tol is {nondet_tol}"
        )


def _direction(like):
    return _neura.randn(like.shape, dtype=like.dtype, device=like.device)


def _inner(a, b):
    return float((a.conj() * b).sum().real.item()) if a.is_complex() else float((a * b).sum().item())


def _fast(func, inputs, wanted, outputs, eps, atol, rtol, nondet_tol):
    """One random direction in, one out: wrong derivatives pass with probability zero, up to the tolerance."""
    for i in wanted:
        x = inputs[i]
        u = _direction(x.detach())
        for j, (y, d) in enumerate(zip(outputs, _difference(func, inputs, i, u, eps))):
            v = _direction(y.detach())
            if not y.requires_grad:
                continue
            (g,), (again,) = _backward(y, [x], v), _backward(y, [x], v)
            got, want = _inner(g, u), _inner(v, d)
            scale = max(1.0, float(u.numel() * v.numel()) ** 0.5)
            if not _close(got, want, atol * scale, rtol):
                raise _mismatch(j, i, got, want)
            _same_again(g.reshape(-1).tolist(), again.reshape(-1).tolist(), nondet_tol)


def gradcheck(
    func,
    inputs,
    *,
    eps=1e-6,
    atol=1e-5,
    rtol=1e-3,
    raise_exception=True,
    nondet_tol=0.0,
    check_undefined_grad=True,
    check_grad_dtypes=False,
    check_batched_grad=False,
    check_batched_forward_grad=False,
    check_forward_ad=False,
    check_backward_ad=True,
    fast_mode=False,
    masked=None,
):
    """Compares the gradients of func with central finite differences: True, or GradcheckError.

    func: of tensors, with a tensor or a tuple of tensors as result. inputs: those that require a gradient are checked;
    they should be float64 or complex128. |difference| <= atol + rtol * |numerical|, with steps of eps. fast_mode
    compares along one random direction instead of element by element. raise_exception False gives False instead of the
    error. nondet_tol: how far two equal backwards may differ. Each output is differentiated alone, so that backward
    sees gradients that did not arrive, whatever check_undefined_grad says; dtypes of gradients are always those of the
    inputs. check_forward_ad: forward mode too. check_batched_grad, check_batched_forward_grad: vmap of backward and of
    forward mode gives what each direction gives. ValueError if no input requires a gradient.

    >>> x = neura.randn(3, dtype=neura.float64, requires_grad=True)
    >>> neura.autograd.gradcheck(neura.sin, x)
    True
    """
    inputs, wanted = _check_arguments("gradcheck", inputs, {"masked": masked})
    try:
        with enable_grad():
            outputs = _outputs(func, inputs)
        if check_backward_ad:
            check = _fast if fast_mode else _slow
            check(func, inputs, wanted, outputs, eps, atol, rtol, nondet_tol)
        if check_batched_grad or check_forward_ad or check_batched_forward_grad:
            from . import _gradcheck_modes as modes

            if check_forward_ad:
                modes.check_forward(func, inputs, wanted, eps, atol, rtol, fast_mode)
            if check_batched_grad:
                modes.check_batched(inputs, wanted, outputs, atol, rtol)
            if check_batched_forward_grad:
                modes.check_batched_forward(func, inputs, wanted, atol, rtol)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func,
    inputs,
    grad_outputs=None,
    *,
    eps=1e-6,
    atol=1e-5,
    rtol=1e-3,
    gen_non_contig_grad_outputs=False,
    raise_exception=True,
    nondet_tol=0.0,
    check_undefined_grad=True,
    check_grad_dtypes=False,
    check_batched_grad=False,
    check_fwd_over_rev=False,
    check_rev_over_rev=True,
    fast_mode=False,
    masked=False,
):
    """gradcheck of the second derivative; grad_outputs are random where they are left out.

    gen_non_contig_grad_outputs: what is drawn is not contiguous. check_fwd_over_rev: forward mode of the gradient;
    check_rev_over_rev: its gradient. Other arguments are gradcheck's.
    """
    inputs, wanted = _check_arguments("gradgradcheck", inputs, {"masked": masked})
    with enable_grad():
        outputs = [y for y in _outputs(func, inputs) if y.requires_grad]
    if grad_outputs is None:
        grad_outputs = [_direction(y.detach()) for y in outputs]
        if gen_non_contig_grad_outputs:
            grad_outputs = [_neura.stack([g, g], -1)[..., 0] for g in grad_outputs]
        grad_outputs = [g.detach().requires_grad_() for g in grad_outputs]
    elif isinstance(grad_outputs, _neura.Tensor):
        grad_outputs = [grad_outputs]
    n = len(inputs)

    def gradients(*arguments):
        with enable_grad():
            xs = [x if x.requires_grad or i not in wanted else x.requires_grad_() for i, x in enumerate(arguments[:n])]
            ys = [y for y in _outputs(func, xs) if y.requires_grad]
            targets = [xs[i] for i in wanted]
            grads = _grad(ys, targets, arguments[n:], create_graph=True, allow_unused=True)
        return tuple(g if g is not None else _neura.zeros_like(x) for g, x in zip(grads, targets))

    return gradcheck(
        gradients,
        inputs + tuple(grad_outputs),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
    )
