"""Work that is given up between two of its parts, and rounds that make do with what they have."""

import numpy as np
import pytest

from gnpolyak.base.halting import HaltedError, go_on, halted_by, hurried_by, interrupts, is_halted, is_hurried, rounds
from gnpolyak.base.namespace import while_loop


def test_nothing_is_halted_unless_somebody_says_so():
    go_on()
    assert not is_halted()
    assert not is_hurried()
    assert list(rounds(3)) == [0, 1, 2]


def test_a_loop_on_the_host_is_given_up_between_two_turns():
    turns = []

    def turn(count):
        turns.append(count)
        return count + 1

    with pytest.raises(HaltedError), halted_by(lambda: len(turns) == 3):
        while_loop(np, lambda count: count < 10, turn, 0)
    assert turns == [0, 1, 2]
    assert while_loop(np, lambda count: count < 5, turn, 3) == 5


def test_rounds_end_early_but_not_before_the_first():
    made = []
    with hurried_by(lambda: len(made) >= 2):
        made += [0, 0]
        assert list(rounds(5)) == [0]
    with hurried_by(lambda: len(made) >= 4):
        for _ in rounds(5):
            made.append(1)
    assert len(made) == 4
    with pytest.raises(HaltedError), halted_by(lambda: True):
        list(rounds(5))


def test_inside_another_block_the_inner_one_counts():
    with halted_by(lambda: True):
        with halted_by(lambda: False):
            go_on()
        with pytest.raises(KeyboardInterrupt), interrupts():
            go_on()
