"""`python -m ago` is the command `ago`."""

from ago.cli import main

if __name__ == "__main__":
    main(prog_name="ago")
