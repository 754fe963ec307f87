"""Saving to and loading from a buffer in memory, several times."""

import io

from fixed import noise


def run(torch):
    x = noise(torch, 3, 4)
    buffer = io.BytesIO()
    torch.save({"x": x, "step": 5}, buffer)
    size = len(buffer.getvalue())
    buffer.seek(0)
    loaded = torch.load(buffer)
    buffer.seek(0)
    again = torch.load(buffer, weights_only=True)
    return {
        "x": loaded["x"],
        "step": loaded["step"],
        "same": torch.equal(again["x"], x),
        "own": loaded["x"].data_ptr() != x.data_ptr(),
        "size": size > x.numel() * 4,
    }
