"""Parameters of a swinging pendulum found by backpropagation through forty Euler steps."""

import math


def run(torch):
    def swing(length, damping, steps=40, dt=0.05):
        angle, speed, path = torch.tensor(0.5, dtype=torch.float64), torch.tensor(0.0, dtype=torch.float64), []
        for _ in range(steps):
            speed = speed + dt * (-9.81 / length * torch.sin(angle) - damping * speed)
            angle = angle + dt * speed
            path.append(angle)
        return torch.stack(path)

    truth = swing(torch.tensor(1.3, dtype=torch.float64), torch.tensor(0.2, dtype=torch.float64))
    log_length = torch.tensor(math.log(1.0), dtype=torch.float64, requires_grad=True)
    damping = torch.tensor(0.0, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.Adam([log_length, damping], lr=0.05)
    losses = []
    for _ in range(15):
        loss = (swing(log_length.exp(), damping) - truth).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return {"losses": torch.stack(losses), "length": log_length.exp(), "damping": damping, "truth": truth[::10]}
