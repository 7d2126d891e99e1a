"""A solve in a file: what ends it costs nothing but time, and nothing is believed that is not its own."""

import os
import signal
import threading
import warnings
from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak.base import container
from gnpolyak.solve import driver
from solve.killed import bits, curve, killed, solve

START = np.array([1.0, 1.0, 0.0])


def decay(seed=3, offset=0.5):
    t = np.linspace(0, 4, 60)
    b = 2.5 * np.exp(-1.3 * t) + offset + 0.01 * np.random.default_rng(seed).standard_normal(60)
    b[::8] += 3.0
    return gnp.composite(lambda p, t: p[0] * jnp.exp(-p[1] * t) + p[2], gnp.L1(b), args=(t,))


def unclocked(res):
    """All of a result but what the caller waited for it, which includes the time of reading a file."""
    return replace(res, seconds=0.0)


def stopping_after(chunks):
    seen = iter(range(10**9))

    def stop(res):
        if next(seen) >= chunks:
            raise StopIteration

    return stop


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A checkpoint of a solve that was stopped on its way."""
    path = tmp_path_factory.mktemp("whole") / "run.ckpt"
    res = gnp.minimize(decay(), START, checkpoint=path, callback=stopping_after(1))
    assert res.status is gnp.Status.STOPPED_BY_CALLBACK
    return path.read_bytes()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_at_random_moments_it_ends_with_the_same_bits(tmp_path):
    delays = np.random.default_rng().uniform(0.0, 0.1, 2)
    told = killed("curve", tmp_path / "run.ckpt", [f"{delay:.4f}" for delay in delays])
    kills = [line for line in told if line.startswith("killed True")]
    assert len(kills) == 2
    assert not any("with 0 bytes" in line for line in kills)
    assert {line for line in told if " " not in line} == {bits(solve("curve"))}, delays


def test_a_solve_that_has_ended_is_read_and_not_made_again(tmp_path):
    calls = []
    problem, options = curve()
    counted = gnp.composite(gnp.NumpyMap(lambda p: calls.append(p) or problem.map.host.function(p)), problem.penalty)
    first = gnp.minimize(counted, **options, checkpoint=tmp_path / "run.ckpt")
    made, written = len(calls), (tmp_path / "run.ckpt").read_bytes()
    again = gnp.minimize(counted, **options, checkpoint=tmp_path / "run.ckpt")
    assert unclocked(again) == unclocked(first)
    assert again.seconds > first.history.seconds[-1]  # the clock goes on
    assert again.success
    assert len(calls) - made < made / 4
    assert (tmp_path / "run.ckpt").read_bytes() == written


def test_in_pieces_it_is_one_solve(tmp_path):
    whole, path = gnp.minimize(decay(), START), tmp_path / "run.ckpt"
    pieces = 0
    while True:
        res = gnp.minimize(decay(), START, checkpoint=path, callback=stopping_after(1))
        pieces += 1
        if res.status is not gnp.Status.STOPPED_BY_CALLBACK:
            break
    assert pieces > 3
    assert bits(res) == bits(whole)
    assert res.seconds >= res.history.seconds[-1]
    assert (np.diff(res.history.seconds) >= 0).all()


def test_altered_at_random_places_it_is_refused(whole, tmp_path):
    rng, problem, path = np.random.default_rng(), decay(), tmp_path / "run.ckpt"
    for kind in range(200):
        place, bit = int(rng.integers(len(whole))), int(rng.integers(8))
        altered = {
            0: whole[:place],
            1: whole[:place] + bytes([whole[place] ^ 1 << bit]) + whole[place + 1 :],
            2: whole[:place] + rng.bytes(1 + bit) + whole[place:],
            3: whole[:place] + whole[place + 1 + bit :],
        }[kind % 4]
        path.write_bytes(altered)
        with pytest.raises(gnp.InputError) as refusal:
            gnp.minimize(problem, START, checkpoint=path)
        assert "\n" not in str(refusal.value)
        assert path.read_bytes() == altered
    assert [each.name for each in tmp_path.iterdir()] == ["run.ckpt"]


OTHERS = {
    "data": (decay(seed=4), {}, "the problem"),
    "one digit": (decay(offset=np.nextafter(0.5, 1)), {}, "the problem"),
    "start": (decay(), {"x0": START + 1e-15}, "the start"),
    "method": (decay(), {"method": "gnp"}, "the settings"),
    "tol": (decay(), {"tol": 1e-9}, "the settings"),
    "target": (decay(), {"target": 0.1}, "the settings"),
    "polish": (decay(), {"polish": True}, "the settings"),
    "bounds": (decay(), {"bounds": (-9, 9)}, "the problem"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_the_file_of_another_solve_is_refused_and_stays(whole, tmp_path, name):
    path = tmp_path / "run.ckpt"
    path.write_bytes(whole)
    problem, options, says = OTHERS[name]
    with pytest.raises(gnp.InputError, match=says) as refusal:
        gnp.minimize(problem, **{"x0": START, **options}, checkpoint=path)
    assert "\n" not in str(refusal.value)
    assert path.read_bytes() == whole


def model(scale):
    def inside(p, t):
        return scale * p[0] * jnp.exp(-p[1] * t) + p[2]

    return inside


@pytest.mark.parametrize(
    "made",
    [
        lambda b, t, k: gnp.composite(model(k), gnp.L1(b), args=(t,)),
        lambda b, t, k: gnp.composite(gnp.NumpyMap(lambda p: k * p[0] * np.exp(-p[1] * t)), gnp.L1(b)),
        lambda b, t, k: gnp.composite(gnp.NumpyMap(lambda p, k: k * p[0] * np.exp(-p[1] * t), args=(k,)), gnp.L1(b)),
        lambda b, t, k: gnp.composite(
            gnp.NumpyMap((lambda p: p[0] * np.exp(-p[1] * t)) if k == 1 else (lambda p: p[0] * np.exp(+p[1] * t))),
            gnp.L1(b),
        ),
    ],
    ids=["JAX", "captured", "args", "code"],
)
def test_another_model_on_the_same_data_is_another_problem(tmp_path, made):
    t = np.linspace(0, 4, 60)
    b, path = 2.5 * np.exp(-1.3 * t), tmp_path / "run.ckpt"
    first = gnp.minimize(made(b, t, 1.0), START, checkpoint=path)
    # A fresh function that computes the same.
    assert unclocked(gnp.minimize(made(b, t, 1.0), START, checkpoint=path)) == unclocked(first)
    with pytest.raises(gnp.InputError, match="the problem"):
        gnp.minimize(made(b, t, 1.5), START, checkpoint=path)


@pytest.mark.parametrize("name", [3, "", b"run.ckpt", "missing/run.ckpt", ".", np.ones(2)], ids=str)
def test_what_is_no_file_is_refused_before_any_work(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(gnp.InputError, match="checkpoint"):
        gnp.minimize(decay(), START, checkpoint=name)


@pytest.mark.parametrize("seconds", [-1, "1", None, np.nan])
def test_seconds_between_writes_are_a_number(seconds, tmp_path):
    with pytest.raises(gnp.InputError, match="checkpoint_seconds"):
        gnp.minimize(decay(), START, checkpoint=tmp_path / "a", checkpoint_seconds=seconds)


def test_a_disk_that_is_full_does_not_end_a_solve(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("gnpolyak.base.container.write", full)
    with pytest.warns(RuntimeWarning, match="No space left"):
        res = gnp.minimize(decay(), START, checkpoint=tmp_path / "run.ckpt")
    assert res.success


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_with_a_last_checkpoint(tmp_path, number):
    """Nothing is due before an hour has passed: what is on file is what the end has written."""
    path, sent = tmp_path / "run.ckpt", []

    def send(res):
        if res.calls > 4 and not sent:
            sent.append(os.kill(os.getpid(), number))

    before = signal.getsignal(number)
    res = gnp.minimize(decay(), START, checkpoint=path, checkpoint_seconds=3600, callback=send)
    assert res.status is gnp.Status.INTERRUPTED
    assert signal.getsignal(number) is before
    again = gnp.minimize(decay(), START, checkpoint=path)
    assert again.success
    assert bits(again) == bits(gnp.minimize(decay(), START))


def test_an_exception_of_the_callback_loses_nothing(tmp_path):
    path = tmp_path / "run.ckpt"

    def fail(res):
        if res.calls > 4:
            raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        gnp.minimize(decay(), START, checkpoint=path, checkpoint_seconds=3600, callback=fail)
    assert path.exists()
    assert bits(gnp.minimize(decay(), START, checkpoint=path)) == bits(gnp.minimize(decay(), START))


def test_from_another_thread_too(tmp_path):
    found = []
    path = tmp_path / "run.ckpt"
    thread = threading.Thread(target=lambda: found.append(gnp.minimize(decay(), START, checkpoint=path)))
    thread.start()
    thread.join()
    assert unclocked(found[0]) == unclocked(gnp.minimize(decay(), START, checkpoint=path))


def test_a_file_whose_states_lack_a_field_is_refused(whole, tmp_path):
    """As one of an earlier version of the same name does: what is left must not be taken for other fields."""
    path = tmp_path / "run.ckpt"
    path.write_bytes(whole)
    header, arrays = container.read(path)
    for entry in header["entries"]:
        del entry["at"][0][-5]
    container.write(path, header, arrays)
    written = path.read_bytes()
    with pytest.raises(gnp.InputError, match="states of other shapes") as refused:
        gnp.minimize(decay(), START, checkpoint=path)
    assert "\n" not in str(refused.value)
    assert path.read_bytes() == written


def test_a_larger_limit_goes_on_and_a_smaller_one_is_refused(tmp_path):
    path, whole = tmp_path / "run.ckpt", gnp.minimize(decay(), START)
    short = gnp.minimize(decay(), START, checkpoint=path, max_calls=9)
    assert short.status is gnp.Status.CALL_LIMIT
    assert unclocked(gnp.minimize(decay(), START, checkpoint=path, max_calls=9)) == unclocked(short)
    assert bits(gnp.minimize(decay(), START, checkpoint=path)) == bits(whole)
    with pytest.raises(gnp.InputError, match="max_calls=5 "):
        gnp.minimize(decay(), START, checkpoint=path, max_calls=5)


def test_the_time_limit_counts_all_pieces(tmp_path):
    path = tmp_path / "run.ckpt"
    problem, options = curve()
    kept = {**options, "checkpoint": path}
    first = gnp.minimize(problem, **kept, max_seconds=0.02)
    assert first.status is gnp.Status.TIME_LIMIT
    second = gnp.minimize(problem, **kept, max_seconds=0.02)
    assert second.calls == first.calls
    assert second.seconds > first.history.seconds[-1]
    assert bits(gnp.minimize(problem, **kept)) == bits(gnp.minimize(problem, **options))


def test_without_a_checkpoint_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gnp.minimize(decay(), START, callback=stopping_after(2))
    assert not list(tmp_path.iterdir())


def test_taken_up_after_every_step_of_the_cuts_it_ends_with_the_same_bits(tmp_path, monkeypatch):
    """What a file gives back lies in memory as it did: rounding depends on that."""
    monkeypatch.setattr(driver, "FIRST_CHUNK", 1)
    monkeypatch.setattr(driver, "next_length", lambda *_: 1)
    case = gnp.instances.tensor_sensing(d=20, r=2, kappa=10.0, p_fail=0.2)
    whole = bits(gnp.minimize(case.problem, case.x0))
    for chunks in range(1, 10):
        kept = {"checkpoint": tmp_path / f"{chunks}.ckpt", "checkpoint_seconds": 0}
        short = gnp.minimize(case.problem, case.x0, callback=stopping_after(chunks), **kept)
        assert short.status is gnp.Status.STOPPED_BY_CALLBACK
        assert bits(gnp.minimize(case.problem, case.x0, **kept)) == whole, chunks
