"""A page as its elements, for tests that read a report."""

from __future__ import annotations

from html.parser import HTMLParser

EMPTY = {"meta", "br", "hr", "img", "input", "link"}
"""Elements of html that are never closed."""


class Element:
    """An element of a page with its content."""

    def __init__(self, tag: str, attributes: dict[str, str]) -> None:
        self.tag = tag
        self.attributes = attributes
        self.inside: list[Element | str] = []

    def all(self, *tags: str) -> list[Element]:
        """Return all elements in it with one of these tags, in the order of the page; without tags, all."""
        found = []
        for child in self.inside:
            if isinstance(child, Element):
                found += [child] * (not tags or child.tag in tags) + child.all(*tags)
        return found

    @property
    def text(self) -> str:
        return "".join(child if isinstance(child, str) else child.text for child in self.inside).strip()

    def cells(self) -> list[list[str]]:
        """Return the texts of a table's body, row by row."""
        (body,) = self.all("tbody")
        return [[cell.text for cell in row.all("th", "td")] for row in body.all("tr")]


class Page(HTMLParser):
    """A page, read strictly: every element that is opened is closed, in the right order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.root = Element("", {})
        self._open = [self.root]
        self.feed(text)
        self.close()
        assert self._open == [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(set(names)) == len(names), f"{tag}: {names}"
        element = Element(tag, {name: value or "" for name, value in attrs})
        self._open[-1].inside.append(element)
        if tag not in EMPTY:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        self._open[-1].inside.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data!r}")

    def section(self, key: str) -> Element:
        """Return the section under the heading with this id."""
        (found,) = [one for one in self.root.all("section") if one.attributes["aria-labelledby"] == key]
        return found

    def table(self, key: str) -> Element:
        """Return the table under the heading with this id."""
        (found,) = [one for one in self.root.all("div") if one.attributes.get("aria-labelledby") == key]
        (table,) = found.all("table")
        return table

    def has(self, key: str) -> bool:
        return any(element.attributes.get("id") == key for element in self.root.all())
