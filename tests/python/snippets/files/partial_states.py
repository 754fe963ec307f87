"""Files of parts of a net, put together from two checkpoints; averages of checkpoints."""

import io

from fixed import noise, settle


def run(torch):
    nn = torch.nn

    def through_file(state):
        buffer = io.BytesIO()
        torch.save(state, buffer)
        buffer.seek(0)
        return torch.load(buffer)

    nets = [settle(torch, nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1)), seed=s) for s in (0, 10, 20)]
    states = [through_file(n.state_dict()) for n in nets]
    mean = {k: torch.stack([s[k] for s in states]).mean(0) for k in states[0]}
    soup, mixed = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1)), nn.Sequential(
        nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1)
    )
    soup.load_state_dict(mean)
    mixed[0].load_state_dict({k[2:]: v for k, v in states[0].items() if k.startswith("0.")})
    mixed[2].load_state_dict({k[2:]: v for k, v in states[1].items() if k.startswith("2.")})
    x = noise(torch, 3, 2, seed=4)
    return {
        "soup": soup(x),
        "mixed": mixed(x),
        "mean": mean["0.weight"],
        "sizes": sum(v.numel() for v in mean.values()),
    }
