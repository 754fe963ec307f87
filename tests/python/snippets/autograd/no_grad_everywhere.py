"""Grad mode as context manager and decorator; detach; what is recorded and what is not."""


def run(torch):
    w = torch.ones(2, requires_grad=True)

    @torch.no_grad()
    def evaluate(x):
        return x * w

    @torch.enable_grad()
    def train(x):
        return x * w

    with torch.no_grad():
        inside = w * 2
        again = train(w)
        created = torch.zeros(2, requires_grad=True)
    with torch.set_grad_enabled(False):
        off = torch.is_grad_enabled()
    with torch.inference_mode():
        frozen = w + 1
        inference = frozen.is_inference()
    detached = (w * 3).detach()
    return {
        "flags": [inside.requires_grad, again.requires_grad, created.requires_grad, evaluate(w).requires_grad],
        "off": off,
        "on": torch.is_grad_enabled(),
        "inference": [inference, frozen.requires_grad],
        "detached": [detached.requires_grad, detached.tolist()],
        "shares": w.detach().data_ptr() == w.data_ptr(),
    }
