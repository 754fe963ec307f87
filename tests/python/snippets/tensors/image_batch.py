"""Pictures from bytes to a normalised batch of channels first, and back."""


def run(torch):
    pictures = (torch.arange(2 * 4 * 5 * 3) * 37 % 256).to(torch.uint8).view(2, 4, 5, 3)
    mean = torch.tensor([0.485, 0.456, 0.406]).view(1, 3, 1, 1)
    std = torch.tensor([0.229, 0.224, 0.225]).view(1, 3, 1, 1)
    batch = pictures.permute(0, 3, 1, 2).float().div(255).sub(mean).div(std)
    grey = (batch * std + mean).mul(torch.tensor([0.299, 0.587, 0.114]).view(3, 1, 1)).sum(1, keepdim=True)
    back = (batch * std + mean).mul(255).round().clamp(0, 255).to(torch.uint8).permute(0, 2, 3, 1)
    return {
        "batch": batch,
        "per_channel": batch.mean(dim=(0, 2, 3)),
        "grey": grey.squeeze(1),
        "flipped": batch.flip(-1)[0, 0],
        "same": torch.equal(back, pictures),
        "shape": list(batch.shape),
    }
