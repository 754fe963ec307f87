"""neura.Tensor: identity, numbers, indexing, arrays, errors."""

import gc
import subprocess
import sys
import weakref

import neura
import numpy as np
import pytest


def test_one_tensor_is_one_object():
    x = neura.tensor([1.0, 2.0], requires_grad=True)
    (x * 3).sum().backward()
    assert x.grad is x.grad
    assert x.contiguous() is x
    x.note = "kept"
    assert x.contiguous().note == "kept"
    assert x.detach().add_(1) is not x
    y = neura.zeros(2)
    assert y.add_(1) is y
    assert neura.add(y, 1, out=y) is y


def test_a_sequence_takes_the_dtypes_of_tensors_in_it():
    i, h, d = (neura.tensor(1, dtype=t) for t in (neura.int32, neura.float16, neura.float64))
    for data, dtype in (
        ([i], neura.int32),
        ([i, 2], neura.int64),
        ([i, 2.5], neura.float32),
        ([[h], [3]], neura.float16),
        ([h, 1.0], neura.float32),
        ([d, 1.0], neura.float64),
        ([h, d], neura.float64),
        ([neura.ones(1, dtype=neura.uint8)], neura.uint8),
        ([neura.tensor(True), i], neura.int32),
        ([d, 1j], neura.complex128),
    ):
        assert neura.tensor(data).dtype is dtype, data
    assert neura.tensor([i, h], dtype=neura.int8).tolist() == [1, 1]
    assert neura.tensor([np.ones(2), [2, 3]]).tolist() == [[1, 1], [2, 3]]


def test_a_tensor_of_one_element_is_a_number_in_a_sequence():
    one, whole = neura.ones(1), neura.ones(1, 1, dtype=neura.int32)
    assert neura.tensor([one, one]).shape == (2,) and neura.tensor([whole, one]).tolist() == [1, 1]
    assert neura.tensor([one, 2]).tolist() == [1, 2] and neura.tensor([2, neura.ones(1)]).tolist() == [2, 1]
    assert neura.tensor([[one, 2], [3, whole]]).tolist() == [[1, 2], [3, 1]]
    assert neura.tensor([whole]).dtype is neura.int32 and neura.tensor(([one], [one])).shape == (2, 1)
    assert neura.as_tensor([one, one]).shape == neura.Tensor([one, one]).shape == one.new_tensor([one, one]).shape
    assert neura.as_tensor([one, one]).shape == (2,)
    assert neura.tensor([[1.0], one]).tolist() == [[1], [1]]  # the first element says how deep it goes
    for ragged in ([one, neura.ones(2)], [1, neura.ones(2)], [neura.ones(0), one]):
        with pytest.raises(ValueError):
            neura.tensor(ragged)


def test_many_tensors_come_and_go():
    kept = [neura.tensor(float(i)) for i in range(5000)]
    for i in range(0, 5000, 3):
        kept[i] = None
    assert all(t is None or t.contiguous() is t for t in kept)
    assert all(t is None or t.item() == i for i, t in enumerate(kept))


def test_arrays_share_memory():
    a = np.arange(6.0).reshape(2, 3)
    x = neura.from_numpy(a)
    x[0, 0] = 9
    assert a[0, 0] == 9
    b = x.T.numpy()
    b[2, 1] = -1
    assert x[1, 2].item() == -1
    del a, x
    assert b[2, 1] == -1


def test_indexing_as_numpy():
    a = np.arange(24).reshape(2, 3, 4)
    x = neura.from_numpy(a)
    for key in [0, (..., 1), (slice(None), None, 1), (0, [0, 2]), (slice(None), slice(0, 3, 2)), ([0, 1], ..., [1, 2])]:
        assert np.array_equal(x[key].numpy(), a[key]), key
    mask = a % 3 == 0
    assert np.array_equal(x[neura.from_numpy(mask)].numpy(), a[mask])
    with pytest.raises(IndexError):
        x[5]


