"""Programs in files .neura: the same bits, the same names, mapped, and refused where they are damaged."""

import neura
import numpy as np
import pytest
from files_test import lies_in
from neura import graph, nn


class Last(nn.Module):
    """The first result of a module."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)[0]


def cnn():
    net = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.GELU(), nn.MaxPool2d(2), nn.Dropout(), nn.Flatten()
    )
    return nn.Sequential(net, nn.Linear(128, 5), nn.Softmax(1)), neura.randn(2, 3, 8, 8)


def transformer():
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    return nn.Sequential(nn.Embedding(11, 16), nn.TransformerEncoder(layer, 2)), neura.arange(6).reshape(2, 3)


def lstm():
    return Last(nn.LSTM(6, 9, num_layers=2, bidirectional=True)), neura.randn(4, 2, 6)


def gru():
    return Last(nn.GRU(6, 9)), neura.randn(4, 2, 6)


def decoder():
    net = nn.Sequential(nn.ConvTranspose2d(3, 4, 3, stride=2), nn.GroupNorm(2, 4), nn.AdaptiveAvgPool2d(1))
    return net, neura.randn(2, 3, 4, 4)


@pytest.mark.parametrize("make", [cnn, transformer, lstm, gru, decoder])
def test_a_model_comes_back_bit_for_bit(make, tmp_path):
    neura.manual_seed(3)
    model, x = make()
    path = tmp_path / "net.neura"
    program = graph.export(model, x, input_names=["x"], output_names=["y"], metadata={"licence": "mine"})
    assert model.training
    program.save(path)
    want = model.eval()(x)
    for mmap in (True, False):
        loaded = graph.load(path, mmap=mmap)
        assert np.array_equal(loaded(x).numpy(), want.detach().numpy())
        assert (loaded.input_names, loaded.output_names, loaded.metadata) == (["x"], ["y"], {"licence": "mine"})
        assert str(loaded) == str(graph.load(path))
    names = set(model.state_dict())
    assert {name for name, _ in graph.load(path).captured} <= names
    assert set(neura.safetensors.load_file(path)) >= {name for name, _ in program.captured}


def test_what_is_mapped_is_not_read(tmp_path):
    layer = nn.Linear(2048, 2048)
    path = tmp_path / "net.neura"
    graph.export(layer, neura.zeros(1, 2048)).save(path)
    program = graph.load(path)
    weight = dict(program.captured)["weight"]
    assert weight.nbytes == 2048 * 2048 * 4 and lies_in(weight, path)
    assert not lies_in(dict(graph.load(path, mmap=False).captured)["weight"], path)


def test_damaged_files_are_refused(tmp_path):
    path = tmp_path / "net.neura"
    graph.export(nn.Linear(4, 3), neura.zeros(1, 4)).save(path)
    whole = path.read_bytes()
    for bytes_, part in (
        (whole[:-1], "net"),
        (whole.replace(b"linear(", b"linaer("), "hash"),
        (b"", "net"),
        (whole.replace(b'"weight"', b'"weighs"'), "weight"),
    ):
        path.write_bytes(bytes_)
        with pytest.raises(neura.errors.FormatError, match=part):
            graph.load(path)
    with pytest.raises(neura.errors.IoError):
        graph.load(tmp_path / "none.neura")


def test_unchecked_operations_need_trust(tmp_path):
    path = tmp_path / "f.neura"
    graph.export(lambda x: x.cumprod(0), neura.ones(3)).save(path)
    with pytest.raises(NotImplementedError, match="cumprod"):
        graph.load(path)
    assert graph.load(path, trusted=True)(neura.full((3,), 2.0)).tolist() == [2.0, 4.0, 8.0]


def test_names_are_checked(tmp_path):
    program = graph.export(nn.Linear(4, 3), neura.zeros(1, 4), input_names=["a b"])
    with pytest.raises(ValueError, match="without spaces"):
        program.save(tmp_path / "x.neura")
    assert not list(tmp_path.iterdir())
