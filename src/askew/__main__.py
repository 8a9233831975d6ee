"""``python -m askew``: the command line."""

from askew.cli.main import main

if __name__ == "__main__":
    main()
