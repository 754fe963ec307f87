"""neura.cuda.make_graphed_callables: forward and backward as two graphs."""

from . import _neura, autograd, cuda


def _check(own, values):
    if len(own) != len(values):
        raise TypeError(f"make_graphed_callables: expected {len(own)} tensors, as in sample_args, got {len(values)}")
    for a, b in zip(own, values):
        if a.shape != b.shape or a.dtype != b.dtype:
            raise ValueError(
                f"make_graphed_callables: expected {a.dtype} of {list(a.shape)}, as in sample_args, got {b.dtype} of "
                f"{list(b.shape)}; a graph has the shapes that it was captured with"
            )


def _gradients(outputs, wanted, incoming, allow_unused):
    return autograd.grad(outputs, wanted, incoming, allow_unused=allow_unused) if outputs and wanted else ()


def _flat(result):
    return result if isinstance(result, tuple) else (result,)


def _graphed(function, own, parameters, warmup, allow_unused, pool):
    own = tuple(x.detach().requires_grad_(x.requires_grad) for x in own)  # whatever made them stays out of the graphs
    inputs = (*own, *parameters)
    wanted = tuple(x for x in inputs if x.requires_grad)
    side = cuda.Stream()
    side.wait_stream(cuda.current_stream())
    with cuda.stream(side):
        for _ in range(warmup):
            tracked = tuple(y for y in _flat(function(*own)) if y.requires_grad)
            _gradients(tracked, wanted, tuple(_neura.ones_like(y) for y in tracked), allow_unused)
    cuda.current_stream().wait_stream(side)
    ahead, back = cuda.CUDAGraph(), cuda.CUDAGraph()
    with cuda.graph(ahead, pool):
        result = function(*own)
    outputs = _flat(result)
    tracked = tuple(y for y in outputs if y.requires_grad)
    incoming = tuple(_neura.empty_like(y) for y in tracked)
    with cuda.graph(back, pool):
        given = iter(_gradients(tracked, wanted, incoming, allow_unused))
    gradients = tuple(next(given, None) if x.requires_grad else None for x in inputs)
    differentiable = tuple(y.requires_grad for y in outputs)

    class Graphed(autograd.Function):
        @staticmethod
        def forward(ctx, *values):
            for a, b in zip(own, values):
                if a is not b:
                    a.copy_(b)
            ahead.replay()
            results = tuple(y.detach() for y in outputs)
            ctx.mark_non_differentiable(*(y for y, d in zip(results, differentiable) if not d))
            return results

        @staticmethod
        def backward(ctx, *grads):
            for a, g in zip(incoming, (g for g, d in zip(grads, differentiable) if d)):
                a.copy_(g) if g is not None else a.zero_()
            back.replay()
            return tuple(None if g is None else g.detach() for g in gradients)

    def call(*values):
        _check(own, values)
        results = Graphed.apply(*values, *parameters)
        return results if isinstance(result, tuple) else results[0]

    return call


def _module(module, graphed):
    eager, mode = module.forward, module.training

    def forward(*values):
        return graphed(*values) if module.training == mode else eager(*values)

    module.forward = forward
    return module


def graphed_callables(callables, sample_args, num_warmup_iters, allow_unused_input, pool):
    several = isinstance(callables, tuple)
    if not several:
        callables, sample_args = (callables,), (sample_args,)
    if len(callables) != len(sample_args):
        raise ValueError(
            f"make_graphed_callables: expected sample_args for each of {len(callables)} callables, got "
            f"{len(sample_args)}"
        )
    made = []
    for function, own in zip(callables, sample_args):
        is_module = hasattr(function, "parameters") and hasattr(function, "training")
        parameters = tuple(p for p in function.parameters() if p.requires_grad) if is_module else ()
        own = tuple(own) if isinstance(own, (tuple, list)) else (own,)
        if not all(isinstance(x, _neura.Tensor) and x.is_cuda for x in own):
            raise ValueError("make_graphed_callables: expected sample_args of tensors on a device of CUDA; use .cuda()")
        place = cuda.graph_pool_handle() if pool is None else pool
        call = _graphed(function, own, parameters, num_warmup_iters, allow_unused_input, place)
        made.append(_module(function, call) if is_module else call)
    return tuple(made) if several else made[0]