def listed(key):
    with pytest.warns(UserWarning, match=r"write x\[tuple\(indices\)\]"):
        return neura.arange(24).view(2, 3, 4)[key].tolist()


def test_a_list_of_indices_counts_as_a_tuple():
    x = neura.arange(24).view(2, 3, 4)
    i, j = neura.tensor([0, 1]), neura.tensor([1, 0])
    for key in ([[0, 1], [1, 0]], [i, j], [i.numpy(), j.numpy()], [(0, 1), [1, 0]], [range(2), (1, 0)]):
        assert listed(key) == x[i, j].tolist(), key
    mixed = ([slice(0, 1), 1], [..., 1], [None], [...], [i[0], 1], [[0, 1], 1], [np.array(0), 1], [[[0, 1], [1, 0]]])
    for key in mixed:
        assert listed(key) == x[tuple(key)].tolist(), key
    assert listed([[]]) == [] and listed([[0]]) == x[:1].tolist()
    for key in ([0, 1], [True, False], [0] * 40, [np.int64(0), 1], range(2), [], [[0]] * 32):
        assert x[key].tolist() == x[neura.tensor(key, dtype=None if key else neura.int64)].tolist(), key
    with pytest.raises(IndexError), pytest.warns(UserWarning):
        x[[[0]] * 31]


def test_a_list_of_indices_is_written_as_a_tuple():
    x = neura.arange(24).view(2, 3, 4)
    with pytest.warns(UserWarning):
        x[[[0, 1], [1, 0]]] = -neura.ones(2, 4, dtype=neura.int64)
    assert (x == -1).nonzero()[:, :2].tolist() == [[0, 1]] * 4 + [[1, 0]] * 4
    with pytest.warns(UserWarning):
        x[[slice(0, 1), 2]] = 50
    assert x[0, 2].tolist() == [50] * 4 and (x == 50).sum() == 4


def test_another_ellipsis_behind_all_indices():
    x = neura.arange(24).view(2, 3, 4)
    assert x[..., ...].equal(x) and x[..., 0, ...].equal(x[..., 0]) and x[..., None, ..., ...].equal(x[..., None])
    x[..., 0, ...] = -1
    assert (x == -1).sum() == 6


def test_numbers_are_weak():
    x = neura.ones(2, dtype=neura.float16)
    assert (x + 1.5).dtype is neura.float16
    assert (2**x).dtype is neura.float16
    assert (neura.ones(2, dtype=neura.int64) + 1.5).dtype is neura.float32
    assert repr(neura.float32) == "neura.float32" and str(neura.float32).split(".")[-1] == "float32"


def test_errors_are_builtins_too():
    x = neura.ones(2, 3)
    for call, kinds in [
        (lambda: x.view(5), (RuntimeError, neura.errors.ShapeError)),
        (lambda: neura.softmax(x, 4), (IndexError, neura.errors.IndexError)),
        (lambda: x @ x, (RuntimeError, neura.errors.ShapeError)),
        (lambda: neura.add(1, 2), (TypeError,)),
        (lambda: neura.sum(x, dmi=1), (TypeError,)),
        (lambda: neura.tensor([[1], [2, 3]]), (ValueError,)),
        (lambda: neura.device("nowhere"), (RuntimeError,)),
        (lambda: bool(x), (RuntimeError, ValueError)),
    ]:
        for kind in kinds:
            with pytest.raises(kind):
                call()


def test_modes():
    x = neura.ones(2, requires_grad=True)
    with neura.no_grad():
        assert not (x * 2).requires_grad
        with neura.enable_grad():
            assert (x * 2).requires_grad

    @neura.no_grad()
    def double(v):
        return v * 2

    assert not double(x).requires_grad and (x * 2).requires_grad
    with neura.inference_mode():
        assert neura.is_inference_mode_enabled()
    with neura.set_grad_enabled(False):
        assert not neura.is_grad_enabled()
    assert neura.is_grad_enabled()


