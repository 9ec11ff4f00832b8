"""Cheapest perfect matchings, by which a Swiss round is paired.

Theory of operation. Edmonds' blossom algorithm finds a perfect matching of least cost, and prices that prove it:

- Each vertex has a price, and so has each blossom. A blossom is an odd cycle of vertices or of smaller blossoms.
- The slack of an edge is its cost, less the prices of its two vertices, plus those of the blossoms that hold both.
- No slack and no price of a blossom is ever negative. Edges of the matching and of blossoms' cycles have slack 0.

So any other perfect matching costs more by the sum of its slacks. A search grows a tree from an unmatched vertex,
as Dijkstra's algorithm does: time is how far the prices in the tree have changed. Vertices an even number of edges
from the root become dearer, those in between cheaper. A heap holds the times at which an edge comes to slack 0, or
a blossom to price 0. A search ends at another unmatched vertex: the path to it is flipped.

Of n teams nearly all n²/2 pairs are possible, but a round uses cheap ones. So searches see only the cheapest edges
of each vertex. Then the prices tell which of all other edges have a negative slack. Those are added, the prices
are corrected, and searches continue until there are none. The result is optimal among all edges, though most were
never searched: at 256 teams 1,300 to 9,000 of 32,640.

Sources: J. Edmonds, "Maximum matching and a polyhedron with 0,1-vertices", J. Res. NBS 69B (1965); for seeing few
edges and proving by prices W. Cook and A. Rohe, "Computing minimum-weight perfect matchings", INFORMS J. on
Computing 11 (1999).

Libraries were considered and rejected. networkx is exact, but took 36 s for 256 teams. rustworkx has weights of
128 bits, too few for the costs of 1,024 teams, and takes 80 MB with numpy. Those made for error correction
(PyMatching, fusion-blossom) round weights to still fewer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heappush, nsmallest
from typing import Final, TypeAlias

SEEN = 10
"""The cheapest edges of each vertex that searches see at first."""

MORE = 4
"""The factor by which searches see more edges if there is no perfect matching among those seen."""

Pair: TypeAlias = tuple[int, int]
"""Two vertices."""

Link: TypeAlias = tuple[int, int]
"""An edge with a direction: it leaves the node of its first vertex and enters that of its second."""

ROOT: Final[Link] = (-1, -1)
"""The entry of the tree's root, and of nodes outside."""

Edge: TypeAlias = tuple[int, int, int]
"""Two vertices and a cost."""

Costs: TypeAlias = Sequence[Sequence[int | None]]
"""By vertex and vertex, symmetric; None where there is no edge."""

FREE: Final = 0
EVEN: Final = 1
ODD: Final = -1
"""The position of a node in the tree; FREE is outside. A vertex's price changes by this much a unit of time."""


def cheapest_perfect_matching(costs: Costs) -> list[Pair] | None:
    """Return the pairs of a perfect matching with the least sum of costs, sorted; None if none is perfect.

    Of several with the least sum it is any one, but always the same one for the same costs.
    """
    if len(costs) % 2:  # one vertex would stay alone
        return None
    seen = SEEN
    matcher = _Matcher(len(costs), _cheapest_edges(costs, seen))
    while True:
        if matcher.match_all():
            missing = list(matcher.underpriced(costs))
            if not missing:
                return matcher.pairs()
        elif seen < len(costs):
            seen *= MORE
            missing = _cheapest_edges(costs, seen)
        else:
            return None
        matcher.add(missing)


def _cheapest_edges(costs: Costs, count: int) -> list[Edge]:
    """Return the cheapest edges of each vertex, at most ``count`` of each, none twice."""
    edges: dict[Pair, int] = {}
    for vertex, row in enumerate(costs):
        there = ((cost, other) for other, cost in enumerate(row) if cost is not None)
        for cost, other in nsmallest(count, there):
            edges[min(vertex, other), max(vertex, other)] = cost
    return [(u, v, cost) for (u, v), cost in edges.items()]


