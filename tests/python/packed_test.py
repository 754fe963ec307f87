"""neura.nn.utils.rnn: padded and packed sequences."""

import copy
import pickle

import neura
import pytest

rnn = neura.nn.utils.rnn


def three():
    return [neura.tensor([1, 2]), neura.tensor([3, 4, 5]), neura.tensor([6])]


def same(a, b):
    return len(a) == len(b) and all(neura.equal(x, y) for x, y in zip(a, b))


def test_padding():
    assert rnn.pad_sequence(three(), batch_first=True).tolist() == [[1, 2, 0], [3, 4, 5], [6, 0, 0]]
    left = rnn.pad_sequence(iter(three()), True, -1, "left")
    assert left.tolist() == [[-1, 1, 2], [3, 4, 5], [-1, -1, 6]]
    floats = rnn.pad_sequence([neura.ones(2), neura.ones(3)], padding_value=-1.0)
    assert floats.tolist() == [[1, 1], [1, 1], [-1, 1]]
    for batch_first in (False, True):
        padded = rnn.pad_sequence(three(), batch_first)
        for lengths in ([2, 3, 1], neura.tensor([2, 3, 1], dtype=neura.int32)):
            assert same(rnn.unpad_sequence(padded, lengths, batch_first), three())
        assert padded.tolist() == rnn.pad_sequence(three(), batch_first).tolist()


def test_packing():
    packed = rnn.pack_sequence(three(), enforce_sorted=False)
    assert repr(packed) == (
        "PackedSequence(data=tensor([3, 1, 6, 4, 2, 5]), batch_sizes=tensor([3, 2, 1]), "
        "sorted_indices=tensor([1, 0, 2]), unsorted_indices=tensor([1, 0, 2]))"
    )
    assert same(rnn.unpack_sequence(packed), three())
    padded, lengths = rnn.pad_packed_sequence(packed, batch_first=True, padding_value=7, total_length=4)
    assert padded.tolist() == [[1, 2, 7, 7], [3, 4, 5, 7], [6, 7, 7, 7]]
    assert lengths.tolist() == [2, 3, 1]
    sorted_ = rnn.pack_padded_sequence(neura.tensor([[3, 1], [4, 2], [5, 0]]), [3, 2])
    assert sorted_.data.tolist() == [3, 1, 4, 2, 5]
    assert sorted_.sorted_indices is None and sorted_.unsorted_indices is None


def test_gradients():
    x = neura.arange(1.0, 7).reshape(3, 2).requires_grad_()
    packed = rnn.pack_padded_sequence(x, [1, 3], enforce_sorted=False)
    padded, _ = rnn.pad_packed_sequence(packed._replace(data=packed.data**2))
    padded.sum().backward()
    assert x.grad.tolist() == [[2, 4], [0, 8], [0, 12]]


def test_a_packed_sequence_is_a_tuple_of_tensors():
    packed = rnn.pack_sequence(three(), enforce_sorted=False)
    assert packed.float().data.dtype == neura.float32 and packed.float().batch_sizes.dtype == neura.int64
    assert packed.to(neura.int64) is packed and packed.cpu() is packed and not packed.is_cuda
    for method, dtype in (("double", "float64"), ("half", "float16"), ("int", "int32"), ("byte", "uint8")):
        assert getattr(packed, method)().data.dtype is getattr(neura, dtype)
    for other in (copy.deepcopy(packed), pickle.loads(pickle.dumps(packed))):
        assert type(other) is rnn.PackedSequence and all(neura.equal(a, b) for a, b in zip(packed, other))
    made = rnn.PackedSequence((packed.data, packed.batch_sizes), sorted_indices=neura.tensor([2, 0, 1]))
    assert made.unsorted_indices.tolist() == [1, 2, 0]
    assert rnn.invert_permutation(None) is None


@pytest.mark.parametrize(
    "error, call",
    [
        (ValueError, lambda: rnn.pad_sequence([])),
        (TypeError, lambda: rnn.pad_sequence(3)),
        (TypeError, lambda: rnn.pad_sequence([neura.ones(2), 1])),
        (ValueError, lambda: rnn.pad_sequence([neura.ones(2), neura.ones(2, 3)])),
        (ValueError, lambda: rnn.pack_sequence(three())),
        (ValueError, lambda: rnn.pack_padded_sequence(neura.ones(3, 2), [3, 4])),
        (ValueError, lambda: rnn.pack_padded_sequence(neura.ones(3, 2), [3])),
        (TypeError, lambda: rnn.pack_padded_sequence(None, [3])),
        (TypeError, lambda: rnn.PackedSequence(neura.ones(2))),
        (TypeError, lambda: rnn.pad_packed_sequence((None, None, None, None))),
        (ValueError, lambda: rnn.pad_packed_sequence(rnn.pack_sequence([neura.ones(3)]), total_length=2)),
    ],
)
def test_mistakes_raise(error, call):
    with pytest.raises(error):
        call()
