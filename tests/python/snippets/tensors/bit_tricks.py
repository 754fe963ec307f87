"""Bits: packing masks, hashing words into buckets, counting."""


def run(torch):
    bits = torch.tensor([[1, 0, 1, 1], [0, 0, 1, 0]], dtype=torch.bool)
    weights = 1 << torch.arange(4)
    packed = (bits * weights).sum(1)
    unpacked = (packed[:, None] >> torch.arange(4)) & 1
    ids = torch.arange(1, 9)
    mixed = (ids * 2654435761) & 0xFFFFFFFF
    bucket = (mixed ^ (mixed >> 16)) % 5
    return {
        "packed": packed,
        "unpacked": unpacked.bool(),
        "xor": bits[0] ^ bits[1],
        "bucket": bucket,
        "histogram": torch.bincount(bucket, minlength=5),
        "inverted": ~torch.tensor([0, 5], dtype=torch.uint8),
        "either": (bits[0] | bits[1]).all().item(),
        "parity": unpacked.sum(1) % 2 == 1,
    }
