"""neura.compile: the same values as without it, whatever a program does around and inside of compiled functions."""

import copy
import gc
import pickle
import threading

import neura
import pytest
from neura import nn

F = nn.functional
ALL = {"least_elements": 1}


def compiled(f):
    return neura.compile(f, options=ALL)


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and bool((a == b).all())


def ramp(n=6):
    return neura.arange(n).float() * 0.5 - 1


def chain(x, w=2.0):
    return F.gelu(x * w + 1) * neura.sigmoid(x) - x


@pytest.fixture(autouse=True)
def counted():
    neura.graph.explain(reset=True)


def test_a_chain_is_one_call_with_the_same_bits():
    x = ramp()
    assert same(compiled(chain)(x), chain(x))
    seen = neura.graph.explain()
    assert (seen.waited, seen.ran, seen.fused) == (6, 1, 1)
    assert "6 calls waited" in str(seen) and seen.flushes == {"the end of the function": 1}


def test_numbers_flags_attributes_and_globals_are_those_of_the_call():
    class Self:
        scale, adds, weight = 2.0, False, ramp()

    def f(x):
        y = chain(x, Self.scale) * Self.weight
        return y + Self.weight if Self.adds else y

    g, x = compiled(f), ramp()
    assert same(g(x), f(x))
    Self.scale = 3.0
    assert same(g(x), f(x))
    Self.adds = True
    assert same(g(x), f(x))
    Self.weight += 1
    assert same(g(x), f(x))
    Self.weight = ramp(1)
    assert same(g(x), f(x))
    x = ramp(12).view(3, 4)
    Self.weight = x.double()
    assert same(g(x), f(x))


def test_results_are_not_overwritten_by_later_calls():
    f = compiled(chain)
    first = f(ramp())
    was = first.clone()
    second = f(ramp() + 1)
    assert same(first, was) and not same(second, first)


def test_a_branch_on_a_value_is_taken_by_the_value():
    def f(x):
        y = chain(x)
        return y * 2 if y.sum() > 0 else y - 2

    g = compiled(f)
    for x in (ramp(), -ramp() - 5):
        assert same(g(x), f(x))


@pytest.mark.parametrize(
    "read",
    [
        lambda t: t.tolist(),
        lambda t: t[0].item(),
        lambda t: str(t),
        lambda t: repr(t),
        lambda t: bool((t == t).all()),
        lambda t: bytes(memoryview(t)),
        lambda t: t.nonzero().tolist(),
        lambda t: neura.from_dlpack(t).tolist(),
        lambda t: copy.deepcopy(t.detach()).tolist(),
        lambda t: pickle.loads(pickle.dumps(t)).tolist(),
        lambda t: bytes(t.untyped_storage()),
        lambda t: t.view(2, 3).t().contiguous().tolist(),
        lambda t: [float(v) for v in t],
        lambda t: t.data_ptr() and t.tolist(),
    ],
)
def test_every_way_to_read_sees_the_values(read):
    x = ramp()
    expected = read(chain(x))
    assert compiled(lambda: read(chain(x)))() == expected
    y = compiled(lambda: (chain(x), read(chain(x))))
    assert same(y()[0], chain(x))


def test_memory_shared_with_numpy_is_read_at_the_call():
    numpy = pytest.importorskip("numpy")
    a = numpy.ones(40000, numpy.float32)
    x = neura.from_numpy(a)

    def f():
        y = x * 2 + 1
        a[:] = 5
        return y, x * 2

    y, z = compiled(f)()
    assert y.tolist() == [3] * 40000 and z.tolist() == [10] * 40000
    w = compiled(lambda: x + 1)()
    a[:] = 0
    assert w.tolist() == [6] * 40000

    def g():
        t = neura.ones(40000)
        y = t + 1
        t.numpy()[:] = 9
        return y, t

    y, t = compiled(g)()
    assert y.tolist() == [2] * 40000 and t.tolist() == [9] * 40000


def test_writes_in_place_and_through_views():
    def f(x):
        y = chain(x)
        y[1:3] = 7
        z = y * 2
        y.add_(1).mul_(x)
        v = z.view(2, 3)
        v[0].zero_()
        x += 1
        return y, z, v + x.view(2, 3), x

    assert all(same(a, b) for a, b in zip(compiled(f)(ramp()), f(ramp())))


def step_of(net, wrap):
    optimizer = neura.optim.AdamW(net.parameters(), lr=0.01)

    def step(x, labels):
        optimizer.zero_grad()
        loss = F.cross_entropy(F.dropout(net(x), 0.25) * 1.5 - 0.5, labels)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        return loss.detach()

    return wrap(step)


def test_training_steps_are_those_of_eager():
    losses, nets = [], []
    for wrap in (lambda f: f, compiled):
        neura.manual_seed(1)
        net = nn.Sequential(
            nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.GELU(), nn.Flatten(), nn.Linear(144, 3), nn.Tanh()
        )
        step = step_of(net, wrap)
        losses.append([step(neura.randn(5, 1, 8, 8), neura.arange(5) % 3).item() for _ in range(6)])
        nets.append(net)
    assert losses[0] == losses[1]
    for a, b in zip(nets[0].state_dict().values(), nets[1].state_dict().values()):
        assert same(a, b)
    assert neura.graph.explain().fused == 6


