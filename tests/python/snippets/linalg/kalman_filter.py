"""A Kalman filter over noisy positions, with batched matrices."""

from fixed import noise


def run(torch):
    torch.set_default_dtype(torch.float64)
    F_, H = torch.tensor([[1.0, 1.0], [0.0, 1.0]]), torch.tensor([[1.0, 0.0]])
    Q, R = 0.01 * torch.eye(2), torch.tensor([[0.5]])
    x, P = torch.zeros(3, 2, 1), torch.eye(2).expand(3, 2, 2).clone()
    track = []
    for t in range(5):
        z = (torch.arange(3.0) * t + noise(torch, 3, seed=t).double() * 0.3).view(3, 1, 1)
        x, P = F_ @ x, F_ @ P @ F_.T + Q
        S = H @ P @ H.T + R
        K = torch.linalg.solve(S.mT, H @ P.mT).mT
        x = x + K @ (z - H @ x)
        P = (torch.eye(2) - K @ H) @ P
        track.append(x[:, 0, 0])
    return {"track": torch.stack(track), "P": P, "speed": x[:, 1, 0]}
