"""Flips, crops, erasing and noise as functions of an index; applied while loading."""


def run(torch):
    DataLoader, Dataset = torch.utils.data.DataLoader, torch.utils.data.Dataset

    class Pictures(Dataset):
        def __len__(self):
            return 6

        def __getitem__(self, i):
            image = torch.arange(25.0).view(1, 5, 5) + i
            if i % 2:
                image = image.flip(-1)
            if i % 3 == 0:
                image = torch.rot90(image, 1, (1, 2))
            top, left = i % 2, (i // 2) % 2
            image = image[:, top : top + 4, left : left + 4].clone()
            image[:, 1:3, 1:3] = 0
            return torch.nn.functional.pad(image, (1, 0, 0, 1), value=-1.0)

    batch = next(iter(DataLoader(Pictures(), batch_size=6)))
    resized = torch.nn.functional.avg_pool2d(batch[..., :4, :4], 2)
    return {"first": batch[0], "last": batch[5], "sums": batch.sum((1, 2, 3)), "resized": resized[:2]}
