"""neura.Generator, and the default one."""

import copy
import pickle

import neura
import pytest
from neura import errors


def drawn(generator=None):
    return neura.rand(4, generator=generator).tolist()


def test_a_seed_decides_what_comes():
    g = neura.Generator().manual_seed(7)
    first = [drawn(g), drawn(g)]
    assert first[0] != first[1]
    assert first == [drawn(g.manual_seed(7)), drawn(g)]
    assert g.initial_seed() == 7
    assert neura.manual_seed(7) is neura.default_generator
    assert drawn() == first[0] and neura.initial_seed() == 7
    assert drawn(neura.Generator()) == drawn(neura.Generator())
    assert neura.Generator().device == neura.device("cpu")


def test_seeds_are_64_bits_from_either_end():
    g = neura.Generator()
    assert g.manual_seed(-1).initial_seed() == 2**64 - 1
    assert g.manual_seed(2**64 - 1).initial_seed() == 2**64 - 1
    for wrong, kind in [(2**64, ValueError), (-(2**63) - 1, ValueError), ("1", TypeError), (1.5, TypeError)]:
        with pytest.raises(kind):
            g.manual_seed(wrong)
        if kind is ValueError:
            with pytest.raises(kind):
                neura.manual_seed(wrong)
    assert g.initial_seed() == 2**64 - 1
    seeds = {g.seed() for _ in range(4)} | {neura.seed()}
    assert len(seeds) == 5 and g.initial_seed() in seeds


def test_the_default_generator_takes_the_integer_of_any_number():
    for given, seed in [(1.5, 1), (-1.5, 2**64 - 1), ("12", 12), (neura.tensor(3.7), 3), (1e19, 10**19), (True, 1)]:
        assert neura.manual_seed(given).initial_seed() == seed
        neura.cuda.manual_seed(given), neura.cuda.manual_seed_all(given)
    wrong = [(None, TypeError), ([1], TypeError), ("a", ValueError), (float("nan"), ValueError), (1e20, ValueError)]
    for given, kind in [*wrong, (float("inf"), OverflowError)]:
        with pytest.raises(kind):
            neura.manual_seed(given)


def test_states_come_back():
    g = neura.Generator().manual_seed(3)
    drawn(g)
    state = g.get_state()
    assert state.dtype is neura.uint8
    other = g.clone_state()
    later = [drawn(g), drawn(g)]
    assert later == [drawn(other), drawn(other)]
    assert g.set_state(state) is g
    assert neura.default_generator.set_state(neura.get_rng_state()) is neura.default_generator
    assert later[0] == drawn(g)
    kept = neura.get_rng_state()
    a = drawn()
    neura.set_rng_state(kept)
    assert drawn() == a
    for wrong, kind in [(neura.zeros(16), TypeError), (neura.zeros(15, dtype=neura.uint8), ValueError)]:
        with pytest.raises(kind):
            g.set_state(wrong)
    for clone in (pickle.loads(pickle.dumps(g)), copy.deepcopy(g)):
        assert clone.initial_seed() == 3
        state = g.get_state()
        assert drawn(clone) == drawn(g)
        g.set_state(state)


def test_fork_rng_leaves_no_trace():
    neura.manual_seed(5)
    a = drawn()
    neura.manual_seed(5)
    with neura.random.fork_rng():
        neura.manual_seed(99)
        drawn()
    assert drawn() == a
    with neura.random.fork_rng(enabled=False):
        neura.manual_seed(5)
    assert drawn() == a

    @neura.random.fork_rng()
    def seeded(n):
        neura.manual_seed(n)
        return seeded(n - 1) if n else drawn()

    neura.manual_seed(5)
    assert seeded(3) == seeded(0) and drawn() == a


def functions():
    p, x = neura.full((4,), 0.5), neura.ones(2, 4)
    return [
        lambda g: neura.rand(2, 3, generator=g),
        lambda g: neura.randn((2, 3), generator=g),
        lambda g: neura.rand_like(x, generator=g),
        lambda g: neura.randn_like(x, generator=g),
        lambda g: neura.randint(100, (8,), generator=g),
        lambda g: neura.randint(10, 1000, (8,), generator=g),
        lambda g: neura.randperm(16, generator=g),
        lambda g: neura.normal(x, x, generator=g),
        lambda g: neura.normal(x, 2.0, generator=g),
        lambda g: neura.normal(0.0, 1.0, (5,), generator=g),
        lambda g: neura.bernoulli(neura.full((32,), 0.5), generator=g),
        lambda g: neura.multinomial(p, 9, True, generator=g),
        lambda g: neura.poisson(x * 50, generator=g),
        lambda g: neura.empty(8).uniform_(generator=g),
        lambda g: neura.empty(8).normal_(2, 3, generator=g),
        lambda g: neura.empty(8).exponential_(generator=g),
        lambda g: neura.empty(8).geometric_(0.01, generator=g),
        lambda g: neura.empty(8).cauchy_(generator=g),
        lambda g: neura.empty(8).log_normal_(generator=g),
        lambda g: neura.empty(32).bernoulli_(generator=g),
        lambda g: neura.empty(8).random_(0, 1000, generator=g),
        lambda g: neura.empty(8).random_(1000, generator=g),
        lambda g: neura.empty(8, dtype=neura.int64).random_(generator=g),
    ]


@pytest.mark.parametrize("f", functions())
def test_functions_draw_from_the_generator_they_are_given(f):
    before = neura.get_rng_state().tolist()
    g = neura.Generator().manual_seed(1)
    first, second = f(g), f(g)
    assert not first.equal(second)
    assert f(g.manual_seed(1)).equal(first)
    assert neura.get_rng_state().tolist() == before
    neura.manual_seed(1)
    assert f(None).equal(first)


def test_a_generator_is_no_number():
    with pytest.raises(TypeError):
        neura.rand(2, generator=3)


@pytest.mark.parametrize("dtype", [neura.float32, neura.float64, neura.int32, neura.int16, neura.bool])
def test_indices_are_written_into_int64_alone(dtype):
    def into(call, *args, **options):
        out = neura.empty(0, dtype=dtype)
        with pytest.raises(errors.DTypeError, match="expected a destination that holds int"):
            call(*args, **options, out=out)
        assert out.numel() == 0

    x = neura.tensor([0.0, 1.0])
    into(neura.multinomial, x, 1)
    into(neura.argmax, x, 0)
    if dtype is neura.int32:
        assert neura.searchsorted(x, x, out_int32=True, out=neura.empty(2, dtype=dtype)).dtype is dtype
    into(neura.searchsorted, x, x)
    into(neura.bucketize, x, x)
    into(neura.nonzero, x)
    for call in (neura.sort, lambda x, out: neura.max(x, 0, out=out), lambda x, out: neura.topk(x, 1, out=out)):
        with pytest.raises(errors.DTypeError, match="expected a destination that holds int64"):
            call(x, out=(neura.empty(0), neura.empty(0, dtype=dtype)))
    out = neura.empty(0, dtype=neura.int64)
    assert neura.multinomial(x, 1, out=out) is out and out.tolist() == [1]