def test_hooks_and_gradients():
    x = neura.tensor([1.0, 2.0], requires_grad=True)
    handle = x.register_hook(lambda g: g * 10)
    (x * x).sum().backward()
    assert x.grad.tolist() == [20.0, 40.0]
    handle.remove()
    x.grad = None
    (x * x).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]
    (g,) = neura.autograd.grad((x**3).sum(), x, create_graph=True)
    (h,) = neura.autograd.grad(g.sum(), x)
    assert h.tolist() == [6.0, 12.0]


def test_import_leaves_numpy_alone():
    code = "import sys, neura; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_subclasses_and_attributes():
    class Named(neura.Tensor):
        __slots__ = ("label",)

    x = Named(neura.ones(2))
    x.label = "a"
    x.note = x  # a cycle
    assert isinstance(x, neura.Tensor) and x.label == "a" and (x + 1).tolist() == [2.0, 2.0]
    seen = weakref.ref(x)
    del x
    gc.collect()
    assert seen() is None


def test_wrong_self_and_first_argument():
    for call in [
        lambda: neura.Tensor.numpy(1),
        lambda: neura.Tensor.requires_grad_(1),
        lambda: neura.xlogy_(1, neura.ones(2)),
        lambda: neura.add("a", 1),
    ]:
        with pytest.raises(TypeError):
            call()


def test_facts_under_torchs_names():
    x = neura.arange(6.0).view(2, 3)
    assert x.shape.numel() == 6 and x.size() == x.shape and x.ndim == 2 and x.nbytes == 24 and x.itemsize == 4
    assert x._is_view() and not x.clone()._is_view() and x.is_set_to(x.view(2, 3)) and not x.is_set_to(x.T)
    assert x.T.dim_order() == (1, 0) and not x.is_sparse and x.output_nr == 0 and not x.is_conj()
    assert x.layout is neura.strided
    assert repr(neura.finfo(neura.float32)) == (
        "finfo(resolution=1e-06, min=-3.40282e+38, max=3.40282e+38, eps=1.19209e-07, smallest_normal=1.17549e-38, "
        "tiny=1.17549e-38, dtype=float32)"
    )
    assert neura.iinfo(neura.int8).min == -128 and neura.iinfo(neura.uint8).max == 255
    for d in (neura.float16, neura.bfloat16, neura.float32, neura.float64):
        f = neura.finfo(d)
        assert neura.tensor(f.max, dtype=d).item() == f.max and neura.tensor(f.tiny, dtype=d).item() == f.tiny
        one = neura.ones((), dtype=d)
        assert (one + f.eps).item() > 1 and (one + f.eps / 2).item() == 1
    with pytest.raises(TypeError):
        neura.finfo(neura.int8)


def test_pythons_own_questions():
    x = neura.tensor(1.5)
    assert f"{x:.3f}" == "1.500" and f"{neura.tensor(3)}" == "3" and f"{neura.ones(2)}" == "tensor([1., 1.])"
    with pytest.raises(TypeError):
        f"{neura.ones(2):.3f}"
    assert complex(neura.tensor(1 + 2j)) == 1 + 2j and int(neura.tensor(1.7)) == 1
    with pytest.raises(RuntimeError):
        float(neura.tensor(1 + 2j))
    assert [v.item() for v in reversed(neura.arange(3))] == [2, 1, 0] and 2 in neura.arange(3)
    with pytest.raises(RuntimeError):
        "a" in neura.arange(3)
    assert [1, 2, 3][neura.tensor(1)] == 2 and list(range(neura.tensor(2))) == [0, 1]
    with pytest.raises(TypeError):
        [1, 2][neura.tensor(1.0)]


def test_memory_formats():
    x = neura.arange(24.0).view(1, 2, 3, 4)
    y = x.to(memory_format=neura.channels_last)
    assert y.stride() == (24, 1, 8, 2) and neura.equal(x, y) and not y.is_contiguous()
    assert y.is_contiguous(memory_format=neura.channels_last) and y.contiguous().stride() == x.stride()
    assert x.contiguous(memory_format=neura.channels_last).stride() == y.stride()
    empty = neura.empty(2, 3, 4, 5, memory_format=neura.channels_last, requires_grad=True)
    assert empty.stride() == (60, 1, 15, 3) and empty.is_leaf and empty.requires_grad
    with pytest.raises(RuntimeError, match="4 dimensions"):
        neura.ones(2).contiguous(memory_format=neura.channels_last)
    assert repr(neura.channels_last) == "neura.channels_last"


