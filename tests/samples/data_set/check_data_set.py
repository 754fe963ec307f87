"""A data set in Python: items, and batches by a loader."""

import neura
from neura.utils.data import DataLoader


def test_items_and_batches(tmp_path):
    record = bytes([3, 42]) + bytes(range(256)) * 12
    (tmp_path / "train.bin").write_bytes(record * 3)
    pictures = neura.data.CIFAR100(tmp_path)
    image, label = pictures[2]
    assert len(pictures) == 3 and image.shape == (3, 32, 32) and label == 42
    images, labels = next(iter(DataLoader(pictures, batch_size=2)))
    assert images.shape == (2, 3, 32, 32) and labels.tolist() == [42, 42]
