"""Meters that gather averages over batches; a class without torch inside and a table as text."""

from fixed import noise


def run(torch):
    class Meter:
        def __init__(self, name):
            self.name, self.sum, self.count, self.value = name, 0.0, 0, 0.0

        def update(self, value, n=1):
            self.value = float(value)
            self.sum += self.value * n
            self.count += n

        @property
        def average(self):
            return self.sum / max(self.count, 1)

        def __str__(self):
            return f"{self.name}: {self.value:.3f} ({self.average:.3f})"

    loss, accuracy = Meter("loss"), Meter("acc")
    lines = []
    for i, batch in enumerate(noise(torch, 12, 2).split(5)):
        loss.update(batch.pow(2).mean(), len(batch))
        accuracy.update((batch[:, 0] > batch[:, 1]).float().mean(), len(batch))
        lines.append(f"[{i + 1}/3] {loss} {accuracy}")
    return {"lines": lines, "average": loss.average, "count": accuracy.count}
