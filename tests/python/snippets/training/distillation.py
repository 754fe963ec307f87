"""A small student learns from a frozen teacher's soft answers and from labels."""

from fixed import noise, settle


def run(torch):
    nn, F = torch.nn, torch.nn.functional
    teacher = settle(torch, nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 4)))
    student = settle(torch, nn.Linear(5, 4), seed=8)
    teacher.eval().requires_grad_(False)
    x, t = noise(torch, 16, 5), 4.0
    labels = teacher(x).argmax(1)
    optimizer = torch.optim.SGD(student.parameters(), lr=0.3)
    losses = []
    for batch in range(8):
        part = slice(batch % 2 * 8, batch % 2 * 8 + 8)
        out = student(x[part])
        soft = (
            F.kl_div(F.log_softmax(out / t, dim=1), F.softmax(teacher(x[part]) / t, dim=1), reduction="batchmean")
            * t**2
        )
        loss = 0.7 * soft + 0.3 * F.cross_entropy(out, labels[part])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {
        "losses": torch.tensor(losses),
        "agreement": (student(x).argmax(1) == labels).float().mean(),
        "weight": student.weight,
    }
