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


def spearman(a, b):
    """Of two lists; None where one of them does not vary."""
    x, y = ranks_of(a), ranks_of(b)
    mx, my = statistics.mean(x), statistics.mean(y)
    xx, yy = sum((v - mx) ** 2 for v in x), sum((v - my) ** 2 for v in y)
    if len(a) < 2 or xx == 0 or yy == 0:
        return None
    return sum((v - mx) * (w - my) for v, w in zip(x, y)) / (xx * yy) ** 0.5


def errors(rows):
    return sorted(abs(row["measured"] / row["predicted"] - 1) for row in rows)


def quantile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]
