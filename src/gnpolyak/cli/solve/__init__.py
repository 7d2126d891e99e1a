"""``gnpolyak solve FILE``: a file read safely, what it holds understood, solved, and written down."""