def test_out_of_functions_that_are_no_rows():
    x, out = neura.arange(6.0).view(2, 3), neura.empty(0)
    assert neura.sum(x, 1, out=out) is out and out.tolist() == [3, 12]
    assert neura.matmul(x, x.T, out=out) is out and out.shape == (2, 2)
    part, many = neura.zeros(2, 4, 2, 2)[1], neura.ones(4, 2, 3)
    assert neura.matmul(many, x.T, out=part) is part and neura.equal(part, many @ x.T)
    assert neura.cat([x, x], out=out).shape == (4, 3)
    values, indices = neura.empty(0), neura.empty(0, dtype=neura.int64)
    result = neura.max(x, 1, out=(values, indices))
    assert result.values is values and result.indices is indices and indices.tolist() == [2, 2]
    assert neura.add(x, 1, alpha=2, out=out) is out and out[0].tolist() == [2, 3, 4]
    wide = neura.zeros(3, dtype=neura.float64)
    assert neura.sum(x, 0, out=wide) is wide and wide.dtype is neura.float64
    zero = neura.stack([neura.tensor(-0.0)], out=neura.empty(1))
    assert str(zero[0].item()) == "-0.0"
    for call, error in [
        (lambda: neura.sum(x, out=neura.zeros(1, dtype=neura.int64)), TypeError),
        (lambda: neura.sum(x, out=3), TypeError),
        (lambda: neura.sum(x.requires_grad_(), out=neura.zeros(1)), RuntimeError),
        (lambda: neura.sum(x, out=neura.zeros(1), nonsense=1), TypeError),
    ]:
        with pytest.raises(error):
            call()
    assert neura.sum(x, out=None).item() == 15 and neura.sum.__name__ == "sum" and neura.sum.__doc__


def test_data_can_be_replaced():
    p = neura.zeros(2, requires_grad=True)
    new = neura.tensor([1.0, 2.0])
    p.data = new
    assert p.tolist() == [1, 2] and p.requires_grad and p.is_leaf and p.data_ptr() == new.data_ptr()
    p.data = neura.ones(3)  # another shape, and the gradient follows
    (p * 2).sum().backward()
    assert p.grad.tolist() == [2, 2, 2]
    p.data.mul_(5)
    assert p.tolist() == [5, 5, 5]
    for wrong in (1, None, neura.ones(2, dtype=neura.int64)):
        with pytest.raises((TypeError, ValueError, RuntimeError)):
            p.data = wrong
    with pytest.raises(RuntimeError):
        (p * 2).data = new


def test_a_timer_ends_whatever_its_clock_says():
    Timer = neura.utils.benchmark.Timer
    with pytest.raises(ValueError, match="expected a timer that advances"):
        Timer("pass", timer=lambda: 1.0).blocked_autorange()
    ticks = iter(range(10**9))
    slow = Timer("pass", timer=lambda: next(ticks) * 1e-7).adaptive_autorange(threshold=-1, min_run_time=1e-5)
    assert 10_000 <= len(slow.times) < 20_000
    assert len(Timer("pass").adaptive_autorange(max_run_time=0.1).times) > 3


def test_integers_beyond_int64_are_compared_or_refused():
    x = neura.tensor([2.0**63, 1.0])
    assert (x == 2**63).tolist() == [True, False] and (x != 2**63).tolist() == [False, True]
    assert (x < 10**20).tolist() == [True, True] and (x > -(2**70)).tolist() == [True, True]
    for op in ("__eq__", "__ne__", "__lt__"):
        with pytest.raises(OverflowError, match="int64 holds"):
            getattr(neura.tensor([1, 2]), op)(2**63)
        with pytest.raises(OverflowError):
            getattr(x, op)(10**400)


