"""state_dict into another net: strict and not, missing and unexpected keys, wrong shapes."""

from fixed import noise, settle


def run(torch):
    nn = torch.nn

    def make():
        return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))

    first, second = settle(torch, make()), make()
    first(noise(torch, 5, 3))
    state = first.state_dict()
    report = second.load_state_dict(state)
    x = noise(torch, 4, 3, seed=8)
    same = torch.equal(first.eval()(x), second.eval()(x))
    partial = {k: v for k, v in state.items() if not k.startswith("2.")}
    partial["extra"] = torch.zeros(1)
    missing, unexpected = make().load_state_dict(partial, strict=False)
    errors = []
    for wrong in (partial, {**state, "0.weight": torch.zeros(4, 5)}):
        try:
            make().load_state_dict(wrong)
        except RuntimeError as error:
            errors.append(["Missing key" in str(error), "Unexpected key" in str(error), "size mismatch" in str(error)])
    return {
        "keys": list(state),
        "report": str(report),
        "same": same,
        "missing": list(missing),
        "unexpected": list(unexpected),
        "errors": errors,
        "tracked": state["1.num_batches_tracked"],
        "mean": state["1.running_mean"],
    }
