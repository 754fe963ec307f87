"""neura.onnx: models of stored files; and of ONNX's own tests, where the `onnx` package is there."""

import copy
import importlib.util
import pathlib
import pickle
import subprocess
import sys

import neura
import pytest

DATA = pathlib.Path(__file__).parent / "data" / "onnx"
ROOT = pathlib.Path(__file__).parents[2]
needs_onnx = pytest.mark.skipif(not importlib.util.find_spec("onnx"), reason="the onnx package is not installed")


def expected_linear(x):
    weight = neura.arange(24.0).reshape(4, 6) / 8
    return neura.relu(x @ weight.t() + neura.tensor([-3.0, 0, 1, 2]))


def test_a_model_is_a_module():
    model = neura.onnx.load(DATA / "linear.onnx")
    assert isinstance(model, neura.nn.Module) and isinstance(model, neura.onnx.Model) and not model.training
    assert model.input_names == ["x"] and model.output_names == ["y"]
    assert model.inputs == {"x": ("tensor", "float32", ("N", 6))}
    x = neura.linspace(-1, 1, 18).reshape(3, 6)
    assert neura.allclose(model(x), expected_linear(x))
    assert list(model.state_dict()) == ["fc.weight"]
    assert "(x) -> (y), 2 nodes" in repr(model)


def test_inputs_go_by_position_by_name_or_in_a_dictionary():
    model = neura.onnx.load((DATA / "linear.onnx").read_bytes())
    x = neura.ones(1, 6)
    y = model(x)
    assert neura.equal(model(x=x), y) and neura.equal(model({"x": x}), y)
    with pytest.raises(ValueError, match='expected a name of input_names, got "z"'):
        model(z=x)
    with pytest.raises(ValueError, match='expected a value as the input "x", got none'):
        model()
    with pytest.raises(neura.errors.ShapeError, match=r'the input "x" to be float32 \[N, 6\], got float32 \[5\]'):
        model(neura.ones(5))


def test_errors_may_hold_bytes_that_are_no_text(tmp_path):
    def field(number, payload):
        return bytes([number << 3 | 2, len(payload)]) + payload

    node = field(1, b"x") + field(2, b"y") + field(3, b"\xff") + field(4, b"RegexFullMatch")
    graph = field(1, node) + field(11, field(1, b"x")) + field(12, field(1, b"y"))
    (tmp_path / "m.onnx").write_bytes(bytes([8, 8]) + field(7, graph) + field(8, bytes([16, 20])))
    for source, op in ((tmp_path / "m.onnx", "onnx.load"), ((tmp_path / "m.onnx").read_bytes(), 'node "\ufffd"')):
        with pytest.raises(ValueError, match='node "\ufffd" .RegexFullMatch.: .*expected a pattern, got none') as e:
            neura.onnx.load(source)
        assert not isinstance(e.value, UnicodeDecodeError) and e.value.op.startswith(op)
    with pytest.raises(neura.errors.FormatError, match=f"onnx.load: {tmp_path}.*: expected a protocol buffer"):
        (tmp_path / "m.onnx").write_bytes(b"no model")
        neura.onnx.load(tmp_path / "m.onnx")


def test_parameters_are_trained_and_copied():
    model = neura.onnx.load(DATA / "linear.onnx")
    twin = copy.deepcopy(model)
    optimizer = neura.optim.SGD(model.parameters(), lr=0.1)
    x = neura.ones(2, 6)
    before = model(x).sum()
    before.backward()
    optimizer.step()
    assert model(x).sum() < before
    assert neura.equal(twin(x).sum(), before)
    twin.load_state_dict(model.state_dict())
    with pytest.raises(TypeError, match="save its state_dict"):
        pickle.dumps(model)
    assert neura.equal(twin(x), model(x))


def test_branches_and_several_outputs():
    branch = neura.onnx.load(DATA / "branch.onnx")
    x = neura.tensor([-1.0, 2.0])
    assert branch(neura.tensor(True), x).tolist() == [1, -2]
    assert branch(neura.tensor(False), x).tolist() == [1, 2]
    values, places = neura.onnx.load(DATA / "top.onnx")(neura.tensor([1.0, 3, 2]))
    assert values.tolist() == [3, 2] and places.tolist() == [1, 2]


def test_sizes_are_computed():
    x = neura.arange(12.0).reshape(2, 2, 3)
    assert neura.onnx.load(DATA / "sizes.onnx")(x).tolist() == [[0.5, 0.5, 5.5], [6.5, 6.5, 11.5]]


def test_what_is_no_model_is_refused(tmp_path):
    with pytest.raises(neura.errors.NotImplementedError, match=r'got Frobnicate \(test version 1: "odd"\)'):
        neura.onnx.load(DATA / "unknown.onnx")
    with pytest.raises(neura.errors.IoError, match="no-such.onnx"):
        neura.onnx.load(tmp_path / "no-such.onnx")
    (tmp_path / "empty.onnx").write_bytes(b"")
    for data in (tmp_path / "empty.onnx", b"", b"no model", (DATA / "linear.onnx").read_bytes()[:-3]):
        with pytest.raises(neura.errors.FormatError):
            neura.onnx.load(data)


def test_the_table_of_operators():
    table = neura.onnx.operators()
    assert ("", "Softmax", 1, 12) in table and ("", "Softmax", 13, None) in table
    page = (ROOT / "docs" / "onnx.md").read_text()
    missing = [name for _, name, _, _ in table if f"{name}" not in page]
    assert not missing, "run: python tools/onnx_page.py SITE"


@needs_onnx
def test_the_node_tests_pass_as_listed():
    site = pathlib.Path(neura.__file__).parents[1]
    command = [sys.executable, ROOT / "tools" / "onnx_conformance.py", site]
    command += ["--expected", ROOT / "tests" / "onnx" / "expected_failures.txt"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-2000:]


@needs_onnx
def test_the_back_end_runs_models_and_nodes():
    import numpy as np
    import onnx
    from neura.onnx import backend

    model = onnx.load(DATA / "linear.onnx")
    x = np.ones((1, 6), np.float32)
    assert backend.supports_device("CPU") and backend.is_compatible(model)
    (y,) = backend.run_model(model, {"x": x})
    assert np.allclose(y, expected_linear(neura.ones(1, 6)).numpy())
    node = onnx.helper.make_node("Add", ["a", "b"], ["c"])
    big = np.array([65535, 3], np.uint16)
    (c,) = backend.run_node(node, [big, big], outputs_info=[(np.uint16, (2,))])
    assert c.dtype == np.uint16 and c.tolist() == [65534, 6]
