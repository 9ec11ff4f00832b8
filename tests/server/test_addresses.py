"""How addresses are counted: one computer is one source, however many addresses it can have."""

from __future__ import annotations

import pytest

from getstep_server.addresses import lan_address, local_host, reachable_host, source_of


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


@pytest.mark.parametrize(("host", "here"), [("0.0.0.0", "127.0.0.1"), ("::", "::1"), ("10.0.0.1", "10.0.0.1")])
def test_a_listener_on_all_addresses_is_reached_on_loopback_and_on_the_lan(host: str, here: str) -> None:
    assert local_host(host) == here
    assert reachable_host(host) == (host if host == here else lan_address())
