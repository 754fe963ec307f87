"""Training of generative and contrastive models, as tutorials write it."""

import math

from program_helpers import filled, values


def wgan_gp(torch):
    nn, autograd = (torch.nn, torch.autograd)
    D = filled(torch, nn.Sequential(nn.Linear(3, 8), nn.LeakyReLU(0.2), nn.LayerNorm(8), nn.Linear(8, 1)).double())
    G = filled(torch, nn.Sequential(nn.Linear(2, 8), nn.GELU(approximate="tanh"), nn.Linear(8, 3)).double())
    opt_d = torch.optim.RMSprop(D.parameters(), lr=0.005)
    opt_g = torch.optim.RMSprop(G.parameters(), lr=0.005)
    real = values(torch, 4, 3)
    out = []
    for it in range(3):
        for p in D.parameters():
            p.requires_grad = True
        with torch.no_grad():
            fake = G(values(torch, 4, 2) + it)
        alpha = values(torch, 4, 1).abs().expand_as(real)
        inter = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
        d_inter = D(inter)
        grads = autograd.grad(
            outputs=d_inter,
            inputs=inter,
            grad_outputs=torch.ones_like(d_inter),
            create_graph=True,
            retain_graph=True,
            only_inputs=True,
        )[0]
        grads = grads.view(grads.size(0), -1)
        gp = ((grads.norm(2, dim=1) - 1) ** 2).mean() * 10
        loss_d = D(fake).mean() - D(real).mean() + gp
        opt_d.zero_grad()
        loss_d.backward()
        opt_d.step()
        for p in D.parameters():
            p.requires_grad = False
        loss_g = -D(G(values(torch, 4, 2) - it)).mean()
        opt_g.zero_grad(set_to_none=True)
        loss_g.backward()
        opt_g.step()
        out += [loss_d, loss_g, gp]
    return (out, list(G.state_dict().values()))


def vq_vae(torch):
    nn, F = (torch.nn, torch.nn.functional)

    class VectorQuantizer(nn.Module):
        def __init__(self, num_embeddings, embedding_dim, commitment_cost):
            super().__init__()
            self._embedding_dim, self._num_embeddings = (embedding_dim, num_embeddings)
            self._embedding = nn.Embedding(self._num_embeddings, self._embedding_dim)
            self._embedding.weight.data.uniform_(-1 / self._num_embeddings, 1 / self._num_embeddings)
            self._commitment_cost = commitment_cost

        def forward(self, inputs):
            inputs = inputs.permute(0, 2, 3, 1).contiguous()
            input_shape = inputs.shape
            flat_input = inputs.view(-1, self._embedding_dim)
            distances = (
                torch.sum(flat_input**2, dim=1, keepdim=True)
                + torch.sum(self._embedding.weight**2, dim=1)
                - 2 * torch.matmul(flat_input, self._embedding.weight.t())
            )
            encoding_indices = torch.argmin(distances, dim=1).unsqueeze(1)
            encodings = torch.zeros(
                encoding_indices.shape[0], self._num_embeddings, device=inputs.device, dtype=inputs.dtype
            )
            encodings.scatter_(1, encoding_indices, 1)
            quantized = torch.matmul(encodings, self._embedding.weight).view(input_shape)
            e_latent_loss = F.mse_loss(quantized.detach(), inputs)
            q_latent_loss = F.mse_loss(quantized, inputs.detach())
            loss = q_latent_loss + self._commitment_cost * e_latent_loss
            quantized = inputs + (quantized - inputs).detach()
            avg_probs = torch.mean(encodings, dim=0)
            perplexity = torch.exp(-torch.sum(avg_probs * torch.log(avg_probs + 1e-10)))
            return (loss, quantized.permute(0, 3, 1, 2).contiguous(), perplexity, encodings)

    vq = filled(torch, VectorQuantizer(5, 3, 0.25).double())
    x = values(torch, 2, 3, 2, 2).requires_grad_()
    loss, q, perp, enc = vq(x)
    (loss + q.sum() * 0.1).backward()
    return (loss, q, perp, enc, x.grad, vq._embedding.weight.grad, q.is_contiguous())


