"""A moving average by a window view, by a convolution and by cumulative sums."""

from fixed import noise


def run(torch):
    series = noise(torch, 30).double().cumsum(0)
    k = 5
    windows = series.unfold(0, k, 1)
    by_window = windows.mean(1)
    kernel = torch.full((1, 1, k), 1 / k, dtype=torch.float64)
    by_conv = torch.nn.functional.conv1d(series.view(1, 1, -1), kernel).view(-1)
    c = torch.cat([torch.zeros(1, dtype=torch.float64), series.cumsum(0)])
    by_sum = (c[k:] - c[:-k]) / k
    assert torch.allclose(by_window, by_conv) and torch.allclose(by_window, by_sum)
    return {
        "average": by_window,
        "spread": windows.std(1),
        "median": windows.median(1).values,
        "change": series.diff(),
        "weights": torch.softmax(windows, 1)[::10],
    }
