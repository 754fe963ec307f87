"""The loop for who wants none: Trainer fits, validates, tests and predicts. A callback of your own looks at what
happens, the run ends when nothing gets better, and one that is started again continues where it was.

python examples/python/trainer_example.py [--device cuda]
"""

import pathlib
import tempfile

import neura
from example import options
from neura import nn
from neura.train import Accuracy, Callback, CSVLog, EarlyStopping, Trainer
from neura.utils.data import DataLoader, TensorDataset, random_split

args = options(__doc__)
neura.manual_seed(0)

# %% Is a point inside of the ring?
points = 4 * neura.rand(1200, 2) - 2
radius = points.norm(dim=1)
data = TensorDataset(points, ((radius > 0.7) & (radius < 1.5)).long())
train, held, test = random_split(data, [800, 200, 200], generator=neura.Generator().manual_seed(1))


class Largest(Callback):
    """Remembers the largest gradient that was met."""

    def __init__(self):
        self.norm = 0.0

    def on_step(self, run):
        norm = nn.utils.get_total_norm([p.grad for p in run.model.parameters()]).item()
        self.norm = max(self.norm, norm)


def trainer(folder, *callbacks):
    neura.manual_seed(2)
    model = nn.Sequential(nn.Linear(2, 32), nn.GELU(), nn.Linear(32, 32), nn.GELU(), nn.Linear(32, 2))
    model.to(args.device)  # before the optimizer, whose parameters are then where they will be
    return Trainer(
        model,
        neura.optim.AdamW(model.parameters(), lr=0.01),
        nn.functional.cross_entropy,
        metrics={"accuracy": Accuracy()},
        device=args.device,
        clip_norm=1.0,
        folder=str(folder),
        monitor="val/accuracy",
        mode="max",
        callbacks=[EarlyStopping("val/accuracy", patience=10, mode="max"), *callbacks],
    )


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    batches, held_batches = DataLoader(train, batch_size=40, shuffle=True), DataLoader(held, batch_size=200)
    epochs, largest = 15 if args.quick else 60, Largest()
    t = trainer(folder / "whole", largest, CSVLog(str(folder / "log.csv")))
    t.fit(batches, held_batches, max_epochs=epochs)
    result = t.test(DataLoader(test, batch_size=100))
    print(f"{t.run.steps} steps, largest norm of a gradient after clipping {largest.norm:.3f}")
    print("log.csv:", *(folder / "log.csv").read_text().splitlines()[:3], sep="\n  ")
    print(f"test: loss {result['loss']:.3f}, accuracy {result['accuracy']:.1%}")
    assert result["accuracy"] > 0.9 and largest.norm <= 1.001

    # %% Stopped after a few epochs and started again: the same weights, bit for bit
    trainer(folder / "parts").fit(batches, held_batches, max_epochs=5)
    again = trainer(folder / "parts")
    again.fit(batches, held_batches, max_epochs=epochs, resume=True)
    same = all(neura.equal(p, q) for p, q in zip(t.model.parameters(), again.model.parameters()))
    print("a run that was stopped after 5 epochs", "ends the same" if same else "ends otherwise")
    assert same

    guesses = neura.cat(t.predict(DataLoader(test, batch_size=100))).argmax(1)
    assert guesses.shape == (200,)
