"""``python -m gnpolyak_command``."""

from gnpolyak_command import main

main()
