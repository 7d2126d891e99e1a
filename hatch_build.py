"""Build hook: compile the fused oracle into the wheel, or leave a note why not. It never fails an installation."""

from __future__ import annotations

import importlib.util
import platform
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NATIVE = Path("src/gnpolyak/problem/oracles/native")


class NativeBuildHook(BuildHookInterface):  # type: ignore[type-arg,unused-ignore]
    """Compiles into the source tree, so that a wheel packs the library and an editable installation finds it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        folder = Path(self.root) / NATIVE
        recipe = _recipe(folder / "build.py")
        if recipe.build(folder) is None:
            reason = (folder / recipe.NOTE).read_text(encoding="utf-8").strip()
            self.app.display_warning(f"gnpolyak: XLA will serve instead of the fused CPU oracle, because {reason}")
        else:
            # No Python symbol is used, so one library serves every Python on this platform.
            build_data.update(pure_python=False, tag=f"py3-none-{_platform()}")
        build_data["artifacts"] += [f"/{NATIVE}/{recipe.LIBRARY}", f"/{NATIVE}/{recipe.NOTE}"]


def _platform() -> str:
    """The platform of the tag. A Python for both processors of macOS compiles for the one that it runs on."""
    name = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return name.replace("universal2", platform.machine())


def _recipe(path: Path) -> Any:
    # By path: importing the package would import jax, which the build environment does not have.
    spec = importlib.util.spec_from_file_location("gnpolyak_native_build", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
