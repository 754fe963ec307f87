"""Modules in modules: children, named_modules, get_submodule, apply, walking by type."""


def run(torch):
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.up = nn.Linear(width, 2 * width)
            self.act = nn.GELU()
            self.down = nn.Linear(2 * width, width, bias=False)

        def forward(self, x):
            return x + self.down(self.act(self.up(x)))

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList([Block(2), Block(2)])
            self.head = nn.Linear(2, 1)

        def forward(self, x):
            for block in self.blocks:
                x = block(x)
            return self.head(x)

    net = Net()

    def constant(m):
        if isinstance(m, nn.Linear):
            nn.init.constant_(m.weight, 0.5)
            if m.bias is not None:
                nn.init.zeros_(m.bias)

    net.apply(constant)
    return {
        "modules": [name for name, _ in net.named_modules()],
        "children": [name for name, _ in net.named_children()],
        "linears": sum(isinstance(m, nn.Linear) for m in net.modules()),
        "width": net.get_submodule("blocks.1.up").out_features,
        "parameter": net.get_parameter("blocks.0.down.weight"),
        "out": net(torch.tensor([[1.0, -1.0], [0.5, 2.0]])),
        "text": str(net),
    }
