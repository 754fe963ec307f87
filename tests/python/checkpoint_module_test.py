"""CheckpointModule: the losses, names and states of the plain module."""

import copy
import pickle

import neura
import pytest
from neura import nn
from neura.utils.checkpoint import CheckpointModule


def network():
    neura.manual_seed(1)
    block = nn.Sequential(nn.Linear(16, 16), nn.Tanh(), nn.Dropout(0.2))
    return nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.GELU(), nn.Dropout(0.3), block, nn.Linear(16, 1))


def losses(net, steps=20):
    adam = neura.optim.Adam(net.parameters(), lr=0.01)
    neura.manual_seed(3)
    x = neura.randn(32, 6)
    y = x.sum(1, keepdim=True).sin()
    all = []
    for _ in range(steps):
        adam.zero_grad()
        loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        adam.step()
        all.append(loss.item())
    return all


@pytest.mark.parametrize("segments", [1, 2, 3, 6])
def test_it_trains_as_the_plain_one_bit_for_bit(segments):
    plain, checked = network(), CheckpointModule(network(), segments)
    want = losses(plain)
    assert losses(checked) == want and want[-1] < want[0]
    assert list(checked.state_dict()) == list(plain.state_dict())
    assert all(neura.equal(checked.state_dict()[k], v) for k, v in plain.state_dict().items())


def test_members_are_those_of_its_sequential():
    plain = network()
    checked = CheckpointModule(plain, 3)
    for names in ("named_parameters", "named_buffers", "named_children", "named_modules"):
        assert [n for n, _ in getattr(checked, names)()] == [n for n, _ in getattr(plain, names)()]
    assert checked[0] is plain[0] and len(checked) == len(plain)
    assert repr(checked).startswith("CheckpointModule(\n  segments=3\n  (0): Linear(")
    checked.eval()
    assert not plain[4][2].training
    plain.load_state_dict(checked.state_dict())
    for other in (copy.deepcopy(checked), pickle.loads(pickle.dumps(checked))):
        x = neura.randn(2, 6)
        assert neura.equal(other(x), checked(x)) and other.segments == 3


class Scaled(nn.Module):
    """A module of Python with two arguments and a pair for a result."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.runs = 0

    def forward(self, x, *, scale):
        self.runs += 1
        h = self.fc(x).exp() * scale
        return h, {"mean": h.mean()}


def test_any_module_runs_twice_and_gives_what_it_gives():
    module = Scaled()
    checked = CheckpointModule(module)
    assert [n for n, _ in checked.named_parameters()] == ["module.fc.weight", "module.fc.bias"]
    x, scale = neura.randn(4, 3), neura.tensor(2.0, requires_grad=True)
    gradients = []
    for net in (module, checked):
        h, facts = net(x, scale=scale)
        before = module.runs
        (h.sum() + facts["mean"]).backward()
        assert module.runs == before + (net is checked)
        gradients.append([module.fc.weight.grad, scale.grad])
        module.zero_grad()
        scale.grad = None
    assert all(map(neura.equal, *gradients))


def test_nested_checkpoints_and_autocast():
    plain = network()
    outer = nn.Sequential(CheckpointModule(nn.Sequential(CheckpointModule(plain, 2), nn.Tanh())))
    gradients = []
    for net in (nn.Sequential(plain, nn.Tanh()), outer):
        neura.manual_seed(2)
        with neura.autocast("cpu", dtype=neura.bfloat16):
            y = net(neura.ones(8, 6))
        y.float().square().sum().backward()
        gradients.append([p.grad for p in plain.parameters()])
        plain.zero_grad()
    assert all(map(neura.equal, *gradients))


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="CheckpointModule: expected 1 to 6 segments, got 7"):
        CheckpointModule(network(), 7)
