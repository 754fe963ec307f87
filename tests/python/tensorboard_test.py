"""Event files hold what was added: read back by a reader of records and messages of its own."""

import pathlib
import struct
import zlib

import neura
import pytest
from neura.utils.tensorboard import SummaryWriter
from neura.utils.tensorboard._records import masked_crc


def records(path):
    data, at = path.read_bytes(), 0
    while at < len(data):
        (size, crc) = struct.unpack_from("<QI", data, at)
        assert crc == masked_crc(data[at : at + 8])
        body = data[at + 12 : at + 12 + size]
        assert struct.unpack_from("<I", data, at + 12 + size) == (masked_crc(body),)
        yield body
        at += 16 + size


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
        if byte < 128:
            return value, at


def fields(data):
    """{field: [values]} of a message; what has a length stays bytes."""
    found, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            size, at = varint(data, at)
            value, at = data[at : at + size], at + size
        else:
            form, size = {1: ("<d", 8), 5: ("<f", 4)}[key & 7]
            (value,), at = struct.unpack_from(form, data, at), at + size
        found.setdefault(key >> 3, []).append(value)
    return found


def summaries(folder):
    """(tag, step, fields of the value) of all files of a directory."""
    for path in sorted(pathlib.Path(folder).glob("events*")):
        first, *events = [fields(record) for record in records(path)]
        assert first[3] == [b"brain.Event:2"] and first[1][0] > 1e9
        for event in events:
            for value in fields(event[5][0])[1]:
                value = fields(value)
                yield value[1][0].decode(), event.get(2, [0])[0], value


def written(tmp_path, add):
    with SummaryWriter(tmp_path) as writer:
        add(writer)
    return list(summaries(tmp_path))


def test_checksum():
    # CRC-32C of "123456789" is 0xE3069283 (RFC 3720's polynomial)
    crc = 0xE3069283
    assert masked_crc(b"123456789") == ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def test_ten_steps_of_a_curve(tmp_path):
    losses = [1 / (step + 1) for step in range(10)]

    def add(writer):
        for step, loss in enumerate(losses):
            writer.add_scalar("train/loss", neura.tensor([loss]) if step % 2 else loss, step)

    got = written(tmp_path, add)
    assert [(tag, step) for tag, step, _ in got] == [("train/loss", step) for step in range(10)]
    assert [value[2][0] for *_, value in got] == pytest.approx(losses, rel=1e-6)


