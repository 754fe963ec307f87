"""The device meta: tensors with sizes, strides and a dtype, but no bytes."""

import copy
import inspect
import io
import pathlib
import pickle
import re
import warnings

import forms_test as forms
import neura
import numpy
import pytest
from neura import nn

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "cuda.md"


def test_the_device_has_a_name_and_no_index():
    d = neura.device("meta")
    assert (repr(d), str(d), d.type, d.index) == ("device(type='meta')", "meta", "meta", None)
    assert d == neura.device("meta", 0) == neura.device("meta:0") != neura.device("cpu")
    assert pickle.loads(pickle.dumps(d)) == d
    with pytest.raises(neura.errors.DeviceError):
        neura.device("meta", 1)


def test_tensors_know_what_they_are():
    x = neura.empty(3, device="meta")
    assert x.is_meta and not x.is_cpu and not x.is_cuda and x.device.type == "meta"
    assert not neura.empty(3).is_meta
    assert x.get_device() == -1 and x.data_ptr() == 0 and x.untyped_storage().data_ptr() == 0
    assert (x.nbytes, x.untyped_storage().nbytes(), x.stride()) == (12, 12, (1,))
    assert neura.tensor([[1, 2]]).to("meta").dtype is neura.int64


def test_they_print_their_sizes():
    assert repr(neura.empty(3, device="meta")) == "tensor(..., device='meta', size=(3,))"
    assert repr(neura.ones(2, 0, dtype=neura.int64, device="meta")) == (
        "tensor(..., device='meta', size=(2, 0), dtype=neura.int64)"
    )
    assert repr(nn.Linear(2, 1, device="meta").bias) == (
        "Parameter containing:\nParameter(..., device='meta', size=(1,), requires_grad=True)"
    ).replace("Parameter(", "tensor(")


def test_sparse_tensors_print_their_parts():
    x = neura.eye(3).to_sparse().to("meta")
    assert repr(x) == (
        "tensor(indices=tensor(..., size=(2, 3)),\n       values=tensor(..., size=(3,)),\n"
        "       size=(3, 3), nnz=3, device='meta', layout=neura.sparse_coo)"
    )
    assert (x @ neura.empty(3, 2, device="meta")).shape == (3, 2) and x.to_dense().is_meta


def test_a_block_makes_everything_there():
    with neura.device("meta"):
        layer = nn.Linear(1 << 20, 1 << 20)
        assert neura.zeros(2).is_meta and neura.randn(2).is_meta and neura.arange(4).is_meta
    assert layer.weight.is_meta and layer.weight.shape == (1 << 20, 1 << 20)
    assert not neura.zeros(2).is_meta


@pytest.mark.parametrize(
    "needs",
    [
        lambda x: x.item(),
        lambda x: x.tolist(),
        lambda x: x.numpy(),
        lambda x: numpy.asarray(x),
        lambda x: x.__dlpack__(),
        lambda x: bool(x),
        lambda x: float(x),
        lambda x: int(x),
        lambda x: x.cpu(),
        lambda x: x.to("cpu"),
        lambda x: x.nonzero(),
        lambda x: x.unique(),
        lambda x: x[x > 0],
        lambda x: neura.masked_select(x, x > 0),
        lambda x: neura.equal(x, x),
        lambda x: neura.zeros(1).copy_(x),
        lambda x: neura.allclose(x, x),
        lambda x: 1 in x,
        lambda x: neura.testing.assert_close(x, x + 1),
    ],
)
def test_what_needs_values_is_refused(needs):
    with pytest.raises(NotImplementedError, match=r"expected a tensor with values, got \w+ \[1?\] on meta"):
        needs(neura.empty(1, device="meta"))


@pytest.mark.parametrize("array", [neura.Tensor.numpy, numpy.asarray, neura.Tensor.__array__])
def test_an_array_of_none_is_a_type_error(array):
    with pytest.raises(TypeError, match="expected a tensor with values"):
        array(neura.empty(1, device="meta"))


def test_operations_check_and_infer():
    x = neura.empty(4, 3, device="meta", requires_grad=True)
    y = neura.nn.functional.layer_norm(x @ neura.empty(3, 5, device="meta"), (5,)).t().double()
    assert (y.shape, y.stride(), y.dtype, y.is_meta) == ((5, 4), (1, 5), neura.float64, True)
    y.sum().backward()
    assert x.grad.is_meta and x.grad.shape == (4, 3)
    with pytest.raises(neura.errors.ShapeError):
        x @ neura.empty(4, 5, device="meta")
    with pytest.raises(neura.errors.DeviceError):
        x + neura.ones(3)
    assert (x + neura.tensor(1.0)).is_meta


