"""The charts of an open page, read as a person would read them."""

import re

import numpy as np

# Each chart as numbers: its frame, its paths, its marks on both axes.
READ = """() => [...document.querySelectorAll(".chart")].map((chart) => {
  const all = (selector) => [...chart.querySelectorAll(selector)];
  const frame = chart.querySelector(".frame").getBBox();
  return {
    frame: [frame.x, frame.y, frame.x + frame.width, frame.y + frame.height],
    curves: Object.fromEntries(all(".curve").map((path) => [path.dataset.line, path.getAttribute("d")])),
    bands: Object.fromEntries(all(".band").map((path) => [path.dataset.line, path.getAttribute("d")])),
    label: chart.querySelector(".name-x").textContent,
    across: all(".tick-x").map((tick) => [Number(tick.getAttribute("x")), tick.textContent]),
    up: all(".tick-y").map((tick) => [Number(tick.getAttribute("y")) - 4, tick.textContent]),
  };
})"""


def points(path):
    return np.array([[float(x) for x in pair.split(" ")] for pair in path.strip("MZ").split("L")])


def number(text):
    """A number as the page writes it: 1,234 or 1.234 × 10⁻⁵ or 10⁻⁵."""
    mantissa, power = re.fullmatch(r"(?:([-\d.,]+))?(?: × )?(10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?", text).groups()
    exponent = (power or "10⁰")[2:].translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))
    return float((mantissa or "1").replace(",", "")) * 10.0 ** int(exponent)


def along(marks, place, warp=np.log10):
    """The value at a place of an axis, read off its marks as a person would."""
    places, values = zip(*[(at, warp(number(name))) for at, name in marks], strict=True)
    return np.polyval(np.polyfit(places, values, 1), place)


def numbered(view, k):
    return view.evaluate(READ)[k]


def shown(view, k=0):
    return {int(line) for line in numbered(view, k)["curves"]}
