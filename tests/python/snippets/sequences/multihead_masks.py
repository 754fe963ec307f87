"""MultiheadAttention with key padding, causal and float masks, and averaged weights."""

from fixed import noise, settle


def run(torch):
    nn = torch.nn
    mha = settle(torch, nn.MultiheadAttention(6, 3, batch_first=True, kdim=4, vdim=5))
    q, k, v = noise(torch, 2, 3, 6), noise(torch, 2, 4, 4, seed=1), noise(torch, 2, 4, 5, seed=2)
    padding = torch.tensor([[False, False, False, True], [False, True, False, False]])
    y, weights = mha(q, k, v, key_padding_mask=padding)
    _, each = mha(q, k, v, average_attn_weights=False)
    bias = noise(torch, 3, 4, seed=3)
    z, none = mha(q, k, v, attn_mask=bias, need_weights=False)
    return {
        "y": y,
        "weights": weights,
        "each": each.shape,
        "z": z,
        "none": none is None,
        "names": sorted(mha.state_dict()),
    }
