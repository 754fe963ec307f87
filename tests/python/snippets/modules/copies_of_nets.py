"""deepcopy of a net: own memory, same values, ties kept; the teacher of a student."""

import copy

from fixed import noise, settle


def run(torch):
    nn = torch.nn
    student = settle(torch, nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 4), nn.Linear(4, 4)))
    student[3].weight = student[2].weight
    teacher = copy.deepcopy(student).requires_grad_(False)
    x = noise(torch, 2, 3)
    same = torch.equal(student(x), teacher(x))
    with torch.no_grad():
        for mine, its in zip(student.parameters(), teacher.parameters()):
            mine.add_(1)
            its.mul_(0.9).add_(mine, alpha=0.1)
    clones = nn.ModuleList([copy.deepcopy(nn.Linear(2, 2)) for _ in range(3)])
    return {
        "same": same,
        "tied": teacher[3].weight is teacher[2].weight,
        "apart": teacher[0].weight is not student[0].weight,
        "requires": [p.requires_grad for p in teacher.parameters()],
        "averaged": teacher[0].weight,
        "out": teacher(x),
        "clones": len({id(m.weight) for m in clones}),
    }
