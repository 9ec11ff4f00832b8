"""The cheapest perfect matching, against all there are; where they are too many, against dynamic programming."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from getstep_server.formats import _matching
from getstep_server.formats._matching import Costs, Pair, cheapest_perfect_matching


def symmetric(vertices: int, edges: dict[Pair, int]) -> Costs:
    costs: list[list[int | None]] = [[None] * vertices for _ in range(vertices)]
    for (u, v), cost in edges.items():
        costs[u][v] = costs[v][u] = cost
    return costs


def total(costs: Costs, pairs: list[Pair]) -> int:
    """Return the cost of a perfect matching, which it has to be."""
    assert sorted(vertex for pair in pairs for vertex in pair) == list(range(len(costs)))
    assert pairs == sorted(pairs)
    assert all(u < v for u, v in pairs)
    found = [costs[u][v] for u, v in pairs]
    assert None not in found
    return sum(cost for cost in found if cost is not None)


def perfect(vertices: list[int], costs: Costs) -> Iterator[list[Pair]]:
    """Yield all perfect matchings."""
    if not vertices:
        yield []
        return
    first, *others = vertices
    for second in others:
        if costs[first][second] is not None:
            rest = [vertex for vertex in others if vertex != second]
            yield from ([(first, second), *pairs] for pairs in perfect(rest, costs))


def least(costs: Costs) -> int | None:
    """Return the cost of the cheapest perfect matching, by dynamic programming over sets of vertices.

    None if none is.
    """
    best: dict[int, int] = {0: 0}
    for taken in range(2 ** len(costs) - 1):
        if taken not in best:
            continue
        first = next(vertex for vertex in range(len(costs)) if not taken >> vertex & 1)
        for second in range(first + 1, len(costs)):
            cost = costs[first][second]
            if cost is not None and not taken >> second & 1:
                both = taken | 1 << first | 1 << second
                best[both] = min(best.get(both, best[taken] + cost), best[taken] + cost)
    return best.get(2 ** len(costs) - 1)


def on_a_map(vertices: int, dice: Random) -> dict[Pair, int]:
    """Squares of distances between points, most of them in groups of an odd number: so blossoms are made."""
    centres = [(dice.randrange(100), dice.randrange(100)) for _ in range(vertices // 3 or 1)]
    points = [
        (x + dice.randrange(6), y + dice.randrange(6)) for x, y in (dice.choice(centres) for _ in range(vertices))
    ]
    return {
        (u, v): sum((a - b) ** 2 for a, b in zip(points[u], points[v], strict=True))
        for v in range(vertices)
        for u in range(v)
    }


@pytest.fixture(params=[1, 2, _matching.SEEN], ids="seen {}".format)
def seen(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches begin with so few edges that they see the others because of prices, or because none is perfect."""
    monkeypatch.setattr(_matching, "SEEN", request.param)


EDGES = st.integers(0, 8).flatmap(
    lambda n: st.tuples(
        st.just(n),
        st.dictionaries(
            st.tuples(st.integers(0, max(0, n - 1)), st.integers(0, max(0, n - 1))).filter(
                lambda pair: pair[0] < pair[1]
            ),
            st.integers(-5, 60) | st.integers(-(2**140), 2**140),
        ),
    )
)


@pytest.mark.usefixtures("seen")
@settings(max_examples=100)
@given(graph=EDGES)
def test_no_other_perfect_matching_is_cheaper(graph: tuple[int, dict[Pair, int]]) -> None:
    costs = symmetric(*graph)
    found = cheapest_perfect_matching(costs)
    all_there_are = [total(costs, pairs) for pairs in perfect(list(range(len(costs))), costs)]
    if found is None:
        assert all_there_are == []
    else:
        assert total(costs, found) == min(all_there_are)


@pytest.mark.usefixtures("seen")
@pytest.mark.parametrize("seed", range(12))
def test_it_is_the_cheapest_where_there_are_135135(seed: int) -> None:
    dice = Random(seed)
    edges = on_a_map(14, dice)
    costs = symmetric(14, {pair: cost for pair, cost in edges.items() if dice.random() < (1, 0.8, 0.4)[seed % 3]})
    found, expected = cheapest_perfect_matching(costs), least(costs)
    assert (None if found is None else total(costs, found)) == expected


@pytest.mark.parametrize("seed", range(5))
def test_the_matching_does_not_depend_on_how_many_edges_are_seen(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lot for each edge leaves one cheapest matching."""
    dice = Random(seed)
    costs = symmetric(90, {pair: cost << 60 | dice.getrandbits(50) for pair, cost in on_a_map(90, dice).items()})
    found = []
    for number in (1, 3, 90):
        monkeypatch.setattr(_matching, "SEEN", number)
        found.append(cheapest_perfect_matching(costs))
    assert found[0] is not None
    assert found == [found[0]] * 3


def test_blossoms_may_be_deep() -> None:
    """600 points on a line, each further from the last than that from all before, do not exhaust the recursion."""
    at = [1.1**n for n in range(600)]
    costs = symmetric(600, {(u, v): int((at[v] - at[u]) * 1e6) for v in range(600) for u in range(v)})
    assert cheapest_perfect_matching(costs) == [(n, n + 1) for n in range(0, 600, 2)]
