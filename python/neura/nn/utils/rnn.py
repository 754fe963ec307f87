"""Sequences of different lengths: padded to one tensor, or packed without gaps for recurrent layers."""

from collections import namedtuple

from ... import _neura
from ..._neura import Tensor

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpad_sequence",
    "pack_sequence",
    "unpack_sequence",
]

_Fields = namedtuple("PackedSequence", ["data", "batch_sizes", "sorted_indices", "unsorted_indices"])


class PackedSequence(_Fields):
    """Sequences packed time step after time step; pack_sequence and pack_padded_sequence make it.

    data: [sum of lengths, ...], first the elements of time 0, from the longest sequence to the shortest, then those of
    time 1, and so on
    batch_sizes: int64 on the cpu, how many sequences have an element at each time
    sorted_indices, unsorted_indices: from the order given to that by length, and back; None if it is the same
    """

    __slots__ = ()

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
        if batch_sizes is None:
            if not isinstance(data, (list, tuple)) or len(data) != 2:
                raise TypeError("PackedSequence: expected batch_sizes, or data to be a pair of data and batch_sizes")
            data, batch_sizes = data
        if batch_sizes.device.type != "cpu":
            raise ValueError(f"PackedSequence: expected batch_sizes on the cpu, got {batch_sizes.device}")
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def _with(self, data, move):
        indices = [None if i is None else move(i) for i in (self.sorted_indices, self.unsorted_indices)]
        return type(self)(data, self.batch_sizes, *indices)

    def to(self, *args, **kwargs):
        """Converts or moves data, as Tensor.to does; the indices go with it. Itself if nothing changes."""
        data = self.data.to(*args, **kwargs)
        return self if data is self.data else self._with(data, lambda indices: indices.to(data.device))

    def cuda(self, *args, **kwargs):
        """Moves data to a GPU."""
        return self.to(*args, **kwargs) if args or kwargs else self.to("cuda")

    def cpu(self):
        """Moves data to the CPU."""
        return self.to("cpu")

    def double(self):
        """Converts data to float64."""
        return self.to(_neura.float64)

    def float(self):
        """Converts data to float32."""
        return self.to(_neura.float32)

    def half(self):
        """Converts data to float16."""
        return self.to(_neura.float16)

    def long(self):
        """Converts data to int64."""
        return self.to(_neura.int64)

    def int(self):
        """Converts data to int32."""
        return self.to(_neura.int32)

    def short(self):
        """Converts data to int16."""
        return self.to(_neura.int16)

    def char(self):
        """Converts data to int8."""
        return self.to(_neura.int8)

    def byte(self):
        """Converts data to uint8."""
        return self.to(_neura.uint8)

    @property
    def is_cuda(self):
        """True if data is on a GPU."""
        return self.data.is_cuda


def _lengths(lengths):
    return lengths if isinstance(lengths, Tensor) else _neura.as_tensor(lengths, dtype=_neura.int64, device="cpu")


def _sequences(function, sequences):
    if not hasattr(sequences, "__iter__"):
        raise TypeError(f"{function}: expected an iterable of tensors, got {type(sequences).__name__}")
    return tuple(sequences)


def invert_permutation(permutation):
    """The permutation that undoes this one, an int64 vector; None for None."""
    return None if permutation is None else _neura.utils._invert_permutation(permutation)


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    """One tensor of sequences [length, ...], which differ in their length alone: [longest, count, ...].

    batch_first: [count, longest, ...] instead
    padding_side: "right" or "left"

    Differentiable. Raises ShapeError for sizes that differ, ValueError for no sequences.

    >>> import neura
    >>> neura.nn.utils.rnn.pad_sequence([neura.tensor([1, 2, 3]), neura.tensor([4])], batch_first=True)
    tensor([[1, 2, 3],
            [4, 0, 0]])
    """
    sequences = _sequences("pad_sequence", sequences)
    return _neura.utils._pad_sequence(sequences, batch_first, padding_value, padding_side)


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    """The inverse of pad_sequence: a list of copies, of each sequence its first elements. Differentiable."""
    return list(_neura.utils._unpad_sequence(padded_sequences, _lengths(lengths), batch_first))


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    """A PackedSequence of input [longest, count, ...], or [count, longest, ...] with batch_first.

    lengths: from 1 to longest, one for each sequence: a list, or an integer vector
    enforce_sorted: the lengths must descend; otherwise they are sorted here

    Differentiable. Raises ShapeError for another count of lengths, ValueError for lengths out of range or order.

    >>> import neura
    >>> rnn = neura.nn.utils.rnn
    >>> packed = rnn.pack_padded_sequence(neura.tensor([[1, 4], [2, 5], [3, 0]]), [3, 2])
    >>> packed.data, packed.batch_sizes
    (tensor([1, 4, 2, 5, 3]), tensor([2, 2, 1]))
    """
    return PackedSequence(*_neura.utils._pack_padded_sequence(input, _lengths(lengths), batch_first, enforce_sorted))


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    """The padded tensor [longest, count, ...] of a PackedSequence, in the order that was packed, and the lengths.

    batch_first: [count, longest, ...] instead
    total_length: pad to this length instead, at least the longest; ValueError
    """
    return _neura.utils._pad_packed_sequence(*sequence, batch_first, padding_value, total_length)


def pack_sequence(sequences, enforce_sorted=True):
    """A PackedSequence of sequences [length, ...]: pad_sequence, then pack_padded_sequence.

    >>> import neura
    >>> neura.nn.utils.rnn.pack_sequence([neura.tensor([4]), neura.tensor([1, 2])], enforce_sorted=False).data
    tensor([1, 4, 2])
    """
    return PackedSequence(*_neura.utils._pack_sequence(_sequences("pack_sequence", sequences), enforce_sorted))


def unpack_sequence(packed_sequences):
    """The sequences of a PackedSequence as a list, in the order that was packed."""
    return list(_neura.utils._unpack_sequence(*packed_sequences))
