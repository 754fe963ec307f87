"""Arithmetic in half types: what is kept, what is lost, where sums are made."""

from fixed import noise


def run(torch):
    x = noise(torch, 64)
    h, b = x.half(), x.to(torch.bfloat16)
    one = torch.tensor(1.0, dtype=torch.bfloat16)
    info = torch.finfo(torch.float16)
    return {
        "half": h[:8],
        "bfloat": b[:8],
        "error": [(h.float() - x).abs().max().item() < 1e-3, (b.float() - x).abs().max().item() < 1e-2],
        "lost": (one + 0.001 == one).item(),
        "overflow": torch.tensor(70000.0).half().isinf().item(),
        "sum_dtype": str(h.sum().dtype),
        "in_float": h.sum(dtype=torch.float32),
        "limits": [info.max, info.eps, torch.finfo(torch.bfloat16).bits, torch.iinfo(torch.int16).min],
        "size": [h.element_size(), x.element_size(), h.numel()],
    }
