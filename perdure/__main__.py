"""`python -m perdure` is the `perdure` command."""

from perdure.cli.main import run

if __name__ == "__main__":
    run()
