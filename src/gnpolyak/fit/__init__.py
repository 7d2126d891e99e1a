"""Faces for everyday work, which stand on `solve`: curves through data of which some are wrong."""
