"""`python -m memai` and the console script."""


def main() -> None:
    """Run the command line."""
    from memai.cli import run

    run()


if __name__ == "__main__":
    main()
