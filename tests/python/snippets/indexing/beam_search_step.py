"""One step of beam search: scores over beams and words, flat top-k, back to beam and word."""

from fixed import noise


def run(torch):
    beams, words = 3, 7
    scores = torch.tensor([-0.5, -1.0, -1.5])
    step = noise(torch, beams, words).mul(3).log_softmax(-1)
    total = scores[:, None] + step
    best = total.view(-1).topk(beams)
    beam = torch.div(best.indices, words, rounding_mode="floor")
    word = best.indices % words
    sequences = torch.tensor([[5, 1], [5, 2], [5, 3]])
    extended = torch.cat([sequences[beam], word[:, None]], dim=1)
    finished = word.eq(3)
    return {
        "scores": best.values,
        "beam": beam,
        "word": word,
        "extended": extended,
        "finished": finished,
        "alive": (~finished).nonzero().flatten(),
    }
