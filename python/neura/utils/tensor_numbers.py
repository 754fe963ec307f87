"""A tensor as a few lines: what it is, and the distribution of its values."""

import math

from .._neura import Tensor, errors

__all__ = ["tensor_summary"]


def _shown(x):
    return f"{x}" if isinstance(x, (bool, int)) else f"{x:.6g}"


def _numbers(x):
    """(what, text) of the values; whatever is not finite is counted apart."""
    if x.numel() == 0:
        return [("values", "none")]
    if x.is_complex():
        return [(f"|x| {name}", text) for name, text in _numbers(x.abs())]
    if str(x.dtype) == "neura.bool":
        true = int(x.sum().item())
        return [("true", f"{true} of {x.numel()}, {100 * true / x.numel():.3g} %")]
    lines = []
    if x.is_floating_point():
        finite = x.isfinite()
        nan = int(x.isnan().sum().item())
        infinite = x.numel() - nan - int(finite.sum().item())
        if nan or infinite:
            lines.append(("not finite", f"{nan} NaN, {infinite} infinite, of {x.numel()}"))
            x = x[finite]
            if x.numel() == 0:
                return lines
    least, most = x.min().item(), x.max().item()
    wide = x.double()
    mean = wide.mean().item()
    std = math.sqrt((wide - mean).square().sum().item() / (x.numel() - 1)) if x.numel() > 1 else math.nan
    values = ("min", least), ("max", most), ("mean", mean), ("std", std)
    return lines + [(name, _shown(value)) for name, value in values]


def tensor_summary(tensor, name="tensor", file=None):
    """Prints what a tensor is, and gives the text: shape, dtype, device, smallest and largest value, mean, deviation.

    tensor (Tensor): any. NaN and infinite values are counted, and left out of the other numbers; of a bool tensor the
    true ones are counted; of a complex one the numbers are of its absolute values. The deviation is the sample's, as
    Tensor.std gives it. name (str): what the first line calls it. file: where it is printed, by default stdout.
    TypeError for what is no tensor.

    >>> import neura
    >>> text = neura.utils.tensor_summary(neura.tensor([1.0, 2.0, 6.0]))
    tensor: [3] float32 on cpu
      min   1
      max   6
      mean  3
      std   2.64575
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"tensor_summary: expected a tensor, got {type(tensor).__name__}")
    dtype = str(tensor.dtype).rpartition(".")[2]
    notes = ", requires grad" if tensor.requires_grad else ""
    if not tensor.is_contiguous():
        notes += f", strides {list(tensor.stride())}"
    lines = [f"{name}: {list(tensor.shape)} {dtype} on {tensor.device}{notes}"]
    if tensor.device.type != "meta":
        try:
            found = _numbers(tensor.detach())
        except errors.NotImplementedError:
            found = [("values", "of a dtype without arithmetic")]
        width = max(len(what) for what, _ in found)
        lines += [f"  {what.ljust(width)}  {text}" for what, text in found]
    text = "\n".join(lines)
    print(text, file=file)
    return text
