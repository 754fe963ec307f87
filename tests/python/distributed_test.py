"""neura.distributed: a group of one process, in which programs for many run."""

import neura
import neura.distributed as dist
import pytest
from neura import nn
from neura.utils.data import DistributedSampler


@pytest.fixture
def group():
    dist.init_process_group("gloo", rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def test_without_a_group():
    assert dist.is_available() and not dist.is_initialized() and dist.group.WORLD is None
    for call in (dist.get_rank, dist.get_world_size, dist.barrier, lambda: dist.all_reduce(neura.ones(1))):
        with pytest.raises(ValueError, match="expected a group of processes, got none; call init_process_group first"):
            call()
    with pytest.raises(ValueError, match="got none"):
        nn.parallel.DistributedDataParallel(nn.Linear(1, 1))


def test_what_makes_a_group(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with pytest.raises(ValueError, match="world_size and rank or the variable WORLD_SIZE"):
        dist.init_process_group("gloo")
    with pytest.raises(NotImplementedError, match="a world of one process, got 2"):
        dist.init_process_group("gloo", rank=0, world_size=2)
    with pytest.raises(ValueError, match="below the number of processes, 1, got 1"):
        dist.init_process_group("gloo", rank=1, world_size=1)
    monkeypatch.setenv("WORLD_SIZE", "1")
    monkeypatch.setenv("RANK", "0")
    dist.init_process_group("nccl")
    assert dist.get_backend() == "nccl" and dist.is_initialized()
    with pytest.raises(ValueError, match="destroy_process_group first"):
        dist.init_process_group("gloo")
    dist.destroy_process_group()
    assert not dist.is_initialized()


def test_exchanges_are_copies(group):
    t = neura.arange(3.0)
    assert dist.all_reduce(t, op=dist.ReduceOp.AVG) is None and dist.all_reduce(t, async_op=True).wait()
    dist.broadcast(t, src=0)
    dist.reduce(t, dst=0)
    dist.barrier()
    for exchange in (dist.all_gather, dist.gather, lambda to, t: dist.scatter(to[0], [t])):
        into = [neura.zeros(3)]
        exchange(into, t) if exchange is not dist.gather else exchange(t, into)
        assert into[0].tolist() == [0, 1, 2]
    into = neura.zeros(1, 3)
    dist.all_gather_into_tensor(into, t)
    assert into.tolist() == [[0, 1, 2]]
    objects = [None]
    dist.all_gather_object(objects, {"a": 1})
    assert objects == [{"a": 1}] and (dist.get_rank(), dist.get_world_size()) == (0, 1)
    with pytest.raises(ValueError, match="broadcast: expected rank 0"):
        dist.broadcast(t, 1)
    with pytest.raises(ValueError, match="all_gather: expected a list of one"):
        dist.all_gather([t, t], t)
    with pytest.raises(NotImplementedError, match="send: expected to stay within one process"):
        dist.send(t, 1)


def test_a_module_is_trained_in_it(group):
    net = nn.Linear(2, 1)
    parallel = nn.parallel.DistributedDataParallel(net, device_ids=None, find_unused_parameters=True)
    assert list(parallel.state_dict()) == ["module.weight", "module.bias"] and parallel.module is net
    with parallel.no_sync():
        parallel(neura.ones(3, 2)).sum().backward()
    assert net.weight.grad.tolist() == [[3, 3]] and net.bias.grad.item() == 3
    assert list(DistributedSampler(range(3), shuffle=False)) == [0, 1, 2]
    with pytest.raises(RuntimeError, match="requires a gradient, got none"):
        nn.parallel.DistributedDataParallel(nn.ReLU())
