"""What a summary holds, as bytes: numbers, histograms, pictures, text."""

import functools
import struct
import zlib

import neura

from ..._neura import errors
from . import _records as r


def number(x, op):
    """A float of a number, an array or a tensor of one element."""
    try:
        return float(x.item() if hasattr(x, "item") else x)
    except (TypeError, ValueError, RuntimeError) as error:
        raise errors.ValueError(f"{op}: expected a number or a tensor of one element, got {x!r}") from error


def scalar(tag, x):
    x = number(x, "add_scalar")
    try:
        return r.value(tag, r.single(2, x))
    except OverflowError:  # beyond float32
        return r.value(tag, r.single(2, float("inf") if x > 0 else float("-inf")))


def tensor_of(values, op):
    if isinstance(values, neura.Tensor):
        return values.detach().cpu()
    try:
        return neura.as_tensor(values)
    except (TypeError, ValueError, RuntimeError) as error:
        raise errors.ValueError(f"{op}: expected a tensor, an array or numbers, got {type(values).__name__}") from error


@functools.cache
def _default_edges():
    """Bounds that grow by a tenth, from 1e-12 to 1e20, on both sides of 0."""
    edges, v = [], 1e-12
    while v < 1e20:
        edges.append(v)
        v *= 1.1
    return [-v for v in reversed(edges)] + [0.0] + edges


def histogram(tag, values, bins, max_bins):
    x = tensor_of(values, "add_histogram").double().flatten()
    if not x.numel():
        raise errors.ValueError("add_histogram: expected values, got none")
    if not bool(neura.isfinite(x).all()):
        raise errors.ValueError("add_histogram: expected finite values, got inf or nan among them; filter them first")
    low, high = x.min().item(), x.max().item()
    if bins == "tensorflow":
        edges = _default_edges()
    elif isinstance(bins, int) or bins == "auto":
        n = bins if isinstance(bins, int) else min(max_bins or 512, max(1, int(x.numel() ** 0.5)))
        wide = (high - low) or 1.0
        edges = [low + wide * i / n for i in range(n)] + [high if high > low else low + 1.0]
    elif isinstance(bins, str):
        raise errors.ValueError(f'add_histogram: expected bins "tensorflow", "auto", a number or bounds, got {bins!r}')
    else:
        edges = sorted(float(b) for b in bins)
    places = neura.searchsorted(neura.tensor(edges, dtype=neura.float64), x, right=True)
    counts = neura.bincount(places, minlength=len(edges) + 1).tolist()
    counts[len(edges) - 1] += counts.pop() if edges[-1] == high else 0  # the last bin holds its upper bound
    limits = edges + ([max(high, edges[-1])] if len(counts) > len(edges) else [])
    used = [i for i, n in enumerate(counts) if n]
    first, last = max(used[0] - 1, 0), used[-1] + 1
    data = r.double(1, low) + r.double(2, high) + r.double(3, x.numel()) + r.double(4, x.sum().item())
    data += r.double(5, (x * x).sum().item()) + r.doubles(6, limits[first:last]) + r.doubles(7, counts[first:last])
    return r.value(tag, r.message(5, data))


def _chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(x):
    """uint8 [height, width, channels] as a PNG file."""
    height, width, channels = x.shape
    rows = x.reshape(height, width * channels).numpy()
    lines = b"".join(b"\0" + row.tobytes() for row in rows)
    head = struct.pack(">IIBBBBB", width, height, 8, {1: 0, 2: 4, 3: 2, 4: 6}[channels], 0, 0, 0)
    body = _chunk(b"IHDR", head) + _chunk(b"IDAT", zlib.compress(lines)) + _chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def picture(x, dataformats, op):
    """uint8 [height, width, channels] of a picture or a batch, which becomes a grid; floats are from 0 to 1."""
    x, form = tensor_of(x, op), dataformats.upper()
    if sorted(form) not in (["H", "W"], ["C", "H", "W"], ["C", "H", "N", "W"]) or x.dim() != len(form):
        raise errors.ShapeError(
            f"{op}: expected a picture with the dimensions {dataformats!r}, got one of {list(x.shape)}; "
            "pass dataformats"
        )
    if len(form) == 2:
        x, form = x.unsqueeze(0), "C" + form
    if len(form) == 3:
        x, form = x.unsqueeze(0), "N" + form
    x = x.permute([form.index(c) for c in "NHWC"])
    if x.shape[3] not in (1, 2, 3, 4) or not x.numel():
        raise errors.ShapeError(f"{op}: expected 1 to 4 channels and at least one pixel, got {list(x.shape)} as NHWC")
    if x.dtype != neura.uint8:
        x = (x.float() * 255).clamp(0, 255).to(neura.uint8)
    n, height, width, channels = x.shape
    across = min(n, 8)
    down = -(-n // across)
    grid = neura.zeros(down * across, height, width, channels, dtype=neura.uint8)
    grid[:n] = x
    grid = grid.reshape(down, across, height, width, channels).permute(0, 2, 1, 3, 4)
    return grid.reshape(down * height, across * width, channels).contiguous()


def image(tag, x, dataformats):
    x = picture(x, dataformats, "add_image")
    data = r.integer(1, x.shape[0]) + r.integer(2, x.shape[1]) + r.integer(3, x.shape[2]) + r.message(4, png(x))
    return r.value(tag, r.message(4, data))


def text(tag, string):
    tensor = r.integer(1, 7) + r.message(2, r.message(2, r.integer(1, 1))) + r.message(8, string)
    return r.value(tag + "/text_summary", r.plugin("text") + r.message(8, tensor))