def test_time_and_a_step_of_many_bits(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("x", 1e300, 2**40, walltime=12.5)
    event = fields(list(records(next(tmp_path.glob("events*"))))[1])
    assert event[1] == [12.5] and event[2] == [2**40]
    assert fields(fields(event[5][0])[1][0])[2] == [float("inf")]


def test_several_curves(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalars("a/b", {"x": 1, "y": 2}, 3)
    for name, value in (("x", 1), ("y", 2)):
        ((tag, step, got),) = summaries(tmp_path / f"a_b_{name}")
        assert (tag, step, got[2]) == ("a/b", 3, [value])


@pytest.mark.parametrize("bins", ["tensorflow", "auto", 4, [0.0, 1.0, 2.0, 5.0]])
def test_histograms(tmp_path, bins):
    x = neura.tensor([0.0, 0.5, 1.0, 1.0, 3.0, 5.0])
    ((tag, step, value),) = written(tmp_path, lambda writer: writer.add_histogram("h", x, 7, bins=bins))
    h = fields(value[5][0])
    assert (tag, step) == ("h", 7) and h[1] + h[2] + h[3] + h[4] + h[5] == [0, 5, 6, 10.5, 36.25]
    limits, counts = (struct.unpack(f"<{len(h[k][0]) // 8}d", h[k][0]) for k in (6, 7))
    assert len(limits) == len(counts) and sum(counts) == 6 and list(limits) == sorted(limits)
    for i in range(1, len(limits)):  # each bin up to its limit, the last with it
        last = limits[i] == 5
        assert counts[i] == sum(limits[i - 1] <= v < limits[i] or last and v == 5 for v in x.tolist())


def pixels(data):
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, chunks = 8, {}
    while at < len(data):
        (size,), kind = struct.unpack_from(">I", data, at), data[at + 4 : at + 8]
        chunks[kind] = data[at + 8 : at + 8 + size]
        assert struct.unpack_from(">I", data, at + 8 + size) == (zlib.crc32(kind + chunks[kind]),)
        at += 12 + size
    width, height, bits, color = struct.unpack_from(">IIBB", chunks[b"IHDR"])
    rows, stride = zlib.decompress(chunks[b"IDAT"]), 1 + width * {0: 1, 2: 3}[color]
    assert bits == 8 and all(rows[y * stride] == 0 for y in range(height))
    return [list(rows[y * stride + 1 : (y + 1) * stride]) for y in range(height)]


def test_pictures(tmp_path):
    x = neura.tensor([[[0.0, 0.5], [1.0, 2.0]]])

    def add(writer):
        writer.add_image("gray", x)
        writer.add_image("colors", (neura.arange(12).reshape(2, 2, 3)).to(neura.uint8), dataformats="HWC")
        writer.add_images("grid", neura.ones(9, 1, 1, 1))

    gray, colors, grid = [fields(value[4][0]) for *_, value in written(tmp_path, add)]
    assert gray[1] + gray[2] == [2, 2] and pixels(gray[4][0]) == [[0, 127], [255, 255]]
    assert pixels(colors[4][0]) == [list(range(6)), list(range(6, 12))]
    assert grid[1] + grid[2] == [2, 8] and pixels(grid[4][0]) == [[255] * 8, [255] + [0] * 7]


def test_text_and_settings(tmp_path):
    ((tag, _, value),) = written(tmp_path, lambda writer: writer.add_text("note", "**höher**", 1))
    assert tag == "note/text_summary" and fields(value[8][0])[8] == ["**höher**".encode()]
    assert fields(fields(value[9][0])[1][0])[1] == [b"text"]
    with SummaryWriter(tmp_path) as writer:
        writer.add_hparams({"lr": 0.1, "bn": True, "opt": "adam"}, {"acc": 0.5}, {"lr": [0.1, 1.0]}, run_name="one")
        with pytest.raises(TypeError, match="lr to be a bool, a number or a str"):
            writer.add_hparams({"lr": [1]}, {})
    got = {tag: value for tag, _, value in summaries(tmp_path / "one")}
    assert got["acc"][2] == [0.5] and len(got) == 4
    start = fields(fields(fields(got["_hparams_/session_start_info"][9][0])[1][0])[2][0])[3][0]
    assert {fields(e)[1][0].decode(): fields(fields(e)[2][0]) for e in fields(start)[1]} == {
        "lr": {2: [0.1]},
        "bn": {4: [1]},
        "opt": {3: [b"adam"]},
    }


def test_what_is_refused(tmp_path):
    writer = SummaryWriter(tmp_path)
    with pytest.raises(ValueError, match="one element"):
        writer.add_scalar("x", neura.ones(2))
    with pytest.raises(ValueError, match="got none"):
        writer.add_histogram("x", neura.ones(0))
    with pytest.raises(ValueError, match="inf or nan"):
        writer.add_histogram("x", neura.tensor([1.0, float("nan")]))
    with pytest.raises(neura.errors.ShapeError, match="dimensions 'CHW'"):
        writer.add_image("x", neura.ones(2, 2))
    with pytest.raises(neura.errors.ShapeError, match="1 to 4 channels"):
        writer.add_image("x", neura.ones(5, 2, 2))
    with pytest.raises(NotImplementedError, match="add_graph"):
        writer.add_graph(None)
    writer.close()
    with pytest.raises(ValueError, match="closed"):
        writer.add_scalar("x", 1)
    assert list(summaries(tmp_path)) == []


def test_flush_and_where_files_go(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    writer = SummaryWriter(comment="_lr")
    writer.add_scalar("x", 1)
    writer.flush()
    (folder,) = (tmp_path / "runs").iterdir()
    assert folder.name.endswith("_lr") and len(list(summaries(folder))) == 1
    writer.close()
