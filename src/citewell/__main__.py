"""`python -m citewell` is the installed program."""

from citewell.surfaces.cli.main import main

if __name__ == "__main__":
    main()
