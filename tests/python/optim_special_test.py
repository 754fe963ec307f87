"""LBFGS, Adafactor, Muon."""

import io

import neura
import pytest

# What PyTorch 2.11 gives after four steps: calls of the closure, the parameters, the last loss.
ROSENBROCK = [
    (dict(), 62, [0.999998790, 0.999997448], 3.8814e-08),
    (dict(line_search_fn="strong_wolfe"), 46, [0.999981421, 0.999961965], 4.22145751e-10),
    (dict(line_search_fn="strong_wolfe", history_size=2, max_iter=7), 33, [0.659578889, 0.422681256], 0.82377123),
    (dict(lr=0.1, max_iter=5), 20, [-1.044719588, 1.062377391], 4.52808755),
]


def rosenbrock(p):
    return (1 - p[0]) ** 2 + 100 * (p[1] - p[0] ** 2) ** 2


def steps(optimizer, p, n):
    calls = []

    def closure():
        calls.append(1)
        optimizer.zero_grad()
        loss = rosenbrock(p)
        loss.backward()
        return loss

    for _ in range(n):
        loss = optimizer.step(closure)
    return len(calls), loss.item()


@pytest.mark.parametrize("kwargs, calls, end, loss", ROSENBROCK)
def test_lbfgs_goes_torchs_way(kwargs, calls, end, loss):
    p = neura.tensor([-1.2, 1.0], dtype=neura.float64, requires_grad=True)
    optimizer = neura.optim.LBFGS([p], **kwargs)
    assert steps(optimizer, p, 4) == (calls, pytest.approx(loss, rel=1e-4))
    assert p.tolist() == pytest.approx(end, abs=1e-8)
    assert optimizer.state[p]["func_evals"] == calls


def test_lbfgs_resumes_bit_for_bit():
    p = neura.tensor([-1.2, 1.0], dtype=neura.float64, requires_grad=True)
    optimizer = neura.optim.LBFGS([p], max_iter=5, line_search_fn="strong_wolfe")
    steps(optimizer, p, 2)
    file = io.BytesIO()
    neura.save([p, optimizer.state_dict()], file)
    steps(optimizer, p, 2)
    q, state = neura.load(file.getvalue())
    other = neura.optim.LBFGS([q])
    other.load_state_dict(state)
    steps(other, q, 2)
    assert neura.equal(p, q)


def test_lbfgs_bears_any_closure():
    """Losses that are no numbers, and gradients that have nothing to do with them, end the search."""
    for loss in (float("nan"), float("inf"), 0.0):
        p = neura.ones(2, requires_grad=True)
        optimizer = neura.optim.LBFGS([p], line_search_fn="strong_wolfe")
        calls = []

        def closure():
            calls.append(1)
            p.grad = neura.ones(2)
            return neura.tensor(loss if len(calls) > 1 else 1.0)

        optimizer.step(closure)
        assert len(calls) < 60


def test_lbfgs_takes_complex_parameters_and_missing_gradients():
    z = neura.tensor([1 + 2j], requires_grad=True)
    unused = neura.ones(3, requires_grad=True)
    optimizer = neura.optim.LBFGS([z, unused], line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = ((z - (3 - 1j)).abs() ** 2).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    assert abs(z.item() - (3 - 1j)) < 1e-4 and unused.tolist() == [1, 1, 1]


def test_adafactor_keeps_rows_and_columns():
    w, b = neura.ones(2, 3, requires_grad=True), neura.ones(3, requires_grad=True)
    optimizer = neura.optim.Adafactor([w, b])
    w.grad, b.grad = neura.arange(6.0).reshape(2, 3), neura.ones(3)
    optimizer.step()
    assert {k: tuple(v.shape) for k, v in optimizer.state[w].items()} == {
        "step": (),
        "row_var": (2, 1),
        "col_var": (1, 3),
    }
    assert {k: tuple(v.shape) for k, v in optimizer.state[b].items()} == {"step": (), "variance": (3,)}
    assert b.tolist() == pytest.approx([0.99] * 3)


def test_muon_makes_the_update_orthogonal():
    for shape in ((4, 4), (6, 3), (3, 6)):
        w = neura.zeros(*shape, requires_grad=True)
        optimizer = neura.optim.Muon([w], lr=1.0, weight_decay=0, adjust_lr_fn="match_rms_adamw")
        w.grad = neura.sin(neura.arange(float(w.numel()))).reshape(*shape) + neura.eye(*shape)
        optimizer.step()
        step = w.detach() / (0.2 * max(shape) ** 0.5)
        gram = step @ step.T if shape[0] <= shape[1] else step.T @ step
        assert neura.allclose(gram.diagonal(), neura.ones(min(shape)), atol=0.6)
        assert (gram - neura.diag(gram.diagonal())).abs().max().item() < 0.5


def test_mistakes_are_named():
    w, v = neura.ones(2, 2, requires_grad=True), neura.ones(2, requires_grad=True)
    o = neura.optim
    for make, kind, text in [
        (lambda: o.LBFGS([w], lr=-1), ValueError, "LBFGS: expected lr >= 0, got -1"),
        (lambda: o.LBFGS([w], line_search_fn="armijo"), ValueError, "got armijo"),
        (lambda: o.LBFGS([{"params": w}, {"params": v}]), ValueError, "expected one parameter group"),
        (lambda: o.LBFGS([w]).step(None), TypeError, "expected a closure"),
        (lambda: o.Adafactor([w], d=0.5), ValueError, "Adafactor: expected d >= 1, got 0.5"),
        (lambda: o.Muon([v]), ValueError, r"Muon: expected real matrices, got float32 \[2\]"),
        (lambda: o.Muon([w], ns_steps=100), ValueError, "ns_steps below 100, got 100"),
        (lambda: o.Muon([w], adjust_lr_fn="x"), ValueError, "got x"),
    ]:
        with pytest.raises(kind, match=text):
            make()
