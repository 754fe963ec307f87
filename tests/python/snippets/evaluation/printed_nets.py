"""How nets, optimizers and losses print."""


def run(torch):
    nn = torch.nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.features = nn.Sequential(
                nn.Conv2d(3, 8, kernel_size=3, stride=2, padding=1, bias=False),
                nn.BatchNorm2d(8),
                nn.ReLU(inplace=True),
            )
            self.pool = nn.AdaptiveAvgPool2d(1)
            self.drop = nn.Dropout(p=0.25)
            self.embed = nn.Embedding(10, 4, padding_idx=0)
            self.heads = nn.ModuleList([nn.Linear(8, 2, bias=False), nn.Identity()])
            self.criterion = nn.CrossEntropyLoss(label_smoothing=0.1)

    net = Net()
    optimizer = torch.optim.SGD(
        [{"params": net.embed.parameters()}, {"params": net.heads.parameters(), "lr": 0.5}], lr=0.1
    )
    return {
        "net": repr(net),
        "list": str(net.heads),
        "optimizer": repr(optimizer),
        "count": f"{sum(p.numel() for p in net.parameters()):,}",
    }
