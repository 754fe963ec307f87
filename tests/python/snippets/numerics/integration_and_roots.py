"""Trapezoids, Simpson's rule, Newton's method and bisection on batches."""


def run(torch):
    torch.set_default_dtype(torch.float64)
    x = torch.linspace(0, torch.pi, 21)
    y = torch.sin(x)
    simpson = (y[0] + y[-1] + 4 * y[1:-1:2].sum() + 2 * y[2:-1:2].sum()) * (x[1] - x[0]) / 3
    a = torch.tensor([2.0, 3.0, 10.0])
    root = a.clone()
    for _ in range(8):
        root = root - (root**3 - a) / (3 * root**2)
    low, high = torch.zeros(3), torch.full((3,), 4.0)
    for _ in range(50):
        middle = (low + high) / 2
        left = middle**3 < a
        low, high = torch.where(left, middle, low), torch.where(left, high, middle)
    return {
        "trapezoid": torch.trapezoid(y, x),
        "cumulative": torch.cumulative_trapezoid(y, dx=0.1)[-1],
        "simpson": simpson,
        "root": root,
        "bisected": low,
        "gradient": torch.gradient(y, spacing=(x,))[0][:5],
        "diff": torch.diff(y, n=2)[:4],
    }
