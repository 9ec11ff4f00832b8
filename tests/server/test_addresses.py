"""How addresses are counted: one computer is one source, however many addresses it can have."""

from __future__ import annotations

import pytest

from getstep_server.addresses import source_of


@pytest.mark.parametrize(
    ("address", "source"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("2001:db8:0:1::7", "2001:db8:0:1::/64"),
        ("2001:db8:0:1:ffff:ffff:ffff:ffff", "2001:db8:0:1::/64"),
        ("2001:db8:0:2::7", "2001:db8:0:2::/64"),
        ("fe80::1%eth0", "fe80::1%eth0"),
        ("not an address", "not an address"),
    ],
)
def test_the_part_of_an_address_that_stands_for_one_computer(address: str, source: str) -> None:
    assert source_of(address) == source
