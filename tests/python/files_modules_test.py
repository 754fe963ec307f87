"""Whole modules, optimizers and schedules in files: pickled, and read only by who says weights_only=False."""

import io
import os

import neura
import pytest
from neura import errors, nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU())
        self.head = nn.Linear(4, 2, bias=False)
        self.head.weight = nn.Parameter(self.body[0].weight.data[:2, :1].repeat(1, 4))
        self.register_buffer("seen", neura.zeros(0, dtype=neura.int64))
        self.extra = {"names": ["a", "b"], "scale": 2.0}

    def forward(self, x):
        return self.head(self.body(x)) * self.extra["scale"]


class Evil(nn.Module):
    def __reduce__(self):
        return os.system, ("exit 3",)


def again(obj, **options):
    file = io.BytesIO()
    neura.save(obj, file)
    return neura.load(io.BytesIO(file.getvalue()), **options)


@pytest.mark.parametrize(
    "make",
    [
        Net,
        lambda: nn.LSTM(3, 2, num_layers=2),
        lambda: nn.TransformerEncoderLayer(4, 2, 8, batch_first=True).eval(),
        lambda: nn.ModuleList([nn.Linear(1, 1), nn.Dropout(0.5)]),
        lambda: nn.ParameterDict({"a": nn.Parameter(neura.ones(2))}),
    ],
)
def test_a_whole_module_comes_back(make, tmp_path):
    module = make()
    neura.save(module, tmp_path / "module.pt")
    found = neura.load(tmp_path / "module.pt", weights_only=False)
    assert type(found) is type(module) and repr(found) == repr(module) and found.training == module.training
    for (name, t), (other, u) in zip(module.state_dict().items(), found.state_dict().items()):
        assert name == other and neura.equal(t, u) and t.data_ptr() != u.data_ptr() or not t.numel()


def test_a_module_that_came_back_computes_the_same():
    net = Net().eval()
    x = neura.randn(5, 3)
    found = again(net, weights_only=False)
    assert neura.equal(found(x), net(x)) and found.extra == net.extra and found.seen.dtype is neura.int64


def test_what_belongs_together_stays_together():
    net = Net()
    optimizer = neura.optim.Adam(net.parameters(), lr=0.1)
    schedule = neura.optim.lr_scheduler.StepLR(optimizer, 2)
    net(neura.randn(4, 3)).sum().backward()
    optimizer.step()
    run = again({"net": net, "optimizer": optimizer, "schedule": schedule, "epoch": 3}, weights_only=False)
    assert run["epoch"] == 3 and run["schedule"].optimizer is run["optimizer"]
    assert run["optimizer"].param_groups[0]["params"][0] is run["net"].body[0].weight
    states = [o.state_dict()["state"][0]["exp_avg"] for o in (optimizer, run["optimizer"])]
    assert neura.equal(*states)


@pytest.mark.parametrize("options", [{}, {"weights_only": True}])
def test_nothing_runs_unless_the_caller_trusts_the_file(options):
    with pytest.raises(errors.FormatError, match="got a pickled .*Net, .* weights_only=False if you trust"):
        again(Net(), **options)
    with pytest.raises(errors.FormatError, match="weights_only=False"):
        again(Evil(), **options)
    assert again(Evil(), weights_only=False)  # the status of what it ran


@pytest.mark.parametrize(
    "location", ["cpu", {"cpu": "cpu"}, lambda storage, saved: storage, lambda storage, saved: None]
)
def test_a_location_is_taken(location):
    assert again(Net(), weights_only=False, map_location=location).head.weight.device.type == "cpu"


def test_what_cannot_be_pickled_is_named():
    net = Net()
    net.extra = lambda x: x
    with pytest.raises(
        TypeError, match=r"save: expected a .*Net that can be pickled, got: .*; save its state_dict\(\)"
    ):
        again(net)
    with pytest.raises(errors.ValueError, match='the metadata key "neura.pickle" is'):
        neura.save(net, io.BytesIO(), metadata={"neura.pickle": "x"})


def test_a_damaged_pickle_is_a_format_error():
    tensors = {"pickle": neura.tensor([128, 5, 46], dtype=neura.uint8)}
    for broken in (tensors, {}, {"pickle": neura.ones(2)}):
        file = neura.safetensors.save(broken, {"neura.pickle": "Net"})
        with pytest.raises(errors.FormatError, match="pickle of a Net"):
            neura.load(file, weights_only=False)


def test_parameters_stay_parameters():
    weight, frozen = nn.Parameter(neura.ones(2, 2)), nn.Parameter(neura.arange(3), requires_grad=False)
    found = again(
        {"weight": weight, "again": [weight], "frozen": frozen, "part": weight.data[0], "tensor": neura.ones(1)}
    )
    assert type(found["weight"]) is nn.Parameter and found["weight"].requires_grad and found["weight"].is_leaf
    assert found["again"][0] is found["weight"] and neura.equal(found["weight"], weight)
    assert type(found["frozen"]) is nn.Parameter and not found["frozen"].requires_grad
    assert found["part"].data_ptr() == found["weight"].data_ptr() and type(found["tensor"]) is neura.Tensor
    assert [type(t) for t in again(nn.Linear(1, 1).state_dict()).values()] == [neura.Tensor] * 2
