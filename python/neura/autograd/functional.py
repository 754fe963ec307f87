"""Jacobians, Hessians and their products with vectors, of functions of tensors."""

from .. import _neura
from .._neura import _grad as _grad
from .grad_mode import enable_grad

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


def _tuple(value, what, op):
    """As a tuple of tensors, and whether it was one."""
    many = isinstance(value, (tuple, list))
    values = tuple(value) if many else (value,)
    for v in values:
        if not isinstance(v, _neura.Tensor):
            raise TypeError(f"{op}: expected {what} to be tensors, got {type(v).__name__}")
    return values, many


def _fresh(inputs, create_graph):
    """Inputs of our own: joined to the caller's graph if the result is to be differentiable."""
    if create_graph:
        return tuple(x.view_as(x) if x.requires_grad else x.detach().requires_grad_() for x in inputs)
    return tuple(x.detach().requires_grad_() for x in inputs)


def _call(func, inputs, op, what="the result of the function"):
    return _tuple(func(*inputs), what, op)


def _vector(v, like, many, op):
    if v is None:
        if len(like) == 1 and like[0].numel() == 1:
            return (_neura.ones_like(like[0]),)
        raise RuntimeError(f"{op}: expected v, got None; only for one tensor of one element it may be left out")
    values, _ = _tuple(v, "v", op)
    if len(values) != len(like):
        raise RuntimeError(f"{op}: expected v to be {len(like)} tensors, got {len(values)}")
    for i, (a, b) in enumerate(zip(values, like)):
        if a.shape != b.shape:
            raise RuntimeError(f"{op}: expected v[{i}] of shape {list(b.shape)}, got {list(a.shape)}")
    return values


def _gradients(outputs, inputs, vectors, create_graph, strict, op):
    """Zeros for inputs that outputs do not depend on; an error if strict."""
    wanted = [(y, v) for y, v in zip(outputs, vectors) if y.requires_grad]
    if strict and len(wanted) < len(outputs):
        raise RuntimeError(f"{op}: expected each output to depend on the inputs (strict), got one that does not")
    grads = (None,) * len(inputs)
    if wanted:
        ys, vs = zip(*wanted)
        grads = _grad(ys, inputs, vs, create_graph=create_graph, retain_graph=True, allow_unused=True)
    if strict and any(g is None for g in grads):
        i = next(i for i, g in enumerate(grads) if g is None)
        raise RuntimeError(f"{op}: expected the outputs to depend on input {i} (strict), got no such dependence")
    return tuple(_neura.zeros_like(x) if g is None else g for g, x in zip(grads, inputs))


def _finish(values, create_graph):
    return tuple(values) if create_graph else tuple(v.detach() for v in values)


def _shaped(values, many):
    return tuple(values) if many else values[0]


def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """The outputs of func(*inputs), and the product of v with its Jacobian.

    inputs: a tensor or a tuple. v: like the outputs; may be left out if there is one element. create_graph: the
    results can be differentiated. strict: an input that no output depends on is an error instead of zeros.
    """
    with enable_grad():
        inputs, many = _tuple(inputs, "inputs", "vjp")
        inputs = _fresh(inputs, create_graph)
        outputs, many_out = _call(func, inputs, "vjp")
        v = _vector(v, outputs, many_out, "vjp")
        grads = _gradients(outputs, inputs, v, create_graph, strict, "vjp")
    return _shaped(_finish(outputs, create_graph), many_out), _shaped(_finish(grads, create_graph), many)


def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """The outputs of func(*inputs), and the product of its Jacobian with v: the derivative along v.

    v: like the inputs; may be left out if there is one element. Computed as the derivative of vjp by its vector.
    """
    with enable_grad():
        inputs, many = _tuple(inputs, "inputs", "jvp")
        v = _vector(v, inputs, many, "jvp")
        inputs = _fresh(inputs, create_graph)
        outputs, many_out = _call(func, inputs, "jvp")
        dummies = tuple(_neura.zeros_like(y).requires_grad_() for y in outputs)
        grads = _gradients(outputs, inputs, dummies, True, strict, "jvp")
        if strict or any(g.requires_grad for g in grads):
            tangents = _gradients(grads, dummies, v, create_graph, strict, "jvp")
        else:
            tangents = tuple(_neura.zeros_like(y) for y in outputs)
    return _shaped(_finish(outputs, create_graph), many_out), _shaped(_finish(tangents, create_graph), many_out)


def _checked(op, strategy, vectorize, strict):
    if strategy not in ("reverse-mode", "forward-mode"):
        raise ValueError(f"{op}: expected strategy 'reverse-mode' or 'forward-mode', got {strategy!r}")
    if strategy == "forward-mode" and not vectorize:
        raise NotImplementedError(f"{op}: expected vectorize=True with strategy 'forward-mode', got False")
    if vectorize and strict:
        raise RuntimeError(f"{op}: expected strict or vectorize, got both; they do not go together")


def _by_directions(func, inputs, many, create_graph):
    """The Jacobian by forward mode, all directions at once."""
    from ..func import jacfwd

    many_out = []

    def flat(*xs):
        outputs, is_tuple = _call(func, xs, "jacobian")
        many_out.append(is_tuple)
        return outputs

    inputs = tuple(x if create_graph else x.detach() for x in inputs)
    rows = jacfwd(flat, tuple(range(len(inputs))))(*inputs)
    return _shaped([_shaped(_finish(row, create_graph), many) for row in rows], many_out[0])


