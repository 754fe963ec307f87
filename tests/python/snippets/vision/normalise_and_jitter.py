"""Torchvision-like transforms by hand: normalise, flip, crop, rotate by 90 degrees, grey, histogram."""

from fixed import noise


def run(torch):
    image = (noise(torch, 3, 6, 8) + 1) / 2
    mean, std = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
    grey = (image * torch.tensor([0.299, 0.587, 0.114]).view(3, 1, 1)).sum(0)
    byte = (image * 255).round().clamp(0, 255).to(torch.uint8)
    return {
        "normal": (image - mean[:, None, None]) / std[:, None, None],
        "flip": image.flip(-1)[0, 0],
        "crop": image[:, 1:5, 2:6].shape,
        "rotate": torch.rot90(image, 1, (1, 2)).shape,
        "grey": grey,
        "byte": byte[0],
        "back": (byte.float() / 255 - image).abs().max() < 0.01,
        "histogram": torch.histc(grey, bins=5, min=0, max=1),
        "counts": torch.bincount(byte.flatten().long() // 64, minlength=4),
        "hwc": image.permute(1, 2, 0).contiguous().stride(),
        "quantile": torch.quantile(grey, torch.tensor([0.1, 0.5, 0.9])),
    }