def test_a_real_result_takes_no_complex_gradient():
    w = neura.ones(2, requires_grad=True)
    with pytest.raises(TypeError, match="expected a gradient of real numbers"):
        (w * 2).backward(neura.ones(2, dtype=neura.complex64))
    assert w.grad is None


def test_a_weight_does_not_make_a_loss_larger():
    F, x = neura.nn.functional, neura.full((3,), 0.5)
    for call in (
        lambda: F.binary_cross_entropy(x, x, weight=neura.ones(3, 1)),
        lambda: F.binary_cross_entropy_with_logits(x, x, weight=neura.ones(3, 1)),
        lambda: F.binary_cross_entropy_with_logits(x, x, pos_weight=neura.ones(3, 1)),
    ):
        with pytest.raises(RuntimeError, match="broadcasts to the input's sizes"):
            call()
    square = x.expand(3, 3)
    assert F.binary_cross_entropy(square, square, weight=neura.ones(3, 1)).shape == ()


def test_tensors_in_sequences_are_numbers():
    one = neura.ones(1)
    assert neura.tensor([neura.tensor(1.5), 2]).tolist() == [1.5, 2]
    assert neura.tensor([[one], [neura.ones(1, 1)]]).tolist() == [[1], [1]]
    for data in ([neura.ones(2), neura.ones(2)], [neura.ones(0)], [1, neura.ones(2)], (neura.ones(2, 2),)):
        for make in (neura.tensor, neura.as_tensor, neura.Tensor):
            with pytest.raises(ValueError, match="tensor: expected tensors of one element in a sequence, got float32"):
                make(data)
    arrays = [np.ones(2), neura.ones(2)]  # NumPy's then: to it a tensor is an array
    assert neura.tensor(arrays).tolist() == [[1, 1], [1, 1]] and neura.tensor(arrays).dtype is neura.float64


def test_a_number_as_a_tensor_fills_where_a_mask_says_so():
    mask = neura.tensor([True, False, True])
    x = neura.zeros(3)
    x[mask] = neura.tensor(3)
    assert x.tolist() == [3, 0, 3] and x.dtype is neura.float32
    x[x == 0] = neura.tensor([True])
    assert x.tolist() == [3, 1, 3]
    whole = neura.zeros(3, dtype=neura.int64)
    whole[mask] = neura.tensor(2.5)
    assert whole.tolist() == [2, 0, 2]
    with pytest.raises(neura.errors.DTypeError, match="index_put: expected a value of the dtype of self"):
        x[mask] = neura.tensor(1j)
    with pytest.raises(neura.errors.DTypeError, match="index_put: expected a value of the dtype of self"):
        x[neura.tensor([0, 1])] = neura.tensor(3)


def test_ldexp_has_the_dtype_of_its_input_and_its_range():
    x, n = neura.tensor([1e-30, 1e30, 3.0]), neura.tensor([200, -200, 2])
    assert neura.ldexp(x, n).tolist() == pytest.approx([1.6069380e30, 6.2230153e-31, 12.0], rel=1e-6)
    for dtype in (neura.float16, neura.bfloat16, neura.float64, neura.complex64):
        for whole in (neura.int8, neura.int64):
            y = neura.ldexp(neura.tensor([1.5, 3], dtype=dtype), neura.tensor([2, -1], dtype=whole))
            assert y.dtype is dtype and y.tolist() == [6, 1.5]
            assert neura.ldexp(neura.tensor(1.5, dtype=dtype), neura.tensor([2], dtype=whole)).dtype is dtype
    assert neura.ldexp(neura.tensor([3]), neura.tensor([2])).dtype is neura.float32
    w = neura.tensor([1.5], requires_grad=True)
    neura.ldexp(w, neura.tensor([3])).backward()
    assert w.grad.tolist() == [8]


def test_unbind_of_no_dimension_is_an_index_error():
    with pytest.raises(IndexError, match="unbind: expected a tensor with dimensions, got a 0-d one"):
        neura.tensor(1.0).unbind()