def test_modules_go_there_and_come_back_empty():
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    weight = net[0].weight
    net.to("meta")
    assert net[0].weight is weight and weight.is_meta and weight.requires_grad and net[1].running_mean.is_meta
    assert net(neura.empty(5, 3, device="meta")).shape == (5, 4)
    assert copy.deepcopy(net)[0].weight.is_meta
    with pytest.raises(NotImplementedError, match="to_empty"):
        net.to("cpu")
    net.to_empty(device="cpu")
    assert weight.device.type == "cpu" and weight.shape == (4, 3) and weight.requires_grad
    nn.init.ones_(weight)
    assert weight.sum().item() == 12


def test_assign_gives_values():
    state = nn.Linear(3, 4).state_dict()
    with neura.device("meta"):
        net = nn.Linear(3, 4)
    with pytest.warns(UserWarning, match="(weight|bias) is on meta.*assign=True"):
        net.load_state_dict(state)
    assert net.weight.is_meta
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        net.load_state_dict(state, assign=True)
    assert net.weight.equal(state["weight"]) and net.weight.requires_grad
    with pytest.raises(neura.errors.ValueError, match="weight: expected a tensor with values, got one on meta"):
        net.load_state_dict(nn.Linear(3, 4, device="meta").state_dict())
    assert net.weight.equal(state["weight"])


def test_copies_and_pickles_have_no_bytes():
    x = neura.empty(1 << 30, 1 << 10, device="meta").t()
    shared = pickle.loads(pickle.dumps([x, x[0]]))
    assert shared[0].is_meta and shared[0].stride() == x.stride()
    assert shared[0].untyped_storage() is shared[1].untyped_storage()
    assert copy.deepcopy(x).shape == x.shape
    assert len(pickle.dumps(x)) < 1000
    with pytest.raises((TypeError, RuntimeError)):
        neura._neura._rebuild_storage(5, "cpu")


def test_files_are_read_without_their_bytes():
    file = io.BytesIO()
    neura.save({"x": neura.ones(2, 3)}, file)
    file.seek(0)
    assert neura.load(file, map_location="meta")["x"].is_meta


def test_optimizers_step():
    net = nn.Linear(3, 2, device="meta")
    for make in (neura.optim.SGD, neura.optim.Adam, neura.optim.AdamW, neura.optim.RMSprop, neura.optim.Adagrad):
        optimizer = make(net.parameters(), lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            net(neura.empty(4, 3, device="meta")).sum().backward()
            optimizer.step()
        assert all(
            t.is_meta or t.dim() == 0 for s in optimizer.state.values() for t in s.values() if neura.is_tensor(t)
        )


def test_nothing_is_drawn():
    neura.manual_seed(3)
    want = neura.rand(3)
    neura.manual_seed(3)
    with neura.device("meta"):
        nn.Transformer(d_model=8, nhead=2, dim_feedforward=8)
        neura.nn.functional.dropout(neura.rand(3))
    assert neura.rand(3).equal(want)


def test_the_page_runs():
    section = re.search(r"\n## The device meta\n(.*?)\n## ", PAGE.read_text(), re.DOTALL).group(1)
    (program,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    exec(compile(program, str(PAGE), "exec"), {"__name__": "__main__"})


# How large their results are depends on values, or values are what they give or look at.
NEED_VALUES = set("allclose argwhere cpu equal item is_nonzero nonzero one_hot unique unique_consecutive where".split())
NEED_VALUES |= set("filtfilt histc histogram lfilter masked_scatter masked_select".split())
NEED_VALUES |= set("to_sparse_bsc to_sparse_bsr to_sparse_csc to_sparse_csr".split())


@pytest.mark.parametrize("module, name, also, given", forms.ALL, ids=forms.IDS)
def test_every_function_says_what_comes_out(module, name, also, given):
    args, _ = forms.arguments(module, name, given)
    if args is None:
        pytest.skip("no drawn arguments fit")
    function = forms.function_of(module, name, given)
    want = forms.run(function, **forms.fresh(args))
    named = forms.changed(forms.fresh(args), lambda t: t.to("meta"))
    if not forms.parts(list(args.values())):
        if "device" not in inspect.signature(function).parameters:
            pytest.skip("it makes tensors on the cpu")
        named["device"] = "meta"
    if name in NEED_VALUES:
        with pytest.raises(NotImplementedError, match="expected a tensor with values"):
            forms.run(function, **named)
        return
    got = forms.parts(forms.run(function, **named))
    assert len(got) == len(forms.parts(want))
    for a, b in zip(got, forms.parts(want)):
        assert a.is_meta and (a.shape, a.dtype, a.layout) == (b.shape, b.dtype, b.layout)
        assert not b.numel() or b.layout is not neura.strided or a.stride() == b.stride()
