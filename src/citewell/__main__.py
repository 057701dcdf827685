"""`python -m citewell` is the installed program."""

from citewell.cli.main import main

if __name__ == "__main__":
    main()
