"""Recurrent layers in Python; their numbers are PyTorch's stored ones (tests/conformance)."""

import copy
import pickle

import pytest

import neura
from neura import nn
from neura.nn.utils import rnn


@pytest.mark.parametrize("make", [nn.RNN, nn.GRU, nn.LSTM])
def test_a_packed_sequence_gives_what_each_sequence_gives_alone(make):
    layer = make(3, 4, num_layers=2, bidirectional=True, dtype=neura.float64)
    sequences = [neura.randn(n, 3, dtype=neura.float64) for n in (2, 5, 1, 5)]
    packed = rnn.pack_sequence(sequences, enforce_sorted=False)
    out, states = layer(packed)
    assert isinstance(out, rnn.PackedSequence) and neura.equal(out.unsorted_indices, packed.unsorted_indices)
    for i, (sequence, given) in enumerate(zip(sequences, rnn.unpack_sequence(out))):
        alone, end = layer(sequence)
        assert neura.allclose(given, alone)
        pairs = zip(states, end) if make is nn.LSTM else [(states, end)]
        assert all(neura.allclose(state[:, i], one) for state, one in pairs)
    again, _ = layer(packed, states)
    assert not neura.allclose(again.data, out.data)
    sum(p.sum() for p in rnn.unpack_sequence(out)).backward()
    assert all(p.grad.abs().sum() > 0 for p in layer.parameters())


def test_parameters_lie_where_pytorch_has_them():
    layer = nn.LSTM(3, 4, num_layers=2, bidirectional=True, proj_size=2)
    kinds = ["weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr"]
    names = [f"{kind}_l{i}{suffix}" for i in range(2) for suffix in ("", "_reverse") for kind in kinds]
    assert list(layer.state_dict()) == names
    assert [len(w) for w in layer.all_weights] == [5] * 4 and layer.all_weights[1][4] is layer.weight_hr_l0_reverse
    assert layer.weight_hh_l0.shape == (16, 2) and layer.weight_ih_l1.shape == (16, 4)
    bound = 4**-0.5
    assert all(p.abs().max() <= bound for p in layer.parameters())
    assert nn.RNN(1, 1, nonlinearity="relu").nonlinearity == "relu"


def test_it_trains_copies_and_pickles():
    neura.manual_seed(0)
    layer, head = nn.GRU(1, 16, batch_first=True), nn.Linear(16, 1)
    optimizer = neura.optim.Adam([*layer.parameters(), *head.parameters()], lr=0.02)
    x = neura.randint(0, 2, (32, 8, 1)).float()
    y = x.sum(1)
    first = None
    for _ in range(150):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(head(layer(x)[0][:, -1]), y)
        loss.backward()
        optimizer.step()
        first = first or loss.item()
    assert loss.item() < first / 20
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert neura.equal(other(x)[0], layer(x)[0]) and other.weight_hh_l0 is not layer.weight_hh_l0


def test_hooks_and_overrides_see_the_call():
    seen = []

    class Loud(nn.GRU):
        def forward(self, input, hx=None):
            seen.append("forward")
            return super().forward(input, hx)

    layer = Loud(2, 3)
    layer.register_forward_hook(lambda module, args, result: seen.append(type(result)))
    layer(neura.ones(4, 1, 2))
    assert seen == ["forward", tuple]


def test_what_does_not_fit_is_said():
    with pytest.raises(RuntimeError, match="expected input of width 3, got shape"):
        nn.LSTM(3, 4)(neura.ones(2, 2, 5))
    with pytest.raises(RuntimeError, match="the cell state of shape"):
        nn.LSTM(3, 4)(neura.ones(2, 2, 3), (neura.zeros(1, 2, 4), neura.zeros(1, 2, 3)))
    with pytest.raises(ValueError, match=".tanh. or .relu."):
        nn.RNN(3, 4, nonlinearity="sin")


def test_names_of_all_weights():
    lstm = nn.LSTM(2, 3, 2, bidirectional=True)
    assert len(lstm._all_weights) == 4 and lstm._all_weights[1][0] == "weight_ih_l0_reverse"
    for names, tensors in zip(lstm._all_weights, lstm.all_weights):
        assert all(getattr(lstm, name) is tensor for name, tensor in zip(names, tensors))
