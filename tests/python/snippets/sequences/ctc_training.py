"""CTC: loss, gradients, zero_infinity, and greedy decoding."""

from fixed import noise


def run(torch):
    F = torch.nn.functional
    logits = noise(torch, 6, 2, 4).requires_grad_()
    targets, lengths = torch.tensor([[1, 2, 0], [3, 3, 1]]), torch.tensor([2, 3])
    log_probs = logits.log_softmax(-1)
    loss = F.ctc_loss(log_probs, targets, torch.tensor([6, 5]), lengths, blank=0, reduction="mean", zero_infinity=True)
    loss.backward()
    best = log_probs.argmax(-1).T
    decoded = [[c for c in torch.unique_consecutive(row).tolist() if c != 0] for row in best]
    return {"loss": loss, "gradient": logits.grad, "decoded": decoded}
