"""The paper, reproduced: spec → rows → figures, judged claims and a report.

Stands on the public face of gnpolyak alone, so that what is measured here is what a user gets.
"""
