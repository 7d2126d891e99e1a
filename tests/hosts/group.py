"""Processes that solve one problem together, on this machine's loopback, and never outlive their test."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"


def free_port():
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        return trial.getsockname()[1]


class Group:
    """`count` processes of one program, each with `devices` devices of the CPU.

    The program is called with its arguments and then with what `jax.distributed.initialize` takes: an address, how many
    processes there are, and which one this is.
    """

    def __init__(self, program, *args, count=2, devices=2, limit=300.0):
        self._program, self._args, self._count, self._devices = program, args, count, devices
        self._deadline = time.monotonic() + limit
        self.processes = []

    def __enter__(self):
        address = f"127.0.0.1:{free_port()}"
        # To be written at their ends: a process shares its place in them with whoever reads them meanwhile.
        self._files = [tempfile.TemporaryFile("a+") for _ in range(2 * self._count)]  # noqa: SIM115
        for index in range(self._count):
            words = [sys.executable, "-u", self._program, *self._args, address, self._count, index]
            out, err = self._files[2 * index : 2 * index + 2]
            command = [str(word) for word in words]
            self.processes.append(subprocess.Popen(command, stdout=out, stderr=err, env=self._environment()))
        return self

    def _environment(self):
        flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={self._devices}"
        return os.environ | {"XLA_FLAGS": flags, "PYTHONPATH": str(SOURCE), "JAX_PLATFORMS": "cpu"}

    def __exit__(self, *exc):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()
        for file in self._files:
            file.close()

    def send(self, index, number=signal.SIGKILL):
        self.processes[index].send_signal(number)

    def said(self, index):
        """What a process has written to standard output so far."""
        return self._text(2 * index)

    def told(self, index):
        """The lines of JSON that a process has written."""
        return [json.loads(line) for line in self.said(index).splitlines() if line.startswith("{")]

    def complained(self, index):
        return self._text(2 * index + 1)

    def _text(self, place):
        self._files[place].seek(0)
        return self._files[place].read()

    def await_word(self, word, index=0, times=1):
        while self.said(index).count(word) < times:
            assert time.monotonic() < self._deadline, self.everything()
            assert self.processes[index].poll() is None, self.everything()
            time.sleep(0.02)

    def codes(self):
        """How the processes ended, each by itself within the limit."""
        for process in self.processes:
            try:
                process.wait(max(self._deadline - time.monotonic(), 0.0))
            except subprocess.TimeoutExpired:
                raise AssertionError(f"still running:\n{self.everything()}") from None
        return [process.returncode for process in self.processes]

    def everything(self):
        return "\n".join(f"[{k}] {self.said(k)}\n{self.complained(k)}" for k in range(self._count))
