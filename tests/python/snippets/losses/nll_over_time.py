"""Language-model loss: shift, flatten, ignore padding; perplexity and loss by position."""

from fixed import noise


def run(torch):
    F = torch.nn.functional
    logits = (noise(torch, 2, 5, 7) * 2).requires_grad_()
    ids = torch.tensor([[1, 4, 2, 6, 0], [3, 3, 5, 0, 0]])
    prediction, target = logits[:, :-1], ids[:, 1:]
    loss = F.cross_entropy(prediction.reshape(-1, 7), target.reshape(-1), ignore_index=0)
    loss.backward()
    each = F.nll_loss(prediction.log_softmax(-1).transpose(1, 2), target, reduction="none", ignore_index=0)
    valid = target != 0
    return {
        "loss": loss,
        "perplexity": loss.exp(),
        "same": torch.allclose(loss, each.sum() / valid.sum()),
        "each": each,
        "gradient": logits.grad[0],
        "last_gets_none": logits.grad[:, -1].abs().sum(),
        "correct": ((prediction.argmax(-1) == target) & valid).sum(),
    }
