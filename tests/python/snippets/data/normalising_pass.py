"""Mean and deviation of a data set over batches, without holding it all."""

from fixed import noise


def run(torch):
    DataLoader, TensorDataset = torch.utils.data.DataLoader, torch.utils.data.TensorDataset

    images = noise(torch, 10, 3, 4, 4).double() * torch.tensor([1.0, 2.0, 3.0]).view(3, 1, 1).double() + 0.5
    count, total, squares = 0, torch.zeros(3, dtype=torch.float64), torch.zeros(3, dtype=torch.float64)
    for (batch,) in DataLoader(TensorDataset(images), batch_size=4):
        flat = batch.transpose(0, 1).flatten(1)
        count += flat.size(1)
        total += flat.sum(1)
        squares += flat.pow(2).sum(1)
    mean = total / count
    std = (squares / count - mean**2).sqrt()
    return {
        "mean": mean,
        "std": std,
        "same": torch.allclose(std, images.std(dim=(0, 2, 3), unbiased=False)),
        "normal": ((images - mean.view(3, 1, 1)) / std.view(3, 1, 1)).mean((0, 2, 3)).abs().max().item() < 1e-12,
    }
