"""What a call costs: bytes, operations, numbers on the wire; and which sizes follow for a given time.

The problem is the paper's: rows P and Q of m×d numbers, a variable of d×r, as many rows on each host. A call reads the
rows (a pass) and then all hosts add up d·r + 1 numbers, the subgradient and the value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

ITEM = 8
"""Bytes of a float64."""
MATRICES = 2
"""P and Q."""


@dataclass(frozen=True)
class Network:
    """What a sum over all hosts takes: ⌈log₂ hosts⌉ messages one after the other, and a ring for what they carry."""

    latency: float
    """Seconds of a message."""
    bandwidth: float
    """Bytes a second that a host sends."""

    def seconds(self, numbers: int, hosts: int) -> float:
        """A sum of that many float64 over that many hosts, which all of them get."""
        if hosts == 1:
            return 0.0
        travelling = 2 * (hosts - 1) / hosts * ITEM * numbers
        return self.latency * math.ceil(math.log2(hosts)) + travelling / self.bandwidth


@dataclass(frozen=True)
class Host:
    """A machine, or a GPU with a network of its own."""

    speed: float
    """Bytes of rows that a pass takes in a second."""
    memory: float
    """Bytes that rows may fill."""


def row_bytes(d: int, m: int, reads: int = 1) -> int:
    """Bytes of P and Q that a call reads: once where a pass is fused, twice where XLA multiplies back and forth."""
    return reads * MATRICES * m * d * ITEM


def operations(d: int, r: int, m: int) -> int:
    """Additions and multiplications of a call: 2mdr for each of PX and Pᵀ(w ⊙ PX), and the same for Q.

    What a measurement costs beside them, its powers and its sign, is O(mr), and a step on d×r arrays O(dr²).
    """
    return MATRICES * 2 * (2 * m * d * r)


def numbers(d: int, r: int) -> int:
    """How many numbers the hosts add up for a call: the subgradient and the value."""
    return d * r + 1


def iteration(d: int, r: int, m: int, host: Host, network: Network, hosts: int) -> float:
    """Seconds of an iteration with m rows on each host."""
    return row_bytes(d, m) / host.speed + network.seconds(numbers(d, r), hosts)


def rows_within(seconds: float, d: int, r: int, host: Host, network: Network, hosts: int) -> int:
    """The most rows of each host with which an iteration takes no longer, and which it has room for."""
    left = max(0.0, seconds - network.seconds(numbers(d, r), hosts))
    return int(min(left * host.speed, host.memory) // row_bytes(d, 1))


def hosts_within(seconds: float, d: int, r: int, m: int, host: Host, network: Network) -> int | None:
    """The fewest hosts that m rows in all need; None where the sum over them alone takes longer."""
    hosts = 1
    while True:
        room = rows_within(seconds, d, r, host, network, hosts)
        if room == 0:
            return None
        # More hosts never leave more time for rows, so that what falls short here is below every solution.
        needed = -(-m // room)
        if needed <= hosts:
            return hosts
        hosts = needed


def largest_within(seconds: float, r: int, rows: int, host: Host, network: Network, hosts: int) -> int:
    """The largest d that so many hosts can take with m = rows·d·r rows in all."""
    low, high = 0, 2**40
    while high - low > 1:
        d = (low + high) // 2
        if rows * d * r <= hosts * rows_within(seconds, d, r, host, network, hosts):
            low = d
        else:
            high = d
    return low
