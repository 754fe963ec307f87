"""Optimizers and schedulers, copied and pickled."""

import copy
import pickle

import neura
import pytest
from lr_scheduler_test import Halve, optimizer_of, rates_of
from optim_test import NAMES, Momentum, begin, take_steps


@pytest.mark.parametrize("name", NAMES)
def test_copies_go_their_own_way(name):
    params, optimizer = begin(name)
    take_steps(optimizer, params, range(2))
    for copied in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        theirs = [p for g in copied.param_groups for p in g["params"]]
        assert all(map(neura.equal, params, theirs))
        before = [p.detach().clone() for p in params]
        take_steps(copied, theirs, range(2, 4))
        assert all(map(neura.equal, params, before))
        reference_params, reference = begin(name)
        take_steps(reference, reference_params, range(4))
        assert all(map(neura.equal, theirs, reference_params))


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_those_written_in_python_are_copied_too(copied):
    w = neura.ones(2, requires_grad=True)
    w.grad = neura.ones(2)
    optimizer = Momentum([w], lr=0.5)
    optimizer.step()
    other = copied(optimizer)
    other.param_groups[0]["params"][0].grad = neura.ones(2)
    other.step()
    assert w.tolist() == [0.5, 0.5] and other.param_groups[0]["params"][0].tolist() != [0.5, 0.5]
    (state,) = optimizer.state.values()
    assert state["buffer"].tolist() == [1, 1]
    scheduler = Halve(optimizer_of(1.0))
    rates_of(scheduler, 2)
    again = copied(scheduler)
    assert again.optimizer is not scheduler.optimizer
    assert rates_of(again, 2) == rates_of(scheduler, 2)
