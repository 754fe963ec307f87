"""Distance of two sequences of words by dynamic programming in a tensor; error rate."""


def run(torch):
    def distance(a, b):
        table = torch.zeros(len(a) + 1, len(b) + 1, dtype=torch.int32)
        table[:, 0] = torch.arange(len(a) + 1)
        table[0] = torch.arange(len(b) + 1)
        for i in range(1, len(a) + 1):
            for j in range(1, len(b) + 1):
                change = table[i - 1, j - 1] + (a[i - 1] != b[j - 1])
                table[i, j] = min(change, table[i - 1, j] + 1, table[i, j - 1] + 1)
        return table

    table = distance("kitten", "sitting")
    pairs = [("a b c d", "a x c"), ("one two", "one two"), ("x", "y z")]
    errors = torch.tensor([distance(a.split(), b.split())[-1, -1] for a, b in pairs])
    return {"table": table, "errors": errors, "rate": errors.sum() / sum(len(a.split()) for a, _ in pairs)}
