"""Tensors that share bytes, also in part, share them again when they are loaded, and the file has these bytes once."""

import io
import os

import neura
import pytest


def through_a_file(tensors):
    file = io.BytesIO()
    neura.save(tensors, file)
    return neura.load(file.getvalue())


def z():
    return neura.arange(12.0)


PAIRS = {
    "another shape": lambda z: [z, z.view(3, 4)],
    "another shape first": lambda z: [z.view(3, 4), z],
    "a slice": lambda z: [z, z[3:6]],
    "a slice first": lambda z: [z[3:6], z],
    "overlapping slices": lambda z: [z[:8], z[4:]],
    "a transposed matrix": lambda z: [z.view(3, 4), z.view(3, 4).t()],
    "transposed matrices alone": lambda z: [z.view(3, 4).t(), z.view(3, 4).t()[1:]],
    "strides": lambda z: [z[::2], z[::4], z[2::3]],
    "an expanded element": lambda z: [z, z[1].expand(5)],
    "a 0-d tensor": lambda z: [z, z[5]],
    "a detached one": lambda z: [z.requires_grad_(), z.detach()],
    "a chain": lambda z: [z[0:5], z[4:9], z[8:12]],
    "a complex tensor and its parts": lambda z: [neura.view_as_complex(z.view(6, 2)), z],
}


@pytest.mark.parametrize("make", PAIRS.values(), ids=PAIRS)
def test_what_shares_bytes_shares_them_again(make):
    before = make(z())
    after = through_a_file(before)
    for a, b in zip(before, after):
        assert (a.dtype, a.shape, a.requires_grad) == (b.dtype, b.shape, b.requires_grad)
        assert a.stride() == b.stride() or a is before[0]
        assert a.tolist() == b.tolist()
    with neura.no_grad():  # a write to one is seen by the others, as before
        for tensors in (before, after):
            at = tensors[0].view(-1) if tensors[0].is_contiguous() else tensors[0]
            at[-1] = 77
            tensors[0].copy_(tensors[0] + 100)
    for a, b in zip(before, after):
        assert a.tolist() == b.tolist()


def test_shared_bytes_are_written_once(tmp_path):
    x = neura.zeros(100_000)
    neura.save([x, x.view(100, 1000), x[7:], x[:-7]], tmp_path / "x")
    assert os.path.getsize(tmp_path / "x") < 402_000
    neura.save([x[:60_000], x[40_000:]], tmp_path / "x")
    assert os.path.getsize(tmp_path / "x") < 402_000


def test_neighbours_that_share_nothing_are_apart(tmp_path):
    x = neura.arange(6.0)
    neura.save([x[:3], x[3:]], tmp_path / "x")
    assert os.path.getsize(tmp_path / "x") < 1000
    a, b = neura.load(tmp_path / "x")
    a.zero_()
    assert b.tolist() == [3, 4, 5]


def test_the_names_are_those_of_the_whole_tensors():
    x = neura.arange(6.0)
    file = io.BytesIO()
    neura.save({"part": x[2:], "whole": x}, file)
    assert neura.safetensors.load(file.getvalue()).keys() == {"whole"}


def test_a_mapped_file_shares_too(tmp_path):
    x = z()
    neura.save([x[:8], x[4:], x], tmp_path / "x")
    a, b, c = neura.load(tmp_path / "x", mmap=True)
    c[5] = -1
    assert a[5].item() == -1 and b[1].item() == -1


def test_one_object_stays_one():
    part = z()[2:5]
    after = through_a_file({"a": part, "b": part, "z": part._base})
    assert after["a"] is after["b"]


@pytest.mark.parametrize(
    "view",
    [
        '{"of":"w","dtype":"float32","offset":0,"size":[9],"stride":[1]}',
        '{"of":"w","dtype":"float32","offset":-1,"size":[1],"stride":[1]}',
        '{"of":"w","dtype":"float32","offset":1,"size":[2,2],"stride":[9223372036854775807,1]}',
        '{"of":"w","dtype":"float31","offset":0,"size":[1],"stride":[1]}',
        '{"of":"v","dtype":"float32","offset":0,"size":[1],"stride":[1]}',
        '{"of":["w"],"dtype":"float32","offset":0,"size":[1],"stride":[1]}',
        '{"of":"w","dtype":"bool","offset":0,"size":[16],"stride":[1]}',
        '{"of":"w","dtype":"float32","offset":0,"size":[1]}',
        '{"of":"w","dtype":"float32","offset":0,"size":3,"stride":[1]}',
        "[]",
        "3",
    ],
)
def test_damaged_views_are_format_errors(view):
    data = neura.safetensors.save({"w": neura.full((4,), 1.5)}, {"neura.value": '{"view":%s}' % view})
    with pytest.raises(neura.errors.FormatError, match="damaged"):
        neura.load(data)
