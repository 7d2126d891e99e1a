"""Scales of residuals, and what makes a fit look poor."""

import numpy as np

from gnpolyak.fit import judgement


def drawn(seed, m, bad, size=1e6):
    r = np.random.default_rng(seed).standard_normal(m)
    r[:bad] = size
    return r


def test_the_noise_of_few_data_is_that_of_the_good_ones():
    found = [judgement.noise(drawn(seed, 20, 5), 0) for seed in range(100)]
    good = [np.sqrt(np.mean(drawn(seed, 20, 5)[5:] ** 2)) for seed in range(100)]
    # One in two thousand is left out, and now and then a small sample begins with too small a median.
    assert np.mean(np.isclose(found, good, rtol=1e-6)) > 0.9
    assert judgement.noise(np.zeros(5), 1) == 0.0


def test_a_scale_is_that_of_the_normal_law_and_stands_until_half_are_bad():
    assert np.isclose(judgement.scale(drawn(0, 20_000, 0)), 1.0, rtol=0.03)
    assert judgement.scale(drawn(0, 1000, 450)) < 4
    assert judgement.scale(drawn(0, 1000, 550)) > 1e4
    assert judgement.scale(np.where(np.arange(100) < 70, 0.0, 5.0)) < 1e-6
    assert judgement.scale(np.full(10, np.nan)) == np.inf


def test_little_explained_many_outliers_and_a_shape_in_the_residuals_are_poor():
    t = np.linspace(0.0, 1.0, 100)
    r, y = 0.1 * drawn(1, 100, 0), 10 * t
    assert not judgement.is_poor(r, y, t, 0.1)
    assert judgement.is_poor(np.where(t > 0.5, np.nan, r), y, t, 0.1)
    assert judgement.is_poor(50 * r, y, t, 5.0)
    assert judgement.is_poor(np.where(t > 0.55, 5.0, r), y, None, 0.1)
    assert judgement.is_poor(0.1 * np.sin(9 * t), y, t, 0.1)
    assert not judgement.is_poor(0.1 * np.sin(9 * t), y, None, 0.1), "of points on no line there is no order to tell by"
    order = np.random.default_rng(0).permutation(100)
    assert judgement.is_poor((0.1 * np.sin(9 * t))[order], y[order], t[order], 0.1)


def test_a_point_from_which_a_step_still_leads_away_is_no_end():
    rng = np.random.default_rng(2)
    matrix = rng.standard_normal((50, 2))
    r = rng.standard_normal(50)
    r -= matrix @ np.linalg.lstsq(matrix, r, rcond=None)[0]
    free = np.array([True, True])
    assert judgement.has_ended(r, matrix, 1.0, free)
    away = r + matrix @ np.array([0.5, 0.0])
    assert not judgement.has_ended(away, matrix, 1.0, free)
    assert judgement.has_ended(away, matrix, 1.0, np.array([False, True]))
