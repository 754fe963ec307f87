"""A module of Python within a Sequential of C++ within a module of Python: it trains, saves, loads, copies, pickles."""

import copy
import gc
import pickle
import threading
import weakref

import neura
import pytest
from neura import nn
from neura.nn import functional as F
from neura.utils.data import DataLoader, TensorDataset


class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.factor = nn.Parameter(neura.ones(8))
        self.register_buffer("calls", neura.tensor(0))

    def forward(self, x):
        self.calls += 1
        return F.relu(x) * self.factor


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), Scale(), nn.BatchNorm1d(8), nn.Sequential(Scale(), nn.Linear(8, 3)))

    def forward(self, x):
        return F.log_softmax(self.body(x), dim=-1)


def data():
    g = neura.Generator().manual_seed(5)
    x = neura.randn(96, 4, generator=g)
    return TensorDataset(x, (x @ neura.randn(4, 3, generator=g)).argmax(1))


def train(net, optimizer, epochs, **loading):
    """The mean loss of each epoch."""
    losses = []
    for epoch in range(epochs):
        g = neura.Generator().manual_seed(epoch)
        batches = DataLoader(data(), batch_size=16, shuffle=True, generator=g, **loading)
        total = 0.0
        for x, y in batches:
            optimizer.zero_grad()
            loss = F.nll_loss(net(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 5.0)
            optimizer.step()
            total += loss.item()
        losses.append(total / len(batches))
    return losses


def begin(seed=1):
    neura.manual_seed(seed)
    net = Net()
    return net, neura.optim.Adam(net.parameters(), lr=0.02)


def test_it_learns_and_every_parameter_moves():
    net, optimizer = begin()
    before = [p.detach().clone() for p in net.parameters()]
    losses = train(net, optimizer, 12)
    assert losses[-1] < losses[0] / 3
    assert not any(neura.equal(a, b) for a, b in zip(before, net.parameters()))
    assert net.body[1].calls.item() == 12 * 6 == net.body[2].num_batches_tracked.item()


def through_files(net, optimizer, folder):
    neura.save({"net": net.state_dict(), "optimizer": optimizer.state_dict()}, folder / "run")
    saved = neura.load(folder / "run")
    other, fresh = begin(seed=9)
    other.load_state_dict(saved["net"])
    fresh.load_state_dict(saved["optimizer"])
    return other, fresh


def by_copying(net, optimizer, folder):
    return copy.deepcopy((net, optimizer))


def by_pickling(net, optimizer, folder):
    return pickle.loads(pickle.dumps((net, optimizer)))


@pytest.mark.parametrize("carry", [through_files, by_copying, by_pickling])
def test_training_goes_on_as_if_it_had_not_stopped(carry, tmp_path):
    net, optimizer = begin()
    train(net, optimizer, 2)
    other, fresh = carry(net, optimizer, tmp_path)
    assert other.body[1].factor is not net.body[1].factor
    assert train(net, optimizer, 2) == train(other, fresh, 2)
    assert list(net.state_dict()) == list(other.state_dict())
    assert all(neura.equal(a, b) for a, b in zip(net.state_dict().values(), other.state_dict().values()))


def test_nothing_is_left_of_it():
    net, optimizer = begin()
    train(net, optimizer, 1)
    watch = [weakref.ref(m) for m in net.modules()] + [weakref.ref(p) for p in net.parameters()]
    del net, optimizer
    gc.collect()
    assert [w() for w in watch] == [None] * len(watch)


def test_threads_train_at_once_as_each_does_alone():
    alone = [train(*begin_of(i), 2, num_workers=2, worker_type="thread") for i in range(3)]
    networks, together = [begin_of(i) for i in range(3)], {}

    def work(i):
        together[i] = train(*networks[i], 2, num_workers=2, worker_type="thread")

    threads = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(3)]
    [t.start() for t in threads]
    [t.join(120) for t in threads]
    assert [together[i] for i in range(3)] == alone


def begin_of(i):
    return begin(seed=10 + i)


def test_one_network_serves_many_threads():
    net, _ = begin()
    net.eval()
    x = data().tensors[0]
    expected, wrong = net(x), []

    def work():
        with neura.no_grad():
            for _ in range(10):
                if not neura.equal(net(x), expected):
                    wrong.append(1)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(4)]
    [t.start() for t in threads]
    [t.join(120) for t in threads]
    assert not wrong and not any(t.is_alive() for t in threads)
