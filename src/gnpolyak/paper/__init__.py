"""The paper's figures as frozen specs: spec → rows → figures, claims and a report."""