def jacobian(func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"):
    """The Jacobian of func at inputs: for output y and input x a tensor of shape y.shape + x.shape.

    A tuple of outputs gives a tuple, each a tuple if the inputs are one. One backward for each element of the outputs;
    with vectorize, one for all of them. strategy 'forward-mode', which needs vectorize, is best where there are fewer
    inputs than outputs. Raises NotImplementedError for forward mode without vectorize, RuntimeError for strict with it.

    >>> neura.autograd.functional.jacobian(lambda x: x**2, neura.tensor([1., 2.]), vectorize=True)
    tensor([[2., 0.],
            [0., 4.]])
    """
    _checked("jacobian", strategy, vectorize, strict)
    with enable_grad():
        inputs, many = _tuple(inputs, "inputs", "jacobian")
        if strategy == "forward-mode":
            return _by_directions(func, inputs, many, create_graph)
        inputs = _fresh(inputs, create_graph)
        outputs, many_out = _call(func, inputs, "jacobian")
        result = []
        for y in outputs:
            rows = _rows(y, inputs, create_graph, strict, vectorize)
            columns = [row.reshape(tuple(y.shape) + tuple(x.shape)) for row, x in zip(rows, inputs)]
            result.append(_shaped(_finish(columns, create_graph), many))
    return _shaped(result, many_out)


def _rows(y, inputs, create_graph, strict, vectorize):
    """For each input the gradients of all elements of y, stacked."""
    n = y.numel()
    ones = _neura.eye(n, dtype=y.dtype, device=y.device).reshape(n, *y.shape)
    if n == 0:
        return [_neura.zeros(0, *x.shape, dtype=x.dtype, device=x.device) for x in inputs]
    if vectorize and y.requires_grad:
        found = _grad(
            (y,),
            inputs,
            (ones,),
            create_graph=create_graph,
            retain_graph=True,
            allow_unused=True,
            is_grads_batched=True,
        )
        return [_neura.zeros(n, *x.shape, dtype=x.dtype) if g is None else g for g, x in zip(found, inputs)]
    each = [_gradients((y,), inputs, (one,), create_graph, strict, "jacobian") for one in ones]
    return [_neura.stack(rows) for rows in zip(*each)]


def _scalar(outputs, many_out, op):
    if many_out and len(outputs) != 1 or outputs[0].numel() != 1:
        raise RuntimeError(f"{op}: expected a function with one result of one element, got {list(outputs[0].shape)}")
    return outputs[0].reshape(())


def hessian(func, inputs, create_graph=False, strict=False, vectorize=False, outer_jacobian_strategy="reverse-mode"):
    """The Hessian of a function with one result of one element: for inputs a, b of shape a.shape + b.shape.

    vectorize and the strategy of the outer Jacobian are those of jacobian; the inner one is a gradient.

    >>> neura.autograd.functional.hessian(lambda x: (x**3).sum(), neura.tensor([1., 2.]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    _checked("hessian", outer_jacobian_strategy, vectorize, strict)
    given, many = _tuple(inputs, "inputs", "hessian")

    def gradient(*xs):
        y = _scalar(*_call(func, xs, "hessian"), "hessian")
        return _gradients((y,), xs, (None,), True, strict, "hessian")

    of = _gradient_of(func) if outer_jacobian_strategy == "forward-mode" else gradient
    rows = jacobian(of, given, create_graph, strict, vectorize, outer_jacobian_strategy)
    return rows if many else rows[0][0]


def _gradient_of(func):
    from ..func import grad

    def value(*xs):
        return _scalar(*_call(func, xs, "hessian"), "hessian")

    return lambda *xs: grad(value, tuple(range(len(xs))))(*xs)


def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """The value of a function with one result of one element, and the product of v with its Hessian."""
    with enable_grad():
        inputs, many = _tuple(inputs, "inputs", "vhp")
        v = _vector(v, inputs, many, "vhp")
        inputs = _fresh(inputs, create_graph)
        outputs, many_out = _call(func, inputs, "vhp")
        y = _scalar(outputs, many_out, "vhp")
        gradient = _gradients((y,), inputs, (None,), True, strict, "vhp")
        product = _gradients(gradient, inputs, v, create_graph, strict, "vhp")
    return _shaped(_finish(outputs, create_graph), many_out), _shaped(_finish(product, create_graph), many)


def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """The value of a function with one result of one element, and the product of its Hessian with v.

    The Hessian is symmetric where the second derivatives are continuous: then vhp is the same, and cheaper.
    """
    with enable_grad():
        inputs, many = _tuple(inputs, "inputs", "hvp")
        v = _vector(v, inputs, many, "hvp")
        inputs = _fresh(inputs, create_graph)
        outputs, many_out = _call(func, inputs, "hvp")
        y = _scalar(outputs, many_out, "hvp")
        gradient = _gradients((y,), inputs, (None,), True, strict, "hvp")
        dummies = tuple(_neura.zeros_like(x).requires_grad_() for x in inputs)
        along = _gradients(gradient, inputs, dummies, True, strict, "hvp")
        if strict or any(g.requires_grad for g in along):
            product = _gradients(along, dummies, v, create_graph, strict, "hvp")
        else:
            product = tuple(_neura.zeros_like(x) for x in inputs)
    return _shaped(_finish(outputs, create_graph), many_out), _shaped(_finish(product, create_graph), many)