def ddim_and_guidance(torch):
    ac = torch.cumprod(1 - torch.linspace(0.0001**0.5, 0.02**0.5, 20, dtype=torch.float64) ** 2, dim=0)
    seq = list(range(0, 20, 4))
    seq_next = [-1] + seq[:-1]
    cls = torch.nn.Embedding(3, 4, padding_idx=0, max_norm=1.0).double()
    filled(torch, cls)
    x = values(torch, 2, 4)
    xs, x0s = ([x], [])
    eta = 0.5
    labels = torch.tensor([1, 2])
    for i, j in zip(reversed(seq), reversed(seq_next)):
        t = (torch.ones(2) * i).to(x.device)
        at = ac.index_select(0, t.long()).view(-1, 1)
        at_next = ac.index_select(0, torch.full_like(t, max(j, 0)).long()).view(-1, 1)
        cond, uncond = (cls(labels), cls(torch.zeros_like(labels)))
        et = torch.lerp(uncond, cond, 1.5).detach() * x.tanh()
        x0 = (x - et * (1 - at).sqrt()) / at.sqrt()
        s = x0.abs().flatten(1).quantile(0.9, dim=-1).clamp_(min=1.0)
        x0 = x0.clamp(-s[:, None], s[:, None]) / s[:, None]
        c1 = eta * ((1 - at / at_next) * (1 - at_next) / (1 - at)).clamp(min=0).sqrt()
        c2 = (1 - at_next - c1**2).sqrt()
        x = at_next.sqrt() * x0 + c1 * 0.3 + c2 * et
        xs.append(x.to("cpu"))
        x0s.append(x0)
    return (torch.stack(xs), x0s[-1], cls.weight)


def normalizing_flow(torch):
    nn, D = (torch.nn, torch.distributions)

    class Coupling(nn.Module):
        def __init__(self, mask):
            super().__init__()
            self.register_buffer("mask", mask)
            self.net = nn.Sequential(nn.Linear(2, 6), nn.Tanh(), nn.Linear(6, 4))

        def forward(self, x):
            s, t = self.net(x * self.mask).chunk(2, dim=-1)
            s, t = (torch.tanh(s) * (1 - self.mask), t * (1 - self.mask))
            return (x * s.exp() + t, s.sum(-1))

        @torch.no_grad()
        def inverse(self, y):
            s, t = self.net(y * self.mask).chunk(2, -1)
            s, t = (s.tanh() * (1 - self.mask), t * (1 - self.mask))
            return (y - t) * torch.exp(-s)

    masks = torch.tensor([[0, 1], [1, 0]] * 2, dtype=torch.get_default_dtype())
    flows = nn.ModuleList([Coupling(m) for m in masks]).double()
    filled(torch, flows)
    prior = D.MultivariateNormal(torch.zeros(2, dtype=torch.double), torch.eye(2, dtype=torch.double))
    opt = torch.optim.Adamax(flows.parameters(), lr=0.01)
    x = values(torch, 8, 2)
    losses = []
    for _ in range(3):
        z, log_det = (x, x.new_zeros(len(x)))
        for f in flows:
            z, ld = f(z)
            log_det = log_det + ld
        loss = -(prior.log_prob(z) + log_det).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss)
    y = x
    for f in flows:
        y, _ = f(y)
    back = y
    for f in reversed(flows):
        back = f.inverse(back)
    return (losses, torch.allclose(back, x), list(flows.state_dict()), [k for k, _ in flows[0].named_buffers()])


