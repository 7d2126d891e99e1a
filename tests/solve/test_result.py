import matplotlib as mpl
import numpy as np
import pytest

import gnpolyak as gnp

mpl.use("Agg")


@pytest.fixture(scope="module")
def res():
    case = gnp.instances.tensor_sensing(d=20, r=2, p_fail=0.1)
    return gnp.minimize(case.problem, case.x0)


def test_summary_is_one_page_of_80_columns(res):
    lines = str(res).splitlines()
    assert len(lines) < 25
    assert max(map(len, lines)) <= 80
    for part in (
        "PowerSensing",
        "auto: graduated",
        "CERTIFIED",
        "nothing can be gained",
        "320 measurements",
        f"{res.calls}",
    ):
        assert part in str(res)


def test_plot_draws_the_gap(res):
    ax = res.plot()
    (line,) = ax.get_lines()
    drawn = line.get_ydata()
    assert ax.get_yscale() == "log"
    assert len(drawn) == len(res.history) == res.calls
    assert drawn[0] == pytest.approx(res.history.value[0] - res.bound)
    assert np.nanmin(drawn) > 0
    assert res.plot(ax) is ax


def test_frozen(res):
    with pytest.raises(AttributeError):
        res.value = 0.0
