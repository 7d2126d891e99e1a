"""Processes that fall silent, leave or finish, as the others see them, with a store that is a dictionary."""

import threading
import time

import pytest

from gnpolyak.base import watch
from gnpolyak.base.hosts import Peers
from gnpolyak.base.watch import Watch


class Store:
    """What JAX's client has of these methods."""

    def __init__(self):
        self.words = {}

    def key_value_set(self, key, word, allow_overwrite=False):
        assert allow_overwrite
        self.words[key] = word

    def key_value_dir_get(self, folder):
        return [(key, word) for key, word in tuple(self.words.items()) if key.startswith(f"{folder}/")]

    def key_value_delete(self, key):
        del self.words[key]


@pytest.fixture(autouse=True)
def left(monkeypatch):
    """Short times, and a process that is not made to end alone."""
    left = []
    monkeypatch.setattr(watch, "_INTERVAL", 0.01)
    monkeypatch.setattr(watch, "_SILENCE", 0.3)
    monkeypatch.setattr(watch, "_ANSWER", 0.2)
    monkeypatch.setattr(watch, "leave_alone", lambda: left.append(True))
    monkeypatch.setattr(Watch, "_part_from", lambda watch: None)
    monkeypatch.setattr(watch.Aborts, "held", lambda is_ours: None)
    monkeypatch.setattr(watch.Aborts, "let_go", lambda is_ours: None)
    return left


def entered(store, index, count=3, **kwargs):
    """A watch as process `index` has it; all of them are in the same solve."""
    Watch._solves = 0
    return Watch(Peers(count, index), store, **kwargs)


def test_processes_that_come_and_go_at_their_own_pace_are_not_lost(left):
    store = Store()
    with entered(store, 0) as first:
        time.sleep(0.4)  # The others are still loading their data.
        with entered(store, 1) as second:
            time.sleep(0.1)
        time.sleep(0.4)
    assert not first.lost.is_set()
    assert not second.lost.is_set()
    assert not left
    assert set(store.words.values()) == {"done"}


def test_one_that_falls_silent_is_lost_to_all(left, caplog):
    store = Store()
    with entered(store, 0) as first, entered(store, 1) as second, entered(store, 2) as third:
        time.sleep(0.1)
        third._over.set()  # It is dead, and has no last word.
        assert first.lost.wait(2)
        assert second.lost.wait(2)
        third.lost.set()
    assert first.reason == second.reason == "process 2 was lost: not a word for 0 s"
    assert "gnpolyak, process 1 of 3: process 2 was lost" in caplog.text


@pytest.mark.parametrize("index", [0, 2])
def test_one_that_raises_is_lost_to_the_others_with_its_reason(index):
    store = Store()
    with entered(store, 1) as other, entered(store, 2 - index) as another:
        with pytest.raises(ZeroDivisionError), entered(store, index):
            raise ZeroDivisionError("mine\nand more")
        assert other.lost.wait(2)
        assert another.lost.wait(2)
    assert other.reason == another.reason == f"process {index} left it: ZeroDivisionError: mine"


def test_what_fails_because_another_left_has_its_name():
    store = Store()
    with entered(store, 0) as first:
        store.words["gnpolyak/1/each/2"] = "left: KeyboardInterrupt"
        time.sleep(0.05)
        first.fail("another process was lost: Connection closed by peer")
    assert first.reason == "process 2 left it: KeyboardInterrupt"


def test_one_that_comes_late_to_an_error_of_all_has_lost_nobody(left):
    store = Store()

    def fail(each):
        with each:
            time.sleep(0.05)  # Long enough to hear of the others.
            raise ZeroDivisionError("everybody's")

    for index in (0, 1, 2):
        each = entered(store, index)
        with pytest.raises(ZeroDivisionError):
            fail(each)
        assert each._all_left() == (index == 2)
    assert not left


def test_the_first_is_lost_with_the_store(left):
    class Gone(Store):
        def key_value_set(self, key, word, allow_overwrite=False):
            raise RuntimeError("UNAVAILABLE: Socket closed")

    with entered(Gone(), 1) as other:
        assert other.lost.wait(2)
    assert other.reason == "process 0 was lost: RuntimeError: UNAVAILABLE: Socket closed"
    assert left == [True]


def test_a_store_that_never_answers_is_lost_too():
    forever = threading.Event()

    class Silent(Store):
        def key_value_dir_get(self, folder):
            forever.wait(5)
            return []

    with entered(Silent(), 1) as other:
        other.check()
        assert not other.lost.is_set()
        time.sleep(0.4)
        other.check()
        assert other.lost.is_set()
    forever.set()
    assert "no answer" in other.reason


def test_an_abort_is_held_up_only_where_jax_has_given_up():
    store = Store()
    with entered(store, 1) as other:
        assert not other._aborted()
        store.key_value_dir_get = lambda folder: threading.Event().wait(1)
        assert other._aborted()
        assert other.lost.is_set()


def test_words_of_solves_long_past_are_not_kept():
    store = Store()
    Watch._solves = 0
    for _ in range(5):
        with Watch(Peers(1, 0), store):
            time.sleep(0.05)
    assert sorted(store.words) == ["gnpolyak/4/first/0", "gnpolyak/5/first/0"]
