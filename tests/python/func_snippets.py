"""Programs over torch.func's names, run on PyTorch once (make_func.py) and on Neura by func_test.py."""

import collections

Pair = collections.namedtuple("Pair", "a b")


def programs(T, F, forward_ad):
    """By name: functions without arguments. T is torch or neura, F its func, forward_ad its autograd.forward_ad."""

    def numbers(*sizes):
        n = 1
        for s in sizes:
            n *= s
        return (T.arange(n, dtype=T.float64) * 0.7).sin().reshape(*sizes)

    w, b, x = numbers(3, 4), numbers(3), numbers(5, 4)
    functional, nn = T.autograd.functional, T.nn.functional
    two = lambda x, y: (x.exp() * y.sum(), x.sum() * y)
    eye = T.eye(3, dtype=T.float64)
    cube = lambda x: (x**3).sum()

    def net(p, x):
        return T.tanh(p["w"] @ x + p["b"])

    def dual(change):
        with forward_ad.dual_level():
            y = change(forward_ad.make_dual(numbers(3), numbers(3) + 1))
            return tuple(forward_ad.unpack_dual(y))

    def filled(x):
        z = T.zeros(3, dtype=T.float64)
        z[1] = x[2] * 2
        return z.mul_(x)

    def batched():
        x = numbers(3).requires_grad_()
        return T.autograd.grad(x.sin() * x.sum(), x, numbers(4, 3), is_grads_batched=True)

    def closed_over():
        w = numbers(3).requires_grad_()
        return T.autograd.grad(F.grad(lambda x: (w * x * x).sum())(numbers(3)).sum(), w)

    def constant(x):
        with T.no_grad():
            c = x**2
        return (x * c).sum()

    def outer_no_grad():
        with T.no_grad():
            return F.grad(cube)(numbers(3))

    def stacked():
        parts = [{"weight": numbers(2, 3) + i, "bias": numbers(2) * i} for i in range(3)]
        p = {k: T.stack([q[k] for q in parts]) for k in parts[0]}
        m = T.nn.Linear(3, 2).double()
        return F.vmap(lambda p, x: F.functional_call(m, p, (x,)), in_dims=(0, None))(p, numbers(4, 3))

    def written(x, y):
        x[0].mul_(3)
        x.add_(y)
        return x

    def products(a):
        m = a @ a.T + eye * 3
        return T.linalg.inv(m), T.linalg.det(m), T.linalg.solve(m, a), T.linalg.cholesky(m)

    def linearized():
        y, f = F.linearize(lambda x: x.sin() * x.sum(), numbers(3))
        return y, f(numbers(3)), f(numbers(3) * 2)

    def vjp():
        y, f = F.vjp(lambda x: (x.sin(), x[:2] * x[1]), numbers(3))
        return y, f((numbers(3), numbers(2))), f((numbers(3) * 2, numbers(2)))

    def jvp_complex():
        z, t = T.complex(numbers(2), numbers(2) + 1), T.complex(numbers(2) + 2, numbers(2))
        return tuple(T.view_as_real(r) for r in F.jvp(lambda z: z * z.conj() + z.exp() * z.abs(), (z,), (t,)))

    return {
        "vmap_grad": lambda: F.vmap(F.grad(lambda p, x: net(p, x).sum()), in_dims=(None, 0))({"w": w, "b": b}, x),
        "hessian": lambda: F.hessian(lambda x: T.sin(x).prod())(numbers(3)),
        "hessian_mlp": lambda: F.hessian(lambda x: nn.softplus(w @ x + b).logsumexp(0))(numbers(4)),
        "vmap_hessian": lambda: F.vmap(F.hessian(lambda x: nn.gelu(w @ x + b).sum()))(numbers(3, 4)),
        "jacrev": lambda: F.jacrev(lambda x, y: (x * y, x.sum() * y), argnums=(0, 1))(numbers(2), numbers(2) + 1),
        "jacfwd": lambda: F.jacfwd(lambda x, y: (x * y, x.sum() * y), argnums=(0, 1))(numbers(2), numbers(2) + 1),
        "jacrev_dict": lambda: F.jacrev(lambda p: ({"o": p["a"] ** 2}, p["a"].sum()), has_aux=True)({"a": numbers(2)}),
        "jacrev_chunks": lambda: F.jacrev(lambda x: T.outer(x, x), chunk_size=2)(numbers(3)),
        "jacrev_jacrev": lambda: F.jacrev(F.jacrev(cube))(numbers(3)),
        "jacfwd_jacfwd": lambda: F.jacfwd(F.jacfwd(cube))(numbers(3)),
        "jacrev_jacfwd": lambda: F.jacrev(F.jacfwd(cube))(numbers(3)),
        "vjp": vjp,
        "jvp": lambda: F.jvp(lambda x, y: {"o": x @ y}, (w, numbers(4)), (w + 1, numbers(4) * 2)),
        "jvp_aux": lambda: F.jvp(lambda x: (x.exp(), x * 2), (numbers(2),), (numbers(2),), has_aux=True),
        "jvp_complex": jvp_complex,
        "linearize": linearized,
        "grad_aux": lambda: F.grad(lambda x: ((x**2).sum(), x * 3), has_aux=True)(numbers(3)),
        "grad_and_value": lambda: F.grad_and_value(lambda x, y: (x * y).sum(), argnums=(0, 1))(b, b + 1),
        "out_dims": lambda: F.vmap(lambda x, y: (x + y, x * y), in_dims=(1, None), out_dims=(1, 0))(w, b),
        "last_dims": lambda: F.vmap(lambda x: x.sum(0), in_dims=-1, out_dims=-1)(numbers(2, 3, 4)),
        "no_out_dim": lambda: F.vmap(lambda x, y: (x, y * 2), in_dims=(0, None), out_dims=(0, None))(b, numbers(2)),
        "vmap_vmap": lambda: F.vmap(F.vmap(T.dot, in_dims=(0, None)), in_dims=(None, 0))(w, numbers(2, 4)),
        "chunks": lambda: F.vmap(lambda x: x * 2, chunk_size=2)(numbers(5, 2)),
        "namedtuple": lambda: F.vmap(lambda n: Pair(n.a * 2, n.b + n.a))(Pair(w, w + 1)),
        "written": lambda: F.vmap(written, in_dims=(0, None))(numbers(2, 3), b),
        "zeros_like": lambda: F.vmap(lambda x: T.zeros_like(x).add_(x))(w),
        "grad_of_vmap": lambda: F.grad(lambda w: F.vmap(lambda x: T.tanh(w @ x).sum())(x).sum())(w),
        "grad_of_grad": lambda: F.grad(lambda x: F.grad(lambda y: (x * y * y).sum())(x).sum())(b),
        "no_confusion": lambda: F.grad(lambda x: (x * F.grad(lambda y: (x + y).sum())(b)).sum())(b * 3),
        "jvp_of_jvp": lambda: F.jvp(lambda x: F.jvp(lambda y: y**3 * x, (x,), (b,))[1], (b,), (b + 1,)),
        "jvp_of_grad": lambda: F.jvp(F.grad(lambda x: (x**4).sum()), (b,), (b + 1,)),
        "jvp_of_layers": lambda: F.jvp(F.grad(lambda w: (nn.layer_norm(x, (4,), w) ** 2).sum()), (w[0],), (w[1],)),
        "grad_of_jvp": lambda: F.grad(lambda x: F.jvp(lambda y: (y**4).sum(), (x,), (b + 1,))[1])(b),
        "vmap_jvp": lambda: F.vmap(lambda t: F.jvp(lambda x: x.sin() * x.sum(), (b,), (t,))[1])(numbers(4, 3)),
        "dual": lambda: dual(lambda x: x.sin() * x.sum()),
        "dual_written": lambda: dual(filled),
        "batched": batched,
        "jacobian": lambda: functional.jacobian(two, (numbers(2), b), vectorize=True),
        "jacobian_forward": lambda: functional.jacobian(two, (numbers(2), b), vectorize=True, strategy="forward-mode"),
        "hessian_forward": lambda: functional.hessian(cube, b, vectorize=True, outer_jacobian_strategy="forward-mode"),
        "closed_over": closed_over,
        "no_grad_outside": outer_no_grad,
        "no_grad_inside": lambda: F.grad(constant)(b),
        "detach_inside": lambda: F.grad(lambda w: F.vmap(lambda x: ((w * x).detach() * w).sum())(w.expand(4, 3)).sum())(
            b
        ),
        "functionalize": lambda: F.functionalize(lambda x: (x.add_(1), x * 2))(numbers(3)),
        "linalg": lambda: F.vmap(products)(numbers(4, 3, 3)),
        "batch_norm": lambda: F.vmap(lambda x: nn.batch_norm(x, None, None, training=True))(numbers(2, 3, 4)),
        "layer_norm": lambda: F.vmap(
            F.grad(lambda w, x: (nn.layer_norm(x, (4,), w, numbers(4)) ** 2).sum()), in_dims=(None, 0)
        )(numbers(4), numbers(2, 3, 4)),
        "ensemble": stacked,
    }


def plain(value):
    """Tensors as nested lists."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value.detach().tolist() if value is not None else None