def autoencoder_conv(torch):
    nn, F = (torch.nn, torch.nn.functional)

    class AE(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(1, 4, kernel_size=(3, 3), stride=(2, 2), padding=(1, 1))
            self.pool = nn.MaxPool2d(2, stride=2, return_indices=True)
            self.unpool = nn.MaxUnpool2d(2, stride=2)
            self.deconv = nn.ConvTranspose2d(4, 1, 3, stride=2, padding=1, output_padding=1)
            self.ps = nn.PixelShuffle(upscale_factor=2)

        def forward(self, x):
            h = F.elu(self.conv1(x), inplace=True)
            size = h.size()
            h, idx = self.pool(h)
            h = self.unpool(h, idx, output_size=size)
            return (self.deconv(h, output_size=x.size()), self.ps(h))

    m = filled(torch, AE().double())
    x = values(torch, 2, 1, 8, 8)
    out, ps = m(x)
    loss = nn.L1Loss(reduction="none")(out, x).flatten(start_dim=1).sum(dim=-1).mean() + ps.abs().mean()
    loss.backward()
    up = F.interpolate(out, scale_factor=0.5, mode="bilinear", align_corners=False, antialias=True)
    up2 = nn.Upsample(size=(5, 7), mode="bicubic", align_corners=True)(out)
    up3 = F.interpolate(out, size=(3, 3), mode="nearest-exact")
    return (out.shape, loss, up, up2, up3, m.conv1.weight.grad, F.pixel_unshuffle(out, 2).shape)


def simclr(torch):
    nn, F = (torch.nn, torch.nn.functional)

    def info_nce_loss(features, n_views=2, temperature=0.07):
        batch = features.shape[0] // n_views
        labels = torch.cat([torch.arange(batch) for i in range(n_views)], dim=0)
        labels = (labels.unsqueeze(0) == labels.unsqueeze(1)).float()
        features = F.normalize(features, dim=1)
        similarity_matrix = torch.matmul(features, features.T)
        mask = torch.eye(labels.shape[0], dtype=torch.bool)
        labels = labels[~mask].view(labels.shape[0], -1)
        similarity_matrix = similarity_matrix[~mask].view(similarity_matrix.shape[0], -1)
        positives = similarity_matrix[labels.bool()].view(labels.shape[0], -1)
        negatives = similarity_matrix[~labels.bool()].view(similarity_matrix.shape[0], -1)
        logits = torch.cat([positives, negatives], dim=1)
        labels = torch.zeros(logits.shape[0], dtype=torch.long)
        return (logits / temperature, labels)

    def accuracy(output, target, topk=(1,)):
        with torch.no_grad():
            maxk = max(topk)
            batch_size = target.size(0)
            _, pred = output.topk(maxk, 1, True, True)
            pred = pred.t()
            correct = pred.eq(target.view(1, -1).expand_as(pred))
            res = []
            for k in topk:
                correct_k = correct[:k].reshape(-1).float().sum(0, keepdim=True)
                res.append(correct_k.mul_(100.0 / batch_size))
            return res

    net = filled(torch, nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8, affine=False), nn.ReLU(), nn.Linear(8, 4)))
    opt = torch.optim.Adam(net.parameters(), 0.003, weight_decay=0.0001)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=4, eta_min=0, last_epoch=-1)
    a = values(torch, 4, 6).float()
    images = torch.cat([a, a + 0.1 * values(torch, 4, 6).float().flip(0)], dim=0)
    out = []
    for _ in range(3):
        logits, labels = info_nce_loss(net(images))
        loss = nn.CrossEntropyLoss()(logits, labels)
        opt.zero_grad()
        loss.backward()
        opt.step()
        top1, top5 = accuracy(logits, labels, topk=(1, 5))
        out.append((loss.item(), top1[0].item(), top5[0]))
        sched.step()
    return (out, sched.get_last_lr()[0], net[0].weight)


def triplet_and_siamese(torch):
    nn, F = (torch.nn, torch.nn.functional)
    net = filled(torch, nn.Linear(5, 3).double())
    a, p, n = (net(values(torch, 4, 5) + k) for k in (0, 0.1, 1.0))
    l1 = nn.TripletMarginLoss(margin=1.0, p=2, eps=1e-06, swap=True)(a, p, n)
    l2 = nn.TripletMarginWithDistanceLoss(distance_function=lambda x, y: 1.0 - F.cosine_similarity(x, y), margin=0.5)(
        a, p, n
    )
    euclidean = F.pairwise_distance(a, p, keepdim=True)
    label = torch.tensor([[0.0], [1], [0], [1]])
    l3 = torch.mean((1 - label) * torch.pow(euclidean, 2) + label * torch.pow(torch.clamp(2.0 - euclidean, min=0.0), 2))
    l4 = nn.CosineEmbeddingLoss(margin=0.2)(a, n, torch.tensor([1, -1, 1, -1]))
    d = torch.cdist(a, n)
    hardest = d.masked_fill(torch.eye(4).bool(), float("inf")).min(1)
    l5 = F.margin_ranking_loss(d.diag(), hardest.values, target=-torch.ones(4, dtype=d.dtype), margin=0.3)
    l6 = nn.MultiLabelSoftMarginLoss()(a, (a > 0).double()) + nn.HingeEmbeddingLoss()(
        d.diag(), torch.tensor([1.0, -1, 1, -1])
    )
    (l1 + l2 + l3 + l4 + l5 + l6).backward()
    return (l1, l2, l3, l4, l5, l6, hardest.indices, net.weight.grad)


