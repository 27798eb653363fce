"""`python -m distlint` is the same program as `distlint`."""

from distlint.cli import main

if __name__ == "__main__":
    main()
