"""Results into memory that exists: out=, in-place chains, copy_."""


def run(torch):
    a, b = torch.arange(6.0).view(2, 3), torch.ones(2, 3)
    buffer = torch.empty(2, 3)
    torch.add(a, b, alpha=2, out=buffer)
    first = buffer.clone()
    address = buffer.data_ptr()
    torch.mul(buffer, buffer, out=buffer)
    buffer.sub_(1).div_(2).clamp_(max=5).neg_()
    row = torch.empty(3)
    torch.sum(a, dim=0, out=row)
    target = torch.zeros(2, 3, dtype=torch.int64)
    target.copy_(a)
    target += 1
    target[0] *= 10
    values, indices = torch.empty(2), torch.empty(2, dtype=torch.int64)
    torch.max(a, dim=1, out=(values, indices))
    return {
        "first": first,
        "chain": buffer,
        "same": buffer.data_ptr() == address,
        "row": row,
        "target": target,
        "max": [values, indices],
        "lerp": a.lerp_(b, 0.25),
    }
