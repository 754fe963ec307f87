"""GPT-2 (Radford et al., 2019), by the names of Hugging Face's transformers, whose files load."""

import math

from .. import nn
from .._neura import addmm, arange, cat, empty, errors, int64, multinomial, ones, softmax, topk, where, zeros
from ..autograd.grad_mode import no_grad
from ..nn.modes import in_mode
from ._registry import fill, register_model


class Conv1D(nn.Module):
    """A linear map whose weight is [inputs, outputs], as GPT-2's files have it: [..., nx] -> [..., nf]."""

    def __init__(self, nf, nx, std=0.02):
        super().__init__()
        self.nf, self.nx = nf, nx
        self.weight = nn.Parameter(nn.init.normal_(empty(nx, nf), std=std))
        self.bias = nn.Parameter(zeros(nf))

    def forward(self, x):
        """x weight + bias."""
        return addmm(self.bias, x.reshape(-1, self.nx), self.weight).view(*x.shape[:-1], self.nf)

    def extra_repr(self):
        """What printing shows of it."""
        return f"nf={self.nf}, nx={self.nx}"


class _Attention(nn.Module):
    def __init__(self, width, heads, dropout, kept, std):
        super().__init__()
        self.heads, self.attn_pdrop = heads, dropout
        self.c_attn = Conv1D(3 * width, width)
        self.c_proj = Conv1D(width, width, std)
        self.resid_dropout = nn.Dropout(kept)

    def forward(self, x, past=None):
        n, t, width = x.shape
        q, k, v = (
            part.view(n, t, self.heads, width // self.heads).transpose(1, 2) for part in self.c_attn(x).split(width, 2)
        )
        if past is not None:
            k, v = cat([past[0], k], 2), cat([past[1], v], 2)
        drop, mask = self.attn_pdrop if self.training else 0.0, None
        if past is not None and t > 1:  # each sees what came before it; one new token sees all
            mask = ones(t, k.shape[2], dtype=bool, device=x.device).tril(k.shape[2] - t)
        y = nn.functional.scaled_dot_product_attention(q, k, v, mask, drop, is_causal=past is None)
        return self.resid_dropout(self.c_proj(y.transpose(1, 2).reshape(n, t, width))), (k, v)


class _MLP(nn.Module):
    def __init__(self, width, inside, dropout, approximate, std):
        super().__init__()
        self.c_fc = Conv1D(inside, width)
        self.c_proj = Conv1D(width, inside, std)
        self.act = nn.GELU(approximate=approximate)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.dropout(self.c_proj(self.act(self.c_fc(x))))


class _Block(nn.Module):
    def __init__(self, width, heads, inside, eps, attn_pdrop, resid_pdrop, approximate, std):
        super().__init__()
        self.ln_1 = nn.LayerNorm(width, eps=eps)
        self.attn = _Attention(width, heads, attn_pdrop, resid_pdrop, std)
        self.ln_2 = nn.LayerNorm(width, eps=eps)
        self.mlp = _MLP(width, inside, resid_pdrop, approximate, std)

    def forward(self, x, past=None):
        y, past = self.attn(self.ln_1(x), past)
        x = x + y
        return x + self.mlp(self.ln_2(x)), past


_ACTIVATIONS = {"gelu_new": "tanh", "gelu_pytorch_tanh": "tanh", "gelu": "none"}


class GPT2Model(nn.Module):
    """Numbers of tokens [N, T] to hidden states [N, T, n_embd], by the words of Hugging Face's config.json.

    n_head divides n_embd, activation_function is "gelu_new", "gelu_pytorch_tanh" or "gelu", else ValueError. n_inner:
    width inside the MLPs, by default 4 n_embd.
    """

    def __init__(
        self,
        vocab_size=50257,
        n_positions=1024,
        n_embd=768,
        n_layer=12,
        n_head=12,
        n_inner=None,
        activation_function="gelu_new",
        resid_pdrop=0.1,
        embd_pdrop=0.1,
        attn_pdrop=0.1,
        layer_norm_epsilon=1e-5,
        initializer_range=0.02,
    ):
        super().__init__()
        if n_head < 1 or n_embd % n_head:
            raise errors.ValueError(f"GPT2Model: expected n_head to divide n_embd, got {n_head} and {n_embd}")
        if activation_function not in _ACTIVATIONS:
            known = ", ".join(map(repr, _ACTIVATIONS))
            raise errors.ValueError(f"GPT2Model: expected activation_function {known}, got {activation_function!r}")
        self.n_positions = n_positions
        self.wte = nn.Embedding(vocab_size, n_embd)
        self.wpe = nn.Embedding(n_positions, n_embd)
        self.drop = nn.Dropout(embd_pdrop)
        std = initializer_range / math.sqrt(2 * n_layer)  # of what is added to the sum of all blocks
        inside, kind = n_inner or 4 * n_embd, _ACTIVATIONS[activation_function]
        given = (n_embd, n_head, inside, layer_norm_epsilon, attn_pdrop, resid_pdrop, kind, std)
        self.h = nn.ModuleList([_Block(*given) for _ in range(n_layer)])
        self.ln_f = nn.LayerNorm(n_embd, eps=layer_norm_epsilon)
        nn.init.normal_(self.wte.weight, std=initializer_range)
        nn.init.normal_(self.wpe.weight, std=initializer_range)

    def _complete_old_state(self, state_dict, prefix, version):
        for i in range(len(self.h)):  # published files hold the causal mask, which is no weight
            for name in ("bias", "masked_bias"):
                state_dict.pop(f"{prefix}h.{i}.attn.{name}", None)

    def forward(self, input_ids, past=None):
        """Hidden states [N, T, n_embd] of [N, T]; with past (a list), that is filled, and holds what came before.

        ValueError for more than n_positions tokens.
        """
        before = 0 if not past else past[0][0].shape[2]
        total = before + input_ids.shape[-1]
        if total > self.n_positions:
            raise errors.ValueError(f"GPT2Model: expected at most {self.n_positions} tokens, got {total}")
        places = arange(before, total, dtype=int64, device=input_ids.device)
        x = self.drop(self.wte(input_ids) + self.wpe(places))
        known = list(past) if past else [None] * len(self.h)
        for i, block in enumerate(self.h):
            x, known[i] = block(x, known[i])
        if past is not None:
            past[:] = known
        return self.ln_f(x)


class GPT2LMHeadModel(nn.Module):
    """Numbers of tokens [N, T] to scores of the next ones, [N, T, vocab_size]; config: what GPT2Model takes.

    The last layer's weight is the embedding's. Files load with the names "transformer.h.0…" and with "h.0…".
    """

    def __init__(self, **config):
        super().__init__()
        self.transformer = GPT2Model(**config)
        vocabulary, width = self.transformer.wte.weight.shape
        self.lm_head = nn.Linear(width, vocabulary, bias=False)
        self.lm_head.weight = self.transformer.wte.weight

    def _complete_old_state(self, state_dict, prefix, version):
        if f"{prefix}wte.weight" in state_dict:
            for key in [key for key in state_dict if key.startswith(prefix)]:
                if not key.startswith((f"{prefix}transformer.", f"{prefix}lm_head.")):
                    state_dict[f"{prefix}transformer.{key[len(prefix) :]}"] = state_dict.pop(key)
        tied = state_dict.get(f"{prefix}transformer.wte.weight")
        if tied is not None:
            state_dict.setdefault(f"{prefix}lm_head.weight", tied)

    def forward(self, input_ids, past=None):
        """Scores [N, T, vocab_size] of [N, T]; past: see GPT2Model."""
        return self.lm_head(self.transformer(input_ids, past))

    def generate(self, input_ids, max_new_tokens=20, temperature=None, top_k=None, generator=None):
        """The tokens and what follows them: [N, T] -> [N, T + max_new_tokens].

        temperature: None takes the likeliest token each time; a number above 0 draws, lower is surer. top_k (int):
        draws among that many. ValueError for another temperature or top_k below 1, for no tokens, and for more than
        n_positions in all.

        >>> import neura
        >>> neura.models.gpt2(vocab_size=9, n_positions=8, n_embd=4, n_layer=1, n_head=2).generate(
        ...     neura.tensor([[1, 2]]), max_new_tokens=3
        ... ).shape
        neura.Size([1, 5])
        """
        if temperature is not None and not temperature > 0:
            raise errors.ValueError(f"generate: expected a temperature above 0 or None, got {temperature}")
        if top_k is not None and top_k < 1:
            raise errors.ValueError(f"generate: expected top_k of at least 1 or None, got {top_k}")
        if input_ids.dim() != 2 or input_ids.shape[1] == 0:
            raise errors.ValueError(f"generate: expected tokens [N, T], got {list(input_ids.shape)}")
        past, fed = [], input_ids
        with in_mode(self, False), no_grad():
            for _ in range(max_new_tokens):
                scores = self(fed, past)[:, -1]
                fed = self._next(scores, temperature, top_k, generator)
                input_ids = cat([input_ids, fed], 1)
        return input_ids

    @staticmethod
    def _next(scores, temperature, top_k, generator):
        if temperature is None:
            return scores.argmax(-1, keepdim=True)
        scores = scores / temperature
        if top_k is not None:
            least = topk(scores, min(top_k, scores.shape[-1]))[0][:, -1:]
            scores = where(scores < least, float("-inf"), scores)
        return multinomial(softmax(scores, -1), 1, generator=generator)


SIZES = {
    "gpt2": {"n_embd": 768, "n_layer": 12, "n_head": 12},
    "gpt2_medium": {"n_embd": 1024, "n_layer": 24, "n_head": 16},
    "gpt2_large": {"n_embd": 1280, "n_layer": 36, "n_head": 20},
    "gpt2_xl": {"n_embd": 1600, "n_layer": 48, "n_head": 25},
}


def _maker(name):
    sizes = SIZES[name]

    def make(*, weights=None, progress=True, **kwargs):
        return fill(GPT2LMHeadModel(**{**sizes, **kwargs}), name, weights, progress)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"""GPT-2 of {sizes["n_layer"]} blocks, {sizes["n_embd"]} wide: numbers of tokens [N, T] to scores [N, T, vocab_size].

    weights: a file, such as Hugging Face's model.safetensors, or tensors by name. kwargs: what GPT2Model takes.
    ValueError for weights that do not fit.
    """
    return register_model()(make)


gpt2 = _maker("gpt2")
gpt2_medium = _maker("gpt2_medium")
gpt2_large = _maker("gpt2_large")
gpt2_xl = _maker("gpt2_xl")
