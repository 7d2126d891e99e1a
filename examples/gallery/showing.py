"""What the gallery's scripts share: images side by side on one grey scale, and what a script prints and writes."""

import sys
from pathlib import Path

from matplotlib.figure import Figure


def panels(images, rows=1, width=2.2, size=10, **options):
    """A figure of images by their titles, all on the same scale; pixels that are no numbers are blue."""
    columns = len(images) // rows
    high, wide = next(iter(images.values())).shape
    figure = Figure(figsize=(width * columns, (width * high / wide + 0.5) * rows), layout="constrained")
    look = {"cmap": "gray", "vmin": 0, "vmax": 1, "interpolation": "nearest", **options}
    for axes, (title, image) in zip(figure.subplots(rows, columns).flat, images.items(), strict=True):
        axes.imshow(image, **look)
        axes.set_title(title, fontsize=size)
        axes.set(xticks=(), yticks=(), facecolor="tab:blue")
    return figure


def titled(errors, shown):
    """Images by their titles, with their errors in a second line, which is empty where there is none."""
    return {name + (f"\nerror {errors[name]:.2g}" if name in errors else "\n"): image for name, image in shown.items()}


def write(figure, out):
    """The figure as the gallery has it."""
    figure.savefig(out, dpi=110, bbox_inches="tight")


def show(work, draw):
    """Print the errors, and write the picture where the first argument says, or under the script's name."""
    errors, shown = work()
    print(*(f"{name}: {error:.1e}" for name, error in errors.items()), sep="\n")
    write(draw(errors, shown), sys.argv[1] if len(sys.argv) > 1 else f"{Path(sys.argv[0]).stem}.png")
