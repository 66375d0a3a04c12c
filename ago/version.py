"""The version of the package; `setup.py` reads it as text, without importing `ago`."""

__version__ = "0.1.0"
