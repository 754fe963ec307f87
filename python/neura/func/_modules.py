"""Ensembles of modules, and functionalize."""

import functools

from .. import _neura


def stack_module_state(models):
    """The parameters and buffers of modules of one class, stacked by name, for vmap over functional_call.

    Returns two dicts; dimension 0 of every tensor counts the models. Parameters that require gradients give leaves that
    do. Raises RuntimeError for no models, models of several classes, or some in train and some in eval mode.

    >>> models = [neura.nn.Linear(2, 3) for _ in range(4)]
    >>> params, buffers = neura.func.stack_module_state(models)
    >>> params["weight"].shape
    neura.Size([4, 3, 2])
    """
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: expected at least one model, got none")
    if len({type(m) for m in models}) > 1:
        raise RuntimeError("stack_module_state: expected models of one class, got several")
    if len({m.training for m in models}) > 1:
        raise RuntimeError("stack_module_state: expected all models in the same mode, got train and eval; call eval()")
    parameters = [dict(m.named_parameters()) for m in models]
    buffers = [dict(m.named_buffers()) for m in models]
    return (
        {k: _stacked([p[k] for p in parameters]) for k in parameters[0]},
        {k: _stacked([b[k] for b in buffers]) for k in buffers[0]},
    )


def _stacked(tensors):
    needs = {t.requires_grad for t in tensors}
    if len(needs) > 1:
        raise RuntimeError("stack_module_state: expected parameters of one name to agree in requires_grad, got both")
    return _neura.stack([t.detach() for t in tensors]).requires_grad_(needs.pop())


def functionalize(func, *, remove="mutations"):
    """func with the same results and the same writes to its inputs.

    PyTorch removes writes to intermediate tensors, and with remove='mutations_and_views' views, from what it traces.
    Nothing is traced here, so nothing has to be removed: the semantics are the same.
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(f"functionalize: expected remove to be 'mutations' or 'mutations_and_views', got {remove!r}")

    @functools.wraps(func)
    def same(*args, **kwargs):
        return func(*args, **kwargs)

    return same


def replace_all_batch_norm_modules_(root):
    """Takes the running statistics from every batch norm of a module, so that vmap may train it; returns the module.

    >>> net = neura.nn.Sequential(neura.nn.BatchNorm1d(2))
    >>> neura.func.replace_all_batch_norm_modules_(net)[0].running_mean is None
    True
    """
    from ..nn.families import _BatchNorm

    for module in root.modules():
        if isinstance(module, _BatchNorm):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root


def debug_unwrap(tensor, *, recurse=True):
    """What a tensor inside transforms stands for: the whole batch, or the value without its tangent. For debuggers.

    recurse: through all levels, and not only the innermost.

    >>> neura.func.vmap(lambda x: print(neura.func.debug_unwrap(x)) or x)(neura.tensor([1., 2.]))
    tensor([1., 2.])
    tensor([1., 2.])
    """
    return _neura._beneath(tensor, recurse)
