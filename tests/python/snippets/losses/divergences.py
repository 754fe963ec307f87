"""Kullback-Leibler in its forms; distillation with a temperature; Jensen-Shannon by hand."""

from fixed import noise


def run(torch):
    F = torch.nn.functional
    student, teacher = (noise(torch, 4, 5) * 2).requires_grad_(), noise(torch, 4, 5, seed=3) * 2
    t = 3.0
    soft = F.kl_div(F.log_softmax(student / t, 1), F.softmax(teacher / t, 1), reduction="batchmean") * t * t
    log_target = F.kl_div(
        F.log_softmax(student / t, 1), F.log_softmax(teacher / t, 1), reduction="batchmean", log_target=True
    )
    soft.backward()
    p, q = student.detach().softmax(1), teacher.softmax(1)
    m = (p + q) / 2
    js = 0.5 * (F.kl_div(m.log(), p, reduction="none") + F.kl_div(m.log(), q, reduction="none")).sum(1)
    return {
        "soft": soft,
        "same": torch.allclose(soft, log_target * t * t, atol=1e-6),
        "gradient": student.grad,
        "jensen_shannon": js,
        "zero": F.kl_div(p.log(), p, reduction="sum").abs().item() < 1e-6,
        "entropy": -(p * p.log()).sum(1),
    }
