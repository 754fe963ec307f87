"""Views write through to their base; copies do not."""


def run(torch):
    base = torch.zeros(4, 6)
    base[1:3, ::2] += 1
    base.t()[5] = 7
    base.view(2, 2, 6)[1, 0].mul_(10)
    rows = base.unbind(0)
    rows[3].fill_(-1)
    diagonal = base.diagonal()
    diagonal.add_(100)
    copied = base.clone()
    copied.zero_()
    narrow = base.narrow(1, 2, 2)
    return {
        "base": base,
        "same_memory": narrow.data_ptr() == base[:, 2:].data_ptr(),
        "strides": [base.t().stride(), narrow.stride(), base[:, ::2].stride()],
        "offset": narrow.storage_offset(),
        "contiguous": [base.t().is_contiguous(), narrow.contiguous().is_contiguous(), base[1:].is_contiguous()],
        "sum": base.sum().item(),
    }