def test_hooks_see_the_values_in_the_same_order():
    def f(x, seen):
        w = x.clone().requires_grad_()
        y = chain(w)
        y.register_hook(lambda g: seen.append(g.tolist()))
        w.register_hook(lambda g: g * 2)
        (y * y).sum().backward()
        return w.grad

    eager, mine = [], []
    assert same(compiled(f)(ramp(), mine), f(ramp(), eager))
    assert mine == eager and len(mine) == 1


def test_saved_tensor_hooks_and_checkpoints():
    def f(x):
        w = x.clone().requires_grad_()
        seen = []
        with neura.autograd.graph.saved_tensors_hooks(lambda t: seen.append(t.tolist()) or t, lambda t: t):
            y = chain(w)
        z = neura.utils.checkpoint.checkpoint(chain, y, use_reentrant=False)
        z.sum().backward()
        return w.grad, seen

    (a, seen), (b, expected) = compiled(f)(ramp()), f(ramp())
    assert same(a, b) and seen == expected


def test_a_saved_value_that_was_overwritten_is_an_error():
    def f(w):
        y = w * 2
        z = y.exp() * y
        with neura.no_grad():
            y.fill_(0)
        return z.sum()

    w = ramp().requires_grad_()
    messages = []
    for g in (f, compiled(f)):
        with pytest.raises(RuntimeError) as caught:
            g(w).backward()
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_errors_are_raised_at_the_call_and_leave_nothing_behind():
    kept, reached = [], []

    def f(x):
        kept.append(chain(x))
        reached.append(len(kept))
        return kept[-1] + ramp(5)

    x = ramp()
    messages = []
    for g in (f, compiled(f)):
        with pytest.raises(neura.errors.ShapeError) as caught:
            g(x)
        messages.append(str(caught.value))
    assert messages[0] == messages[1] and reached == [1, 2]
    assert same(kept[1], chain(x))
    assert not neura.compiler.is_compiling()


def test_random_numbers_are_those_of_eager():
    def f(x):
        return F.dropout(chain(x), 0.5) + neura.randn(6) * neura.rand_like(x)

    neura.manual_seed(5)
    expected = f(ramp()), f(ramp())
    neura.manual_seed(5)
    g = compiled(f)
    for e in expected:
        assert same(g(ramp()), e)


def test_functions_call_themselves_and_each_other():
    @compiled
    def f(x, n):
        return chain(x) if n == 0 else f(x * 2, n - 1) + 1

    def eager(x, n):
        return chain(x) if n == 0 else eager(x * 2, n - 1) + 1

    assert same(f(ramp(), 3), eager(ramp(), 3))
    assert same(compiled(lambda x: neura.compiler.disable(chain)(x * 2) + 1)(ramp()), chain(ramp() * 2) + 1)


def test_threads_have_their_own_and_read_each_others():
    x = ramp(5000)
    expected, wrong = chain(x), []

    def work():
        f = compiled(lambda: chain(x))
        for _ in range(30):
            if not same(f(), expected):
                wrong.append(1)

    def handed():
        y = chain(x)
        seen = []
        threads = [threading.Thread(target=lambda: seen.append(same(y + 0, expected))) for _ in range(3)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        return seen

    threads = [threading.Thread(target=work) for _ in range(4)]
    [t.start() for t in threads]
    assert compiled(handed)() == [True] * 3
    [t.join() for t in threads]
    assert not wrong


def test_results_die_at_any_time():
    def f(x):
        cycle = [chain(x)]
        cycle.append(cycle)
        y = cycle[0] * 2
        del cycle
        gc.collect()
        unread = y.exp()
        del unread
        return y

    assert same(compiled(f)(ramp()), f(ramp()))


def test_generators_coroutines_and_modes():
    x = ramp()
    with neura.no_grad():
        assert not compiled(chain)(x.clone().requires_grad_()).requires_grad
    with neura.inference_mode():
        assert compiled(chain)(x).is_inference()
    with neura.autograd.detect_anomaly():
        w = x.clone().requires_grad_()
        compiled(chain)(w).sum().backward()
    assert compiled(chain)(x.clone().requires_grad_()).requires_grad
    assert same(neura.func.vmap(compiled(chain))(x.view(2, 3)), chain(x.view(2, 3)))
    assert same(compiled(neura.func.vmap(chain))(x.view(2, 3)), chain(x.view(2, 3)))
    assert same(compiled(neura.func.grad(lambda t: chain(t).sum()))(x), neura.func.grad(lambda t: chain(t).sum())(x))
    with neura.autocast("cpu", dtype=neura.bfloat16):
        a = ramp(16).view(4, 4)
        assert same(compiled(lambda: chain(a @ a))(), chain(a @ a))


def test_traces_and_compiled_functions_take_each_other():
    x = ramp()
    program = neura.graph.trace(compiled(chain), x)
    assert same(program(x), chain(x))
    assert same(compiled(lambda t: neura.graph.trace(chain, t)(t) * 2)(x * 3), chain(x * 3) * 2)


def test_sparse_operands_are_those_of_eager():
    sparse, x = neura.eye(300).to_sparse(), neura.randn(300, 300)
    assert neura.equal(neura.compile(lambda s, y: (s @ y).relu() + 1)(sparse, x), (sparse @ x).relu() + 1)
