"""Attention whose scores a program changes by a function, by the names of torch.nn.attention.flex_attention.

The functions are called once, with every index in a tensor of its own, so that what they compute must broadcast, as
PyTorch's vmap demands of them. All scores are there at once: nothing is left out for a mask's sake.
"""

import math

from ... import _neura
from ..._neura import Tensor, errors

__all__ = (
    "BlockMask and_masks create_block_mask create_mask create_nested_block_mask flex_attention noop_mask or_masks"
).split()


def noop_mask(batch, head, token_q, token_kv):
    """Keeps every score."""
    return _neura.ones((), dtype=_neura.bool)


def _combined(name, masks, combine):
    if not all(callable(m) for m in masks):
        raise RuntimeError(f"{name}: expected functions, got {[type(m).__name__ for m in masks]}")

    def mask(b, h, q, kv):
        result = None
        for each in masks:
            kept = each(b, h, q, kv)
            result = kept if result is None else combine(result, kept)
        return result

    return mask


def and_masks(*mask_mods):
    """The mask that keeps what all of these keep."""
    return _combined("and_masks", mask_mods, lambda a, b: a & b)


def or_masks(*mask_mods):
    """The mask that keeps what one of these keeps."""
    return _combined("or_masks", mask_mods, lambda a, b: a | b)


def _indices(sizes, device):
    """Of each dimension its indices, in a tensor that broadcasts with the others."""
    for d, size in enumerate(sizes):
        yield _neura.arange(size, device=device).view([-1 if i == d else 1 for i in range(len(sizes))])


def create_mask(mod_fn, B, H, Q_LEN, KV_LEN, device="cuda"):
    """A tensor [B, H, Q_LEN, KV_LEN] of what mod_fn(batch, head, query, key) gives for every index.

    B, H: None is 1.

    >>> from neura.nn.attention.flex_attention import create_mask
    >>> create_mask(lambda b, h, q, k: q >= k, 1, 1, 2, 2, device="cpu")
    tensor([[[[ True, False],
              [ True,  True]]]])
    """
    sizes = [B or 1, H or 1, Q_LEN, KV_LEN]
    return mod_fn(*_indices(sizes, device)).expand(sizes)


class BlockMask:
    """What create_block_mask makes: a mask by its function, and its sizes."""

    def __init__(self, mask_mod, sizes, block_size, device):
        self.mask_mod, self._sizes, self.BLOCK_SIZE, self._device = mask_mod, tuple(sizes), block_size, device

    @property
    def shape(self):
        """(B, H, Q_LEN, KV_LEN)."""
        return self._sizes

    @property
    def seq_lengths(self):
        """(Q_LEN, KV_LEN)."""
        return self._sizes[2:]

    def _mask(self):
        return create_mask(self.mask_mod, *self._sizes, device=self._device)

    def to_dense(self):
        """[B, H, blocks of queries, blocks of keys]: 1 where a block has a score that is kept, int32."""
        b, h, q, k = self._sizes
        rows, columns = (math.ceil(n / size) for n, size in zip((q, k), self.BLOCK_SIZE))
        padded = _neura.zeros(b, h, rows * self.BLOCK_SIZE[0], columns * self.BLOCK_SIZE[1], dtype=_neura.bool)
        padded = padded.to(self._device)
        padded[:, :, :q, :k] = self._mask()
        blocks = padded.view(b, h, rows, self.BLOCK_SIZE[0], columns, self.BLOCK_SIZE[1])
        return blocks.any(5).any(3).to(_neura.int32)

    def sparsity(self):
        """Percent of the blocks in which nothing is kept."""
        dense = self.to_dense()
        return 100 * (1 - dense.sum().item() / dense.numel())

    def to(self, device):
        """The same mask for tensors of another device."""
        return BlockMask(self.mask_mod, self._sizes, self.BLOCK_SIZE, _neura.device(device))

    def __repr__(self):
        return f"BlockMask(shape={self._sizes}, sparsity={self.sparsity():.2f}%)"


