"""The command line: `main`, and one file a command."""

import logging

# Without a home folder Matplotlib would say so at length, whatever the command.
logging.getLogger("matplotlib").setLevel(logging.ERROR)
