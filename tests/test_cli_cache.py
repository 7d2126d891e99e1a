"""Compiled programs that are kept between commands: where, how much, and when not."""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import jax
import pytest
from click.testing import CliRunner

from gnpolyak.cli import cache
from gnpolyak.cli.main import main


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("GNPOLYAK_CACHE", str(tmp_path))
    return cache.folder()


@pytest.fixture
def settings(monkeypatch):
    """What JAX is told, and is not."""
    told = {}
    monkeypatch.setattr(jax.config, "update", told.__setitem__)
    monkeypatch.setattr(cache.warnings, "filterwarnings", lambda *args, **more: None)
    return told


def filled(place, sizes):
    """Programs of such sizes, the first the oldest."""
    place.mkdir(parents=True)
    for number, size in enumerate(sizes):
        path = place / f"program{number}-cache"
        path.write_bytes(bytes(size))
        os.utime(path, (number, number))
    return sorted(path.name for path in place.iterdir())


def test_the_place_is_the_users_cache_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("GNPOLYAK_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.folder().is_relative_to(tmp_path / "xdg" / "gnpolyak")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.folder().is_relative_to(tmp_path / ".cache" / "gnpolyak")
    monkeypatch.setattr(sys, "platform", "darwin")
    assert cache.folder().is_relative_to(tmp_path / "Library" / "Caches" / "gnpolyak")


@pytest.mark.parametrize("word", ["off", "OFF", "0", "no"])
def test_it_is_switched_off_by_a_word(word, monkeypatch, settings):
    monkeypatch.setenv("GNPOLYAK_CACHE", word)
    cache.enable()
    assert cache.folder() is None
    assert not settings


def test_without_a_home_there_is_none(monkeypatch, settings):
    monkeypatch.delenv("GNPOLYAK_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", "/nowhere/at/all")
    cache.enable()

    def homeless():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    cache.enable()
    assert cache.folder() is None
    assert not settings
    assert "off" in CliRunner().invoke(main, ["info"]).output


def test_a_folder_that_others_can_write_to_is_not_used(place, settings):
    place.mkdir(parents=True)
    place.chmod(0o777)
    cache.enable()
    assert not settings


def test_a_place_that_is_none_is_done_without(tmp_path, monkeypatch, settings):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GNPOLYAK_CACHE", str(tmp_path / "file"))
    cache.enable()
    assert not settings


def test_it_is_the_users_alone_and_bounded(place, settings, monkeypatch):
    monkeypatch.setattr(cache, "_MOST", 100)
    filled(place, [40, 30, 20, 20])
    place.chmod(0o700)
    (place / "notes.txt").write_text("mine")
    cache.enable()
    assert settings["jax_compilation_cache_dir"] == str(place)
    assert sorted(path.name for path in place.iterdir()) == ["notes.txt", "program2-cache", "program3-cache"]


def test_a_folder_of_the_users_own_for_jax_is_left_to_them(place, settings, monkeypatch):
    monkeypatch.setattr(type(jax.config), "jax_compilation_cache_dir", "/their/own")
    cache.enable()
    assert not settings


def test_info_tells_and_clears(place):
    filled(place, [40, 30])
    (place / "notes.txt").write_text("mine")
    report = json.loads(CliRunner().invoke(main, ["info", "--json"]).output)
    assert report["cache"] == {"folder": str(place), "programs": 2, "bytes": 70}
    assert "--clear-cache" in CliRunner().invoke(main, ["info"]).output
    CliRunner().invoke(main, ["info", "--clear-cache"])
    assert [path.name for path in place.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize(
    ("words", "used"), [(["info"], True), (["--no-cache", "info"], False), (["bench", "--suite", "quick"], False)]
)
def test_only_a_process_of_the_command_line_uses_it(words, used, place, settings, monkeypatch):
    from gnpolyak.cli import ending

    monkeypatch.setattr(ending, "watch", lambda: None)
    monkeypatch.setattr(main.commands["bench"], "callback", lambda **given: None)
    CliRunner().invoke(main, words)
    assert not settings, "tests and other callers of the group are no command line"
    with pytest.raises(SystemExit):
        main(words)
    assert bool(settings) is used


@pytest.mark.slow
def test_the_second_command_takes_half_the_time(tmp_path):
    def seconds():
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        command = [sys.executable, "-m", "gnpolyak_command", "run", "robust_pca", "--start", "data"]
        # Optimised, as users have their programs compiled.
        environment = os.environ | {"GNPOLYAK_CACHE": str(tmp_path), "XLA_FLAGS": ""}
        subprocess.run(command, env=environment, check=True, capture_output=True)
        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before

    first, second = seconds(), seconds()
    assert second < 0.6 * first
