"""Numbers about rows: errors, and whether the order of predictions is the order of times."""
import statistics


def ranks_of(values):
    order = sorted(range(len(values)), key=lambda i: values[i])
    ranks = [0.0] * len(values)
    i = 0
    while i < len(order):
        j = i
        while j + 1 < len(order) and values[order[j + 1]] == values[order[i]]:
            j += 1
        for k in range(i, j + 1):
            ranks[order[k]] = (i + j) / 2
        i = j + 1
    return ranks


def spearman(a, b, counts=lambda i, j: True):
    """Of two lists, by the products of their differences in rank over all pairs, or those that count; None where one of them does not vary there."""
    x, y = ranks_of(a), ranks_of(b)
    pairs = [(x[i] - x[j], y[i] - y[j]) for i in range(len(a)) for j in range(i) if counts(i, j)]
    xx, yy = sum(v * v for v, _ in pairs), sum(w * w for _, w in pairs)
    return None if xx == 0 or yy == 0 else sum(v * w for v, w in pairs) / (xx * yy) ** 0.5


def errors(rows):
    return sorted(abs(row["measured"] / row["predicted"] - 1) for row in rows)


def quantile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]
