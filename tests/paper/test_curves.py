"""What can be seen of a series."""

import numpy as np

from gnpolyak.paper import curves
from gnpolyak.paper.pictures import Series


def test_a_thinned_curve_is_the_same_curve_on_both_axes():
    x = np.arange(1.0, 4001.0)
    y = np.exp(-x / 150) * (1 + 0.5 * np.sin(x / 90)) + np.where(x < 1500, 1e-3, 1e-6)
    low, high = y / (2 + np.cos(x / 70)), y * (3 + np.sin(x / 60))
    seen = curves.drawable(Series(x, y, low, high), most=200)
    assert len(seen.x) <= 200
    for scale in (np.asarray, np.log10):
        for full, thin in ((y, seen.median), (low, seen.low), (high, seen.high)):
            drawn = np.interp(scale(x), scale(seen.x), np.log10(thin))
            np.testing.assert_allclose(drawn, np.log10(full), atol=curves.TOLERANCE)


def test_a_straight_curve_keeps_enough_points_to_hover_over():
    x = np.arange(1.0, 1001.0)
    seen = curves.drawable(Series(x, np.ones(1000), np.ones(1000), np.ones(1000)), most=200)
    assert np.diff(np.log10(seen.x)).max() < 3 / 8
    assert np.diff(seen.x).max() < 1000 / 8


def test_errors_without_a_logarithm_end_the_curve_and_cut_the_band():
    x = np.arange(1.0, 6.0)
    median, low = np.array([1.0, 0.1, 0.01, 0.0, -1e-17]), np.array([0.5, 0.05, 0.0, -1e-17, -1e-17])
    seen = curves.drawable(Series(x, median, low, np.array([2.0, np.inf, 0.02, 0.02, 0.02])), most=100)
    assert seen.x.tolist() == [1, 2, 3]
    assert seen.low.tolist() == [0.5, 0.05, 0.01]
    assert seen.high.tolist() == [2.0, 0.1, 0.02]
    assert len(curves.drawable(Series(x, 0 * x, 0 * x, 0 * x), most=100).x) == 0
