"""A grid of pixel coordinates with radius and angle, as for coordinate networks."""


def run(torch):
    h, w = 4, 6
    ys, xs = torch.meshgrid(torch.linspace(-1, 1, h), torch.linspace(-1, 1, w), indexing="ij")
    grid = torch.stack([xs, ys], dim=-1)
    flat = grid.reshape(-1, 2)
    radius = torch.hypot(flat[:, 0], flat[:, 1]).view(h, w)
    angle = torch.atan2(ys, xs)
    bump = torch.exp(-4 * radius**2)
    return {
        "shape": grid.shape,
        "flat": flat[::5],
        "radius": radius,
        "angle": angle,
        "inside": int((radius < 0.8).sum()),
        "bump": bump,
        "centre_of_mass": (flat * bump.reshape(-1, 1)).sum(0) / bump.sum(),
    }