def create_block_mask(mask_mod, B, H, Q_LEN, KV_LEN, device=None, BLOCK_SIZE=128, _compile=False, **_):
    """A mask for flex_attention: mask_mod(batch, head, query, key) is True where a score is kept.

    B, H: None is 1, which serves for any number. device: by default the GPU where there is one.
    """
    from ... import cuda

    block = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
    device = _neura.device(device or ("cuda" if cuda.is_available() else "cpu"))
    return BlockMask(mask_mod, (B or 1, H or 1, Q_LEN, KV_LEN), block, device)


def create_nested_block_mask(*args, **kwargs):
    """NotImplementedError: nested tensors are not there."""
    raise errors.NotImplementedError("create_nested_block_mask: nested tensors are not there; use create_block_mask")


def _check(query, key, value, enable_gqa):
    for name, x in (("query", query), ("key", key), ("value", value)):
        if not isinstance(x, Tensor) or x.dim() != 4:
            got = list(x.shape) if isinstance(x, Tensor) else type(x).__name__
            raise errors.ValueError(f"flex_attention: expected {name} [batch, heads, length, size], got {got}")
    if query.size(1) != key.size(1) and not enable_gqa:
        raise errors.ValueError(
            f"flex_attention: expected as many heads of query and key, got {query.size(1)} and {key.size(1)}; with "
            "enable_gqa=True several of query share one of key"
        )
    if query.size(1) % key.size(1) or key.size(0) not in (1, query.size(0)):
        raise errors.ValueError(
            f"flex_attention: expected heads and batches that go together, got query {list(query.shape)} and key "
            f"{list(key.shape)}"
        )


def flex_attention(
    query, key, value, score_mod=None, block_mask=None, scale=None, enable_gqa=False, return_lse=False,
    kernel_options=None, *, return_aux=None,
):  # fmt: skip
    """softmax(score_mod(query keyᵀ · scale)) value, of [batch, heads, length, size]; rows without a score give 0.

    score_mod(score, batch, head, query, key): the new scores, from tensors that broadcast.
    block_mask: of create_block_mask. scale: by default 1 / sqrt(size). enable_gqa: heads of query share those of key.
    return_lse: also the logarithm of the sums of exponentials, [batch, heads, length], float32 for half dtypes.
    kernel_options: has no effect.

    >>> from neura.nn.attention.flex_attention import flex_attention
    >>> x = neura.ones(1, 1, 2, 4)
    >>> flex_attention(x, x, x, score_mod=lambda s, b, h, q, k: s + (k - q)).shape
    neura.Size([1, 1, 2, 4])
    """
    _check(query, key, value, enable_gqa)
    if return_aux is not None:
        raise errors.NotImplementedError("flex_attention: return_aux is not there; use return_lse")
    groups = query.size(1) // key.size(1)
    if groups > 1:
        key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    wide = query.dtype in (_neura.float16, _neura.bfloat16)
    scale = 1 / math.sqrt(query.size(-1)) if scale is None else scale
    scores = (query.float() if wide else query) @ (key.float() if wide else key).transpose(-2, -1) * scale
    if score_mod is not None:
        scores = score_mod(scores, *_indices(scores.shape, query.device)).expand(scores.shape).to(scores.dtype)
    if block_mask is not None:
        q, k = block_mask.seq_lengths
        if (q, k) != tuple(scores.shape[2:]) and (q < scores.size(2) or k < scores.size(3)):
            raise errors.ValueError(
                f"flex_attention: expected a block_mask of {list(scores.shape[2:])}, got one of {[q, k]}; make it anew"
            )
        scores = scores.masked_fill(~block_mask._mask()[:, :, : scores.size(2), : scores.size(3)], -math.inf)
    top = scores.detach().amax(-1, keepdim=True)
    top = top.masked_fill(top == -math.inf, 0)
    exponentials = (scores - top).exp()
    total = exponentials.sum(-1, keepdim=True)
    weights = exponentials / total.masked_fill(total == 0, 1)
    result = (weights @ (value.float() if wide else value)).to(query.dtype)
    return (result, (total.log() + top).squeeze(-1)) if return_lse else result
