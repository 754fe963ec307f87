"""An optimizer for sparse gradients: those of embeddings with sparse=True."""

from .. import _neura
from .._formats import strided
from .._neura import errors
from ..autograd.grad_mode import enable_grad, no_grad
from .optimizer import Optimizer, _hooked


class SparseAdam(Optimizer):
    """Adam that touches only the rows that a sparse gradient stores, averages included: those of other rows wait.

    Values out of range raise ValueError, a dense gradient NotImplementedError. State: step, exp_avg, exp_avg_sq.

    >>> import neura
    >>> table = neura.nn.Embedding(10, 3, sparse=True)
    >>> optimizer = neura.optim.SparseAdam(table.parameters(), lr=0.1)
    >>> before = table.weight.detach().clone()
    >>> table(neura.tensor([1, 2])).sum().backward()
    >>> optimizer.step()
    >>> (table.weight != before).any(1).nonzero().flatten().tolist()
    [1, 2]
    """

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, maximize=False):
        if not lr > 0 or not eps > 0 or not all(0 <= beta < 1 for beta in betas):
            raise errors.ValueError(
                f"SparseAdam: expected lr and eps above 0 and betas in [0, 1), got {lr}, {eps} and {betas}"
            )
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, maximize=maximize))

    def _check_group(self, group):
        if any(p.layout is not strided for p in group["params"]):
            raise errors.ValueError(
                "SparseAdam: expected dense parameters, got a sparse one; its gradient may be sparse"
            )

    @_hooked
    def step(self, closure=None):
        """Updates every parameter that has a gradient, in place and unrecorded; as `SGD.step`."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with no_grad():  # as a decorator it would import much
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        self._step_of(p, p.grad.detach(), self.state[p], group)
        return loss

    def _step_of(self, p, grad, state, group):
        if not grad.is_sparse:
            raise errors.NotImplementedError("SparseAdam: expected a sparse gradient, got a dense one; use Adam")
        if not state:
            state.update(step=0, exp_avg=_neura.zeros_like(p), exp_avg_sq=_neura.zeros_like(p))
        state["step"] += 1
        grad = grad.coalesce()
        if grad._nnz() == 0:
            return
        (beta1, beta2), t = group["betas"], state["step"]
        g = -grad.values() if group["maximize"] else grad.values()

        def averaged(name, value, beta):  # of the rows of grad; the others stay
            old = state[name].sparse_mask(grad).values()
            change = (value - old) * (1 - beta)
            state[name].add_(_stored(grad, change))
            return old + change

        average, square = averaged("exp_avg", g, beta1), averaged("exp_avg_sq", g * g, beta2)
        step_size = group["lr"] * (1 - beta2**t) ** 0.5 / (1 - beta1**t)
        p.add_(_stored(grad, average / (square.sqrt() + group["eps"])), alpha=-step_size)


def _stored(like, values):
    return _neura.sparse._coo_tensor(like.indices(), values, tuple(like.shape), is_coalesced=True)
