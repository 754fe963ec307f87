"""Top-k and nucleus filters over logits, as before sampling a word."""

from fixed import noise


def run(torch):
    logits = noise(torch, 2, 10) * 4
    k = 4
    threshold = logits.topk(k, dim=-1).values[..., -1, None]
    top_k = logits.masked_fill(logits < threshold, float("-inf")).softmax(-1)
    ordered, order = logits.sort(descending=True, dim=-1)
    cumulative = ordered.softmax(-1).cumsum(-1)
    remove = cumulative > 0.8
    remove[..., 1:] = remove[..., :-1].clone()
    remove[..., 0] = False
    nucleus = logits.masked_fill(remove.scatter(1, order, remove), float("-inf")).softmax(-1)
    return {"top_k": top_k, "nucleus": nucleus, "kept": (nucleus > 0).sum(-1), "greedy": logits.argmax(-1)}