class _Node:
    """A vertex, or a blossom with its cycle of nodes.

    Args:
        vertices: all in it.
        base: the vertex that is matched outside, or not at all.
        children: the cycle's nodes. The first holds the base; then each one of even index is matched with the one
            before it.
        links: of each child to the next one, and of the last to the first.
    """

    __slots__ = ("base", "children", "entry", "label", "links", "parent", "price", "vertices")

    def __init__(
        self, vertices: list[int], base: int, children: Sequence[_Node] = (), links: Sequence[Link] = ()
    ) -> None:
        self.vertices, self.base = vertices, base
        self.children, self.links = children, links
        self.parent: _Node | None = None
        self.price = 0
        self.label: int = FREE
        self.entry = ROOT
        """The edge by which the tree reaches this node."""

    def blossoms(self) -> Iterator[_Node]:
        """Yield this node and all nodes in it that are blossoms, the outer ones first."""
        todo = [self]
        while todo:
            node = todo.pop()
            if node.children:
                yield node
                todo += node.children


class _Matcher:
    """A matching with prices that prove it cheapest for the vertices that it matches.

    All costs are doubled, so that halves of slacks are whole numbers.
    """

    def __init__(self, vertices: int, edges: Iterable[Edge]) -> None:
        self.near: list[dict[int, int]] = [{} for _ in range(vertices)]
        """The edges seen, by vertex and vertex, with doubled costs."""
        self.mate: list[int | None] = [None] * vertices
        self._leaves = [_Node([vertex], vertex) for vertex in range(vertices)]
        self.top = list(self._leaves)
        """The outermost node that holds a vertex."""
        self._see(edges)
        self.price = [min(near.values(), default=0) // 2 for near in self.near]
        self._match_greedily()

    def pairs(self) -> list[Pair]:
        return [(u, v) for u, v in enumerate(self.mate) if v is not None and u < v]

    def match_all(self) -> bool:
        """Match every vertex; return False if there is no perfect matching among the edges seen."""
        roots = (self.top[vertex] for vertex in range(len(self.mate)))
        return all(_Search(self).run(root) for root in roots if self.mate[root.base] is None)

    def underpriced(self, costs: Costs) -> Iterator[Edge]:
        """Yield the edges not seen that have a negative slack."""
        for u, row in enumerate(costs):
            price, near, top = self.price[u], self.near[u], self.top[u]
            for v, (cost, other) in enumerate(zip(row[:u], self.price, strict=False)):
                if cost is None or 2 * cost >= price + other or v in near:
                    continue
                if 2 * cost - price - other + (self._shared(u, v) if top is self.top[v] else 0) < 0:
                    yield u, v, cost

    def add(self, edges: Iterable[Edge]) -> None:
        """Add further edges. Vertices whose prices are too high for them become cheaper, and are matched again."""
        new = list(edges)
        self._see(new)
        for u, v, _ in new:
            if self._slack(u, v) < 0:
                self._dissolve(self.top[u])
                self._dissolve(self.top[v])
                slack = self._slack(u, v)
                if slack < 0:
                    self.price[u] += slack
                    self._unmatch(u)
        self._match_greedily()

    def turn(self, inner: int, outer: int) -> None:
        """Match two vertices, and flip the path from ``inner`` in the tree to the root.

        ``outer`` is in an unmatched node outside.
        """
        self._make_base(self.top[outer], outer)
        while True:
            node = self.top[inner]
            self._make_base(node, inner)
            self.mate[outer], self.mate[inner] = inner, outer
            if node.entry is ROOT:
                return
            odd = self.top[node.entry[0]]
            inner, outer = odd.entry
            self._make_base(odd, outer)

    def _see(self, edges: Iterable[Edge]) -> None:
        for u, v, cost in edges:
            self.near[u][v] = self.near[v][u] = 2 * cost

    def _match_greedily(self) -> None:
        """Raise the price of each unmatched vertex as far as possible.

        If that leads to another unmatched vertex, match the two.
        """
        for u, near in enumerate(self.near):
            if near and self.mate[u] is None and not self.top[u].children:
                self.price[u], v = min((cost - self.price[v], v) for v, cost in near.items())
                if self.mate[v] is None and not self.top[v].children:
                    self.mate[u], self.mate[v] = v, u

    def _slack(self, u: int, v: int) -> int:
        slack = self.near[u][v] - self.price[u] - self.price[v]
        return slack + self._shared(u, v) if self.top[u] is self.top[v] else slack

    def _shared(self, u: int, v: int) -> int:
        """Return the sum of the prices of the blossoms that hold both."""
        around = set(self._around(u))
        return sum(node.price for node in self._around(v) if node in around)

    def _around(self, vertex: int) -> Iterator[_Node]:
        """Yield all nodes that hold a vertex, the innermost first."""
        node: _Node | None = self._leaves[vertex]
        while node is not None:
            yield node
            node = node.parent

    def _unmatch(self, vertex: int) -> None:
        mate = self.mate[vertex]
        if mate is not None:
            self.mate[vertex] = self.mate[mate] = None

    def _dissolve(self, top: _Node) -> None:
        """Remove a blossom and those in it: their vertices become cheaper instead."""
        for blossom in top.blossoms():
            half = blossom.price // 2
            if half:  # then the edge that leaves it has a slack
                self._unmatch(blossom.base)
            for vertex in blossom.vertices:
                self.price[vertex] -= half
            self.unfold(blossom)

    def unfold(self, blossom: _Node) -> None:
        """Put its children in an outermost blossom's place."""
        for child in blossom.children:
            child.parent = None
            for vertex in child.vertices:
                self.top[vertex] = child

    def _make_base(self, node: _Node, vertex: int) -> None:
        """Match the inside of a node again so that this vertex is left over."""
        todo = [(node, vertex)]  # no recursion: blossoms may be hundreds deep
        while todo:
            node, vertex = todo.pop()
            if node.base == vertex:
                continue
            first = next(inside for inside in self._around(vertex) if inside.parent is node)
            at = node.children.index(first)
            node.children = [*node.children[at:], *node.children[:at]]
            node.links = [*node.links[at:], *node.links[:at]]
            node.base = vertex
            todo.append((first, vertex))
            for place in range(1, len(node.children), 2):
                one, other = node.links[place]
                self.mate[one], self.mate[other] = other, one
                todo += [(node.children[place], one), (node.children[place + 1], other)]


class _Search:
    """A tree that grows from an unmatched node until it reaches another one.

    Prices of vertices in the tree change all the time, so they are stored as they would be at time 0. The current
    price is the stored one, plus the time if the vertex is EVEN, less the time if it is ODD. The price of an
    outermost blossom changes in the same direction, by 2 a unit of time.
    """

    def __init__(self, matcher: _Matcher) -> None:
        self._matcher = matcher
        self._near, self._price, self._mate, self._top = matcher.near, matcher.price, matcher.mate, matcher.top
        self._now = 0
        self._heap: list[tuple[int, int, int]] = []
        """The times of events, some of them outdated.

        An edge comes to slack 0: the time, its EVEN vertex, and the other one. Or an ODD blossom comes to price 0:
        the time, -1, and its place in ``_tree``."""
        self._tree: list[_Node] = []
        """All nodes that are or were in the tree."""
        self._latest: int | None = None
        """The time at which the search ends at the latest: then an edge to an unmatched node has slack 0."""

    def run(self, root: _Node) -> bool:
        """Match the root; return False if no path leads from it to another unmatched node."""
        self._take(root, EVEN, ROOT)
        self._look_around(root.vertices)
        end = self._grow()
        if end is not None:
            self._matcher.turn(*end)
        self._settle()
        return end is not None

    def _grow(self) -> Link | None:
        """Return the edge at which an unmatched node is reached; None if no path leads to one."""
        near, price, top = self._near, self._price, self._top
        while self._heap:
            at, u, v = heappop(self._heap)
            if u < 0:
                self._expand_if_spent(self._tree[v], at)
                continue
            node = top[v]
            if node is top[u] or node.label == ODD:
                continue
            ages = at if node.label == FREE else 2 * at
            if near[u][v] - price[u] - price[v] != ages:
                continue  # the node was ODD in between, and its edges were put into the heap again
            self._now = at
            if node.label == EVEN:
                self._shrink(u, v)
            elif (mate := self._mate[node.base]) is None:
                return u, v
            else:
                self._take(node, ODD, (u, v))
                self._take(top[mate], EVEN, (node.base, mate))
                self._look_around(top[mate].vertices)
        return None

    def _settle(self) -> None:
        """Store the current prices, and forget the tree."""
        for node in self._tree:
            if node.parent is None and node.label != FREE:
                self._change(node, node.label, FREE)
                node.entry = ROOT

    # --- the tree's nodes ---

    def _take(self, node: _Node, label: int, entry: Link) -> None:
        """Take a FREE node into the tree."""
        self._change(node, FREE, label)
        node.entry = entry
        self._tree.append(node)
        if label == ODD and node.children:
            heappush(self._heap, (node.price // 2, -1, len(self._tree) - 1))

    def _change(self, node: _Node, before: int, label: int) -> None:
        """Change only the label of a node: its current prices stay as before."""
        node.label = label
        change = (before - label) * self._now
        for vertex in node.vertices:
            self._price[vertex] += change
        if node.children:
            node.price += 2 * change

    def _look_around(self, vertices: Iterable[int]) -> None:
        """Push the times at which the edges of EVEN vertices come to slack 0."""
        price, top, mate, heap, latest = self._price, self._top, self._mate, self._heap, self._latest
        for u in vertices:
            mine, here = price[u], top[u]
            for v, cost in self._near[u].items():
                node = top[v]
                if node is here or node.label == ODD:
                    continue
                at = cost - mine - price[v]
                if node.label == EVEN:
                    at //= 2
                if latest is None or at < latest:
                    heappush(heap, (at, u, v))
                    if node.label == FREE and mate[node.base] is None:
                        latest = at
        self._latest = latest

    def _look_back(self, vertices: Iterable[int]) -> None:
        """Push the times at which edges from the tree to vertices that have just left it come to slack 0."""
        for v in vertices:
            for u, cost in self._near[v].items():
                if self._top[u].label == EVEN:
                    heappush(self._heap, (cost - self._price[u] - self._price[v], u, v))

    # --- blossoms ---

    def _shrink(self, u: int, v: int) -> None:
        """Make a blossom of the cycle that an edge of two EVEN vertices closes."""
        one, other = self._way_up(u), self._way_up(v)
        while len(one) > 1 and len(other) > 1 and one[-2] is other[-2]:
            one.pop()
            other.pop()
        # the last of each is the common ancestor, which `links` must not have twice
        down, up = one[-2::-1], other[:-1]
        links = [*(node.entry for node in down), (u, v), *(_reverse(node.entry) for node in up)]
        blossom = _Node([], one[-1].base, [one[-1], *down, *up], links)
        entry = one[-1].entry
        new: list[int] = []
        for child in blossom.children:
            new += child.vertices if child.label == ODD else ()
            self._change(child, child.label, FREE)
            child.entry, child.parent = ROOT, blossom
            blossom.vertices += child.vertices
        for vertex in blossom.vertices:
            self._top[vertex] = blossom
        self._take(blossom, EVEN, entry)
        self._look_around(new)

    def _way_up(self, vertex: int) -> list[_Node]:
        """Return the nodes from an EVEN one to the root."""
        way = [self._top[vertex]]
        while way[-1].entry is not ROOT:
            way.append(self._top[way[-1].entry[0]])
        return way

    def _expand_if_spent(self, blossom: _Node, at: int) -> None:
        if blossom.label == ODD and blossom.parent is None and blossom.price == 2 * at:
            self._now = at
            self._expand(blossom)

    def _expand(self, blossom: _Node) -> None:
        """Put an ODD blossom's children in its place: those on the even way around it stay in the tree."""
        entry = blossom.entry
        self._change(blossom, ODD, FREE)
        self._matcher.unfold(blossom)
        at, size = blossom.children.index(self._top[entry[1]]), len(blossom.children)
        # the even way to the base goes on around the circle from an odd place, and back from an even one
        if at % 2:
            places, links = [*range(at, size), 0], blossom.links[at:]
        else:
            places, links = [*range(at, -1, -1)], [_reverse(link) for link in reversed(blossom.links[:at])]
        for number, (place, link) in enumerate(zip(places, [entry, *links], strict=True)):
            # the labels alternate from the entry to the base
            self._take(blossom.children[place], EVEN if number % 2 else ODD, link)
        for child in blossom.children:
            if child.label == EVEN:
                self._look_around(child.vertices)
            elif child.label == FREE:
                self._look_back(child.vertices)


def _reverse(link: Link) -> Link:
    return link[1], link[0]
