"""Pictures from files to batches: decoding, RandomResizedCrop(224), flip, normalisation; images a second.

    python bench/pictures.py          of Neura, by processor time of one thread, then by the clock with workers
    python bench/pictures.py torch    of torchvision, where it is installed

The pictures are made: noise as photographs have it, with edges, 500 x 375 in about 110 kB.
"""

import os
import sys
import tempfile
import time

MEAN, STD, N = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225], 200
FOLDER = os.path.join(tempfile.gettempdir(), "neura_bench_pictures")


def make():
    import neura

    neura.manual_seed(0)
    f = (neura.fft.fftfreq(375)[:, None] ** 2 + neura.fft.fftfreq(500) ** 2).sqrt()
    f[0, 0] = 1

    def noise(power):
        z = neura.fft.ifft2(neura.fft.fft2(neura.randn(375, 500)) / f**power).real
        return (z - z.mean()) / z.std()

    for i in range(N):
        label = os.path.join(FOLDER, str(i % 4))
        os.makedirs(label, exist_ok=True)
        x = neura.stack([noise(1.15) * 50 + 120] * 3) + neura.stack([noise(1.4) * 20 for _ in range(3)])
        for _ in range(12):
            top, left = neura.randint(0, 375, (1,)).item(), neura.randint(0, 500, (1,)).item()
            x[:, top : top + 90, left : left + 120] += neura.randn(3, 1, 1) * 40
        neura.data.write_jpeg(os.path.join(label, f"{i:03}.jpg"), x.clamp(0, 255).to(neura.uint8), quality=92)


def best(run, clock, rounds=5):
    run()
    rates = []
    for _ in range(rounds):
        start = clock()
        run()
        rates.append(N / (clock() - start))
    return f"{max(rates):.0f} images/s"


def neura_rates():
    import neura
    from neura.data import Compose, ImageFolder, Normalize, RandomHorizontalFlip, RandomResizedCrop, ToDtype
    from neura.utils.data import DataLoader

    neura.set_num_threads(1)
    steps = [RandomResizedCrop(224), RandomHorizontalFlip(), ToDtype(neura.float32, scale=True), Normalize(MEAN, STD)]
    for scaled in (False, True):
        loader = DataLoader(ImageFolder(FOLDER, Compose(steps), scaled_decoding=scaled), batch_size=32)
        text = " with scaled_decoding" if scaled else ""
        print(f"neura{text}, one core: {best(lambda: list(loader), time.process_time)}")
    workers = 1
    while workers <= (os.cpu_count() or 1):
        loader = DataLoader(loader.dataset, batch_size=32, num_workers=workers, persistent_workers=True)
        print(f"neura, {workers} workers: {best(lambda: list(loader), time.perf_counter)}")
        workers *= 2


def torch_rates():
    import glob

    import torch
    from PIL import Image
    from torchvision import transforms as pillow
    from torchvision.io import decode_image, read_file
    from torchvision.transforms import v2

    torch.set_num_threads(1)
    files = sorted(glob.glob(os.path.join(FOLDER, "*", "*.jpg")))
    by_pillow = [pillow.RandomResizedCrop(224), pillow.RandomHorizontalFlip(), pillow.ToTensor()]
    by_pillow = pillow.Compose([*by_pillow, pillow.Normalize(MEAN, STD)])
    tensors = [v2.RandomResizedCrop(224), v2.RandomHorizontalFlip(), v2.ToDtype(torch.float32, scale=True)]
    tensors = v2.Compose([*tensors, v2.Normalize(MEAN, STD)])
    ways = {
        "Pillow": lambda file: by_pillow(Image.open(file).convert("RGB")),
        "tensors": lambda file: tensors(decode_image(read_file(file), mode="RGB")),
    }
    for name, way in ways.items():

        def run(way=way):
            for i in range(0, N, 32):
                torch.stack([way(file) for file in files[i : i + 32]])

        print(f"torchvision by {name}, one core: {best(run, time.process_time)}")


if not os.path.isdir(FOLDER):
    make()
torch_rates() if sys.argv[1:] == ["torch"] else neura_rates()
