"""Programs import from PyTorch's files; trees, timers, collate with types of your own."""

import collections
import importlib
import pickle
import subprocess
import sys

import neura
import pytest
from neura import nn
from neura.utils import _pytree as pytree
from neura.utils.benchmark import Timer
from neura.utils.data._utils.collate import collate, default_collate

IMPORTS = """
nn.common_types: _size_1_t _size_2_t _size_any_t
nn.functional: _Reduction
nn.init: _calculate_correct_fan _no_grad_trunc_normal_
nn.modules.linear: NonDynamicallyQuantizableLinear
nn.modules.module: _addindent _IncompatibleKeys
nn.modules.transformer: _get_clones _get_activation_fn
nn.parallel.data_parallel: DataParallel data_parallel
nn.utils.spectral_norm: spectral_norm SpectralNorm
nn.utils.weight_norm: weight_norm WeightNorm
optim.adam: Adam
optim.adamw: AdamW
optim.lr_scheduler: _LRScheduler
optim.optimizer: Optimizer required ParamsT
optim.sgd: SGD
utils.data._utils.collate: default_collate
utils.data.dataset: Dataset random_split
_utils: _flatten_dense_tensors
"""


@pytest.mark.parametrize("line", IMPORTS.split("\n")[1:-1])
def test_imports(line):
    module, names = line.split(": ")
    found = importlib.import_module(f"neura.{module}")
    assert all(hasattr(found, name) for name in names.split())


def test_functions_stay_functions():
    importlib.import_module("neura.nn.utils.weight_norm")
    importlib.import_module("neura.nn.parallel.data_parallel")
    assert callable(nn.utils.weight_norm) and callable(nn.parallel.data_parallel)


def test_small_functions():
    assert (
        nn.functional._Reduction.get_enum("sum") == 2
        and nn.functional._Reduction.legacy_get_string(False, None) == "sum"
    )
    with pytest.raises(ValueError, match="reduction: expected"):
        nn.functional._Reduction.get_enum("max")
    assert nn.init._calculate_correct_fan(neura.ones(2, 3), "fan_in") == 3
    assert nn.modules.module._addindent("a\nb", 2) == "a\n  b"
    clones = nn.modules.transformer._get_clones(nn.Linear(1, 1), 2)
    assert len(clones) == 2 and clones[0] is not clones[1]
    neura._assert(True, "fine"), neura._check(True)
    with pytest.raises(AssertionError, match="wrong"):
        neura._assert(False, "wrong")
    with pytest.raises(RuntimeError, match="n is 3"):
        neura._check(False, lambda: "n is 3")
    with pytest.raises(TypeError):
        neura._check(1)
    a = [neura.ones(2, 2), neura.zeros(3)]
    flat = neura._utils._flatten_dense_tensors(a)
    assert flat.tolist() == [1, 1, 1, 1, 0, 0, 0]
    assert [t.shape for t in neura._utils._unflatten_dense_tensors(flat, a)] == [(2, 2), (3,)]


Point = collections.namedtuple("Point", "x y")


def test_trees():
    tree = {"a": [1, (2, None)], "b": Point(3, collections.OrderedDict(c=4)), "d": collections.deque([5], 3)}
    leaves, spec = pytree.tree_flatten(tree)
    assert leaves == [1, 2, None, 3, 4, 5] and spec.num_leaves == 6 and pytree.tree_unflatten(leaves, spec) == tree
    doubled = pytree.tree_map_only(int, lambda v: v * 2, tree)
    assert doubled["b"] == Point(6, {"c": 8}) and doubled["a"] == [2, (4, None)] and doubled["d"].maxlen == 3
    assert pytree.tree_map(lambda a, b: a + b, [1, {"k": 2}], [10, {"k": 20}]) == [11, {"k": 22}]
    assert pytree.tree_all_only(int, lambda v: v > 0, tree) and pytree.tree_any(lambda v: v == 4, tree)
    assert pytree.tree_leaves([[1], [2]], is_leaf=lambda x: x == [2]) == [1, [2]]
    with pytest.raises(ValueError, match="trees of one structure"):
        pytree.tree_map(lambda a, b: a, [1, 2], (1, 2))
    with pytest.raises(ValueError, match="expected 6 leaves, got 1"):
        spec.unflatten([1])


def test_trees_of_ones_own():
    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b

    pytree.register_pytree_node(Pair, lambda p: ([p.a, p.b], "context"), lambda v, c: Pair(*v))
    assert pytree.tree_map(lambda v: v + 1, Pair(1, [2])).b == [3]
    assert repr(pytree.tree_structure(Pair(1, 2))) == "TreeSpec(Pair, context, [*, *])"
    with pytest.raises(ValueError):
        pytree.register_pytree_node(Pair, None, None)


