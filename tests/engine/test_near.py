"""From a start 10% off, every solve ends at the truth and says so: `pytest -m slow -s tests/engine/test_near.py`."""

from functools import partial

import pytest

from engine.figures import over_seeds
from zoo import bilinear_sensing, blind_deconvolution, cp_tensor, low_rank, tucker_tensor

pytestmark = pytest.mark.slow
# What a solve may take where the map has a closed form.
MOST_CALLS = 600
CLOSED = {
    **{
        f"robust PCA, {share:.0%} corrupted": partial(low_rank, d1=200, d2=150, r=5, share=share)
        for share in (0.1, 0.2, 0.3)
    },
    "completion, 30% seen": partial(low_rank, d1=400, d2=300, r=5, share=0.1, seen=0.3),
    "bilinear sensing": bilinear_sensing,
}
OPEN = {
    **{f"CP, {share:.0%} corrupted": partial(cp_tensor, d=30, r=5, share=share) for share in (0.1, 0.3)},
    "blind deconvolution": blind_deconvolution,
    "Tucker (3, 3, 3)": tucker_tensor,
}


SETTINGS = [(name, kappa) for name in (*CLOSED, *OPEN) for kappa in (1.0, 10.0, 100.0)]


@pytest.mark.parametrize(("name", "kappa"), SETTINGS)
def test_exact_with_success_from_near(name, kappa):
    build = (CLOSED | OPEN)[name]
    found = over_seeds(f"{name}, κ={kappa:g}", lambda seed: build(kappa=kappa, seed=seed))
    assert found.exact == found.successes == 5
    assert max(found.calls) < MOST_CALLS or name in OPEN
