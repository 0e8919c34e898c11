"""``python -m derive`` is the program ``derive``."""

from derive.cli import entry

if __name__ == "__main__":
    entry()
