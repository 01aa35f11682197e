"""The heaviest one-to-one assignment of rows to columns, in exact integers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def heaviest(weights: Sequence[Mapping[int, int]], columns: int) -> list[int]:
    """The column of each row, or -1, such that the sum of weights is largest.

    `weights[row]` holds positive weights of the columns open to that row. The Hungarian method
    with potentials (Kuhn 1955; Jonker and Volgenant 1987): rows^2 * columns steps. Python's
    integers keep it exact where the weights are larger than a machine word.
    """
    rows = len(weights)
    width = columns + rows  # a column of weight 0 each, so that any row may stay unassigned
    # Row and column 0 are the method's sentinels; a cost is the negated weight.
    row_of = [0] * (width + 1)
    u, v = [0] * (rows + 1), [0] * (width + 1)
    infinity = 1 + 2 * sum(max(row.values(), default=0) for row in weights)
    for row in range(1, rows + 1):
        row_of[0] = row
        _augment(weights, row_of, u, v, infinity)
    found = [-1] * rows
    for column in range(1, columns + 1):
        row = row_of[column]
        if row and column - 1 in weights[row - 1]:
            found[row - 1] = column - 1
    return found


def _augment(
    weights: Sequence[Mapping[int, int]], row_of: list[int], u: list[int], v: list[int], far: int
) -> None:
    """Give the row at sentinel column 0 a column along the cheapest alternating path."""
    width = len(v)
    slack, before = [far] * width, [0] * width
    done = [False] * width
    column = 0
    while row_of[column]:
        done[column] = True
        row = row_of[column]
        for j in range(1, width):
            if not done[j]:
                reduced = -weights[row - 1].get(j - 1, 0) - u[row] - v[j]
                if reduced < slack[j]:
                    slack[j], before[j] = reduced, column
        nearest = min((j for j in range(1, width) if not done[j]), key=slack.__getitem__)
        delta = slack[nearest]
        for j in range(width):
            if done[j]:
                u[row_of[j]] += delta
                v[j] -= delta
            else:
                slack[j] -= delta
        column = nearest
    while column:
        row_of[column] = row_of[before[column]]
        column = before[column]
