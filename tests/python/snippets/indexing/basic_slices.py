"""Slices with steps, ellipsis, None, negative numbers; what has which shape."""


def run(torch):
    x = torch.arange(60).reshape(3, 4, 5)
    keys = {
        "row": x[1],
        "last": x[-1, -1, -1],
        "ellipsis": x[..., 0],
        "step": x[:, ::2, 1:4:2],
        "none": x[:, None, 0].shape,
        "many_none": x[None, ..., None].shape,
        "empty": x[2:1].shape,
        "beyond": x[1:100].shape,
        "tail": x[:, -2:],
        "item": x[0, 1, 2].item(),
    }
    a, b, c = x
    return {**keys, "unpacked": b.sum(), "length": len(x), "in": 59 in x, "not_in": 60 in x}
