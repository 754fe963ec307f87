"""A rotated and moved image by affine_grid and grid_sample, with gradients."""

from fixed import noise


def run(torch):
    torch.set_default_dtype(torch.float64)
    F = torch.nn.functional
    image = noise(torch, 2, 1, 6, 6)
    angle = torch.tensor([0.3, -0.7], requires_grad=True)
    theta = torch.stack(
        [
            torch.stack([angle.cos(), -angle.sin(), 0 * angle + 0.1], -1),
            torch.stack([angle.sin(), angle.cos(), 0 * angle], -1),
        ],
        1,
    )
    grid = F.affine_grid(theta, image.shape, align_corners=False)
    out = F.grid_sample(image, grid, mode="bilinear", padding_mode="border", align_corners=False)
    out.square().sum().backward()
    return {
        "grid": grid,
        "out": out,
        "gradient": angle.grad,
        "nearest": F.grid_sample(image, grid, "nearest", "zeros", False),
    }
