"""SWA with its own schedule, batch statistics updated at the end."""

from fixed import noise, settle


def run(torch):
    nn, optim = torch.nn, torch.optim
    model = settle(torch, nn.Sequential(nn.Linear(3, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 1)))
    averaged = optim.swa_utils.AveragedModel(model)
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    cosine = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=4)
    swa = optim.swa_utils.SWALR(optimizer, swa_lr=0.05, anneal_epochs=2)
    rates, data = [], [noise(torch, 8, 3, seed=s) for s in range(3)]
    for epoch in range(6):
        for x in data:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
            optimizer.step()
        if epoch >= 3:
            averaged.update_parameters(model)
            swa.step()
        else:
            cosine.step()
        rates.append(optimizer.param_groups[0]["lr"])
    optim.swa_utils.update_bn(data, averaged)
    averaged.eval()
    return {"rates": rates, "n": averaged.n_averaged, "y": averaged(data[0]), "mean": averaged.module[1].running_mean}