def test_collate_of_types():
    class Word(str):
        pass

    def join(batch, *, collate_fn_map=None):
        return "+".join(batch)

    items = [{"w": Word("a"), "n": (1, [2.0])}, {"w": Word("b"), "n": (3, [4.0])}]
    made = collate(items, collate_fn_map={Word: join})
    assert made["w"] == "a+b" and made["n"][0].tolist() == [1, 3] and made["n"][1][0].tolist() == [2, 4]
    assert type(collate([Point(1, 2), Point(3, 4)])) is Point
    assert collate(items)["w"] == ["a", "b"] == default_collate(items)["w"]


def test_timers():
    threads = neura.get_num_threads()
    timer = Timer("x.add_(1)", "x[0] = 0", globals={"x": neura.zeros(2)}, label="adding", num_threads=1)
    found = timer.timeit(20)
    assert found.number_per_run == 20 and found.mean > 0 and len(found.times) == 1 and "adding" in repr(found)
    found = timer.blocked_autorange(min_run_time=0.01)
    assert sum(found.raw_times) >= 0.01 and found.median > 0 and found.iqr >= 0
    assert neura.get_num_threads() == threads
    with pytest.raises(TypeError, match="expected language 'python'"):
        Timer("x", language="c++")


def test_sizes_are_arguments_of_layers():
    x = neura.randn(1, 2, 9)
    down, up = nn.Conv1d(2, 3, 3, stride=2, padding=1), nn.ConvTranspose1d(3, 2, 3, stride=2, padding=1)
    assert up(down(x), output_size=x.size()).shape == x.shape and up(down(x), x.shape).shape == x.shape
    y, indices = nn.MaxPool1d(2, return_indices=True)(x)
    assert nn.MaxUnpool1d(2)(y, indices, output_size=x.shape).shape == x.shape


def test_a_tensor_in_a_file(tmp_path):
    path = tmp_path / "numbers"
    x = neura.from_file(path, shared=True, size=3, dtype=neura.int32)
    x.copy_(neura.tensor([1, 2, 3]))
    again = neura.from_file(path, size=3, dtype=neura.int32)
    assert again.tolist() == [1, 2, 3]
    again[0] = 9
    assert x[0] == 1 and path.stat().st_size == 12 and neura.from_file(path).shape == (0,)
    with pytest.raises(ValueError, match="at least 16 bytes, got 12"):
        neura.from_file(path, size=4)
    with pytest.raises(OSError):
        neura.from_file(tmp_path / "nowhere", size=1)


def test_numbers_compare_by_value():
    neura.testing.assert_close(1.0, 1, check_dtype=False)
    with pytest.raises(AssertionError, match="expected int, got float"):
        neura.testing.assert_close(1.0, 1)


def test_results_with_names():
    x = neura.tensor([3.0, 1.0, 2.0])
    calls = {
        **{name: getattr(neura, name)(x, 0) for name in "cummax cummin max median min mode nanmedian".split()},
        "kthvalue": neura.kthvalue(x, 2),
        "topk": neura.topk(x, 2),
        "sort": x.sort(),
        "aminmax": x.aminmax(),
        "histogram": neura.histogram(x, 3),
        "histogramdd": neura.histogramdd(neura.stack([x, x], 1), [2, 2]),
        "linalg_eigh": neura.linalg.eigh(neura.eye(2)),
        "linalg_slogdet": neura.linalg.slogdet(neura.eye(2)),
        "linalg_svd": neura.linalg.svd(neura.eye(2)),
    }
    for name, result in calls.items():
        assert type(result) is getattr(neura.return_types, name), name
        assert pickle.loads(pickle.dumps(result))[0].tolist() == result[0].tolist()
    assert calls["histogramdd"].hist.sum() == 3 and len(calls["histogramdd"].bin_edges) == 2
    assert neura.return_types.topk((x, x)).values is x and repr(calls["topk"]).startswith("neura.return_types.topk(")
    program = "import neura, pickle, sys; print(pickle.loads(sys.stdin.buffer.read()).indices.tolist())"
    done = subprocess.run([sys.executable, "-c", program], input=pickle.dumps(calls["topk"]), capture_output=True)
    assert done.stdout.split() == [b"[0,", b"2]"], done.stderr
    with pytest.raises(AttributeError):
        neura.return_types.nothing


def test_words_of_another_format_change_nothing(tmp_path):
    path = tmp_path / "x.pt"
    neura.save({"a": 1}, path, pickle, 2, _use_new_zipfile_serialization=False)
    assert neura.load(path, "cpu", pickle) == neura.load(path, pickle_module=pickle, weights_only=False) == {"a": 1}


def test_no_bias_by_another_word():
    assert nn.Linear(2, 3, bias=None).bias is None and nn.Conv2d(1, 1, 1, bias=None).bias is None
    assert nn.Linear(2, 3, bias=True).bias is not None