def moco_queue(torch):
    nn, F = (torch.nn, torch.nn.functional)

    class MoCo(nn.Module):
        def __init__(self, base, dim=3, K=8, m=0.9, T=0.07):
            super().__init__()
            self.K, self.m, self.T = (K, m, T)
            self.encoder_q, self.encoder_k = (base(), base())
            for param_q, param_k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
                param_k.data.copy_(param_q.data)
                param_k.requires_grad = False
            self.register_buffer("queue", values(torch, dim, K).float())
            self.queue = nn.functional.normalize(self.queue, dim=0)
            self.register_buffer("queue_ptr", torch.zeros(1, dtype=torch.long))

        @torch.no_grad()
        def _momentum_update_key_encoder(self):
            for q, k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
                k.data = k.data * self.m + q.data * (1.0 - self.m)

        @torch.no_grad()
        def _dequeue_and_enqueue(self, keys):
            batch_size = keys.shape[0]
            ptr = int(self.queue_ptr)
            assert self.K % batch_size == 0
            self.queue[:, ptr : ptr + batch_size] = keys.T
            self.queue_ptr[0] = (ptr + batch_size) % self.K

        def forward(self, im_q, im_k):
            q = F.normalize(self.encoder_q(im_q), dim=1)
            with torch.no_grad():
                self._momentum_update_key_encoder()
                idx = torch.arange(im_k.shape[0] - 1, -1, -1)
                k = F.normalize(self.encoder_k(im_k[idx]), dim=1)[torch.argsort(idx)]
            l_pos = torch.einsum("nc,nc->n", [q, k]).unsqueeze(-1)
            l_neg = torch.einsum("nc,ck->nk", [q, self.queue.clone().detach()])
            logits = torch.cat([l_pos, l_neg], dim=1)
            logits /= self.T
            self._dequeue_and_enqueue(k)
            return (logits, torch.zeros(logits.shape[0], dtype=torch.long))

    model = MoCo(lambda: filled(torch, nn.Linear(4, 3)))
    opt = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], 0.03, momentum=0.9, weight_decay=0.0001)
    x = values(torch, 4, 4).float()
    for _ in range(3):
        out, target = model(im_q=x, im_k=x * 1.1)
        loss = F.cross_entropy(out, target)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return (loss, model.queue, model.queue_ptr, model.state_dict(), len(opt.param_groups[0]["params"]))


def clip_loss(torch):
    nn, F = (torch.nn, torch.nn.functional)
    import numpy as np

    class Clip(nn.Module):
        def __init__(self):
            super().__init__()
            self.text_projection = nn.Parameter(torch.empty(4, 3))
            self.logit_scale = nn.Parameter(torch.ones([]) * np.log(1 / 0.07))
            nn.init.normal_(self.text_projection, std=4 ** (-0.5))

        def forward(self, i, t):
            i = i / i.norm(dim=1, keepdim=True)
            t = t @ self.text_projection
            t = t / t.norm(dim=1, keepdim=True)
            logit_scale = self.logit_scale.exp()
            logits_per_image = logit_scale * i @ t.t()
            return (logits_per_image, logits_per_image.t())

    m = Clip()
    with torch.no_grad():
        m.text_projection.copy_(values(torch, 4, 3))
    li, lt = m(values(torch, 5, 3).float(), values(torch, 5, 4).float())
    labels = torch.arange(5, device=li.device)
    loss = (F.cross_entropy(li, labels) + F.cross_entropy(lt, labels)) / 2
    loss.backward()
    with torch.no_grad():
        m.logit_scale.clamp_(0, math.log(100))
    probs = li.softmax(dim=-1).detach().cpu().numpy()
    return (loss, probs, m.logit_scale, m.logit_scale.grad, m.text_projection.grad, str(m.logit_scale.shape))
