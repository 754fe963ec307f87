"""Selecting and assigning with masks; rows by a mask of rows."""

from fixed import noise


def run(torch):
    x = noise(torch, 5, 4)
    mask = x > 0.2
    selected = x[mask]
    rows = x[mask.any(1)]
    y = x.clone()
    y[y < 0] = 0
    y[mask] *= 10
    z = x.clone()
    z[mask.sum(1) >= 2] = torch.arange(4.0)
    z[torch.tensor([True, False, False, True, False]), 1] = -9
    return {
        "selected": selected,
        "rows": rows,
        "y": y,
        "z": z,
        "count": mask.sum().item(),
        "same": torch.equal(selected, x.masked_select(mask)),
        "positions": mask.nonzero(),
        "as_tuple": mask.nonzero(as_tuple=True),
        "filled": x.masked_fill(~mask, 0.0),
    }
