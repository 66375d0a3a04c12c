"""Re-derives the polynomials of `csrc/ago_math*.h` and prints their coefficients.

Read `FITS` first: each row is a function with the form of its approximation. A fit minimises the
largest weighted error on Chebyshev points by Lawson's iteration (least squares whose weights grow
where the error is large); the weight makes it the error relative to the function's result. Fits
for float32 arithmetic are rounded one coefficient at a time from the lowest power on, and what is
still free is fitted again.

    python tools/fit_vector_math.py [NAME...]
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

Points = npt.NDArray[np.float64]
Function = Callable[[Points], Points]

_POINTS = 801
_ROUNDS = 80


@dataclass(frozen=True, slots=True)
class Fit:
    """A polynomial, or a quotient of two, in place of a function on an interval.

    Attributes:
        name: What the C calls it.
        function: What is approximated.
        weight: Factor of the error: 1 / f of the final result, over how far the fit enters it.
        interval: Where.
        degree: Of the polynomial, or of the numerator.
        denominator: Degree of the denominator, whose constant term is 1; 0 for a polynomial.
        single: Whether coefficients are float32.
        factored: Whether a cubic is printed as a product as well.
    """

    name: str
    function: Function
    weight: Function
    interval: tuple[float, float]
    degree: int
    denominator: int = 0
    single: bool = True
    factored: bool = False


def constant(x: Points) -> Points:
    """Weight 1."""
    return np.ones_like(x)


def series(coefficients: Sequence[float]) -> Function:
    """The power series with these coefficients, for functions that cancel near 0."""
    return lambda x: np.polynomial.polynomial.polyval(x, coefficients)


def log_rest(x: Points) -> Points:
    """`(log(1 + x) - x + x^2 / 2) / x^3`."""
    near = series([(-1) ** k / (k + 3) for k in range(20)])(x)
    with np.errstate(all="ignore"):
        return np.where(np.abs(x) < 0.05, near, (np.log1p(x) - x + x * x / 2) / x**3)


def log_weight(x: Points) -> Points:
    """`x^3 / log(1 + x)`."""
    with np.errstate(all="ignore"):
        return np.where(x == 0, 0.0, x**3 / np.log1p(x))


def over_root(function: Function, at_zero: float) -> Function:
    """`function(x) / x` as a function of `u = x^2`."""

    def quotient(u: Points) -> Points:
        x = np.sqrt(u)
        with np.errstate(all="ignore"):
            return np.where(x < 1e-7, at_zero, function(x) / x)

    return quotient


def normal_tail(x: Points) -> Points:
    """The normal distribution of `-x`."""
    return 0.5 * np.vectorize(math.erfc, otypes=[np.float64])(x / math.sqrt(2))


_erf = np.vectorize(math.erf, otypes=[np.float64])
_LN2 = math.log(2)
_POWER = 8
_HALF_LN2 = 0.501 * _LN2
_QUARTER_PI_SQUARED = (math.pi / 4 * 1.001) ** 2
_ROOT_TWO_RATIO = (math.sqrt(2) - 1) / (math.sqrt(2) + 1)

FITS = (
    # e^r = 1 + r p(r)
    Fit(
        "exp",
        series([1 / math.factorial(k + 1) for k in range(16)]),
        lambda r: r * np.exp(-r),
        (-_HALF_LN2, _HALF_LN2),
        5,
    ),
    # e^r = 1 + r + r^2 q(r)
    Fit(
        "exp_near",
        series([1 / math.factorial(k + 2) for k in range(16)]),
        lambda r: r * r * np.exp(-r),
        (-_HALF_LN2, _HALF_LN2),
        3,
        factored=True,
    ),
    # 2^r = 1 + r p(r)
    Fit(
        "exp2",
        series([_LN2 ** (k + 1) / math.factorial(k + 1) for k in range(16)]),
        lambda r: r * 2.0**-r,
        (-0.5, 0.5),
        5,
    ),
    # log(1 + f) = f - f^2 / 2 + f^3 p(f)
    Fit("log", log_rest, log_weight, (-1 / 3, 1 / 3), 7),
    # e^r - 1 = r + r^2 p(r)
    Fit(
        "expm1",
        series([1 / math.factorial(k + 2) for k in range(16)]),
        lambda r: 1 / series([1 / math.factorial(k + 1) for k in range(16)])(r) * r,
        (-_HALF_LN2, _HALF_LN2),
        4,
    ),
    # erf(x) = x p(x^2) / q(x^2)
    Fit(
        "erf",
        over_root(_erf, 2 / math.sqrt(math.pi)),
        lambda u: 1 / over_root(_erf, 2 / math.sqrt(math.pi))(u),
        (0.0, 1.75**2),
        4,
        3,
    ),
    # erf(x) = p(x - 2.84); beyond 3.92 it rounds to 1
    Fit("erf_tail", lambda w: _erf(w + 2.84), constant, (-1.09, 1.08), 10),
    # P(-x) = p(x)^-8, the normal distribution
    Fit(
        "gelu",
        lambda x: normal_tail(x) ** (-1 / _POWER),
        lambda x: _POWER * normal_tail(x) ** (1 + 1 / _POWER),
        (0.0, 5.6),
        8,
    ),
    # e^r = p(r)
    Fit("exp64", np.exp, lambda r: np.exp(-r), (-_HALF_LN2, _HALF_LN2), 9, single=False),
    # log((1 + s) / (1 - s)) = s p(s^2)
    Fit(
        "log64",
        series([2 / (2 * k + 1) for k in range(40)]),
        constant,
        (0.0, _ROOT_TWO_RATIO**2 * 1.001),
        6,
        single=False,
    ),
    # sin(x) = x p(x^2), cos(x) = p(x^2)
    Fit(
        "sin64",
        series([(-1) ** k / math.factorial(2 * k + 1) for k in range(14)]),
        constant,
        (0.0, _QUARTER_PI_SQUARED),
        5,
        single=False,
    ),
    Fit(
        "cos64",
        series([(-1) ** k / math.factorial(2 * k) for k in range(14)]),
        constant,
        (0.0, _QUARTER_PI_SQUARED),
        5,
        single=False,
    ),
    # atan(x) = x p(x^2)
    Fit(
        "atan64",
        series([(-1) ** k / (2 * k + 1) for k in range(60)]),
        constant,
        (0.0, math.tan(math.pi / 8) ** 2 * 1.001),
        8,
        single=False,
    ),
    # sinh(x) = x p(x^2)
    Fit(
        "sinh64",
        series([1 / math.factorial(2 * k + 1) for k in range(14)]),
        constant,
        (0.0, 1.0),
        5,
        single=False,
    ),
)
"""Every approximation of the C headers."""


def chebyshev_points(interval: tuple[float, float]) -> Points:
    """Points of an interval, denser towards its ends."""
    low, high = interval
    points = np.cos(np.linspace(0.0, np.pi, _POINTS))
    return (low + high) / 2 + (high - low) / 2 * points


def lawson(columns: Points, wanted: Points, weight: Points) -> Points:
    """Coefficients of `columns` that make `max |weight * (columns @ c - wanted)|` small."""
    shares = np.full(len(wanted), 1 / len(wanted))
    best, least = np.zeros(columns.shape[1]), math.inf
    for _ in range(_ROUNDS):
        root = np.sqrt(shares) * weight
        found = np.linalg.lstsq(columns * root[:, None], wanted * root, rcond=None)[0]
        error = np.abs((columns @ found - wanted) * weight)
        if error.max() < least:
            best, least = found, error.max()
        shares = shares * error
        shares /= shares.sum()
    return best


def fit_polynomial(fit: Fit) -> list[float]:
    """Coefficients by rising power."""
    x = chebyshev_points(fit.interval)
    weight = fit.weight(x)
    size = np.abs(x).max()
    rest, known = fit.function(x), list[float]()
    while len(known) <= fit.degree:
        powers = range(len(known), fit.degree + 1)
        columns = np.stack([(x / size) ** power for power in powers], axis=1)
        scaled = lawson(columns, rest, weight)
        found = [float(c / size**p) for c, p in zip(scaled, powers, strict=True)]
        if not fit.single:
            return found
        lowest = float(np.float32(found[0]))
        rest = rest - lowest * x ** len(known)
        known.append(lowest)
    return known


def fit_quotient(fit: Fit) -> tuple[list[float], list[float]]:
    """Coefficients of numerator and denominator, by rising power; rounded in that order."""
    p: dict[int, float] = {}
    q: dict[int, float] = {0: 1.0}
    powers = range(max(fit.degree, fit.denominator) + 1)
    terms = [(side, power) for power in powers for side in ("p", "q")]
    for side, power in terms:
        known, degree = (p, fit.degree) if side == "p" else (q, fit.denominator)
        if power not in known and power <= degree:
            found = free_quotient(fit, p, q)["pq".index(side)]
            known[power] = float(np.float32(found[power]))
    return list(p.values()), list(q.values())


def free_quotient(
    fit: Fit, p: dict[int, float], q: dict[int, float]
) -> tuple[list[float], list[float]]:
    """Coefficients of numerator and denominator of which some are known.

    The problem is made linear by multiplying with the denominator of the round before (Sanathanan
    and Koerner).
    """
    u = chebyshev_points(fit.interval)
    size, f, weight = u.max(), fit.function(u), fit.weight(u)
    free_p = [k for k in range(fit.degree + 1) if k not in p]
    free_q = [k for k in range(fit.denominator + 1) if k not in q]
    columns = [(u / size) ** k for k in free_p] + [-f * (u / size) ** k for k in free_q]
    matrix = np.stack(columns, axis=1)
    wanted = f * sum(c * u**k for k, c in q.items()) - sum(c * u**k for k, c in p.items())
    shares, divisor = np.full(len(u), 1 / len(u)), np.ones_like(u)
    best: tuple[list[float], list[float]] = ([], [])
    least = math.inf
    for number in range(_ROUNDS):
        root = np.sqrt(shares) * weight / divisor
        found = np.linalg.lstsq(matrix * root[:, None], wanted * root, rcond=None)[0]
        scaled = [float(c / size**k) for c, k in zip(found, free_p + free_q, strict=True)]
        top = {**p, **dict(zip(free_p, scaled, strict=False))}
        bottom = {**q, **dict(zip(free_q, scaled[len(free_p) :], strict=True))}
        terms = [top[k] for k in sorted(top)], [bottom[k] for k in sorted(bottom)]
        error = quotient_error(fit, *terms, u)
        if error.max() < least:
            best, least = terms, error.max()
        divisor = np.polynomial.polynomial.polyval(u, terms[1])
        if number > 5:  # the denominator has settled
            shares = shares * (error / error.max()) ** 0.7
            shares /= shares.sum()
    return best


def quotient_error(fit: Fit, p: list[float], q: list[float], u: Points) -> Points:
    """Weighted error at each point."""
    value = np.polynomial.polynomial.polyval(u, p) / np.polynomial.polynomial.polyval(u, q)
    return np.abs((value - fit.function(u)) * fit.weight(u))


def factors(fit: Fit) -> list[float]:
    """`a, b, c, d` with `d (x + a) (x^2 + b x + c)` a cubic with one real root; float32."""
    cubic = np.polynomial.Polynomial(fit_polynomial(replace(fit, single=False)))
    roots = sorted(cubic.roots(), key=lambda root: abs(root.imag))
    real, other = complex(roots[0]).real, complex(roots[2])
    parts = (-real, -2 * other.real, abs(other) ** 2, float(cubic.coef[3]))
    return [float(np.float32(part)) for part in parts]


def c_constants(coefficients: Sequence[float], single: bool) -> str:
    """C literals, exact."""
    if single:
        return ", ".join(re.sub(r"\.?0*p", "p", float(c).hex()) + "f" for c in coefficients)
    return ", ".join(repr(float(c)) for c in coefficients)


def report(fit: Fit) -> str:
    """The coefficients of a fit and its largest error, for reading."""
    u = chebyshev_points(fit.interval)
    if fit.denominator:
        p, q = fit_quotient(fit)
        error = quotient_error(fit, p, q, u).max()
        text = f"  p: {c_constants(p, True)}\n  q: {c_constants(q, True)}"
    else:
        p = fit_polynomial(fit)
        error = np.abs((np.polynomial.polynomial.polyval(u, p) - fit.function(u)) * fit.weight(u))
        error = error.max()
        text = f"  p: {c_constants(p, fit.single)}"
    if fit.factored:
        text += f"\n  q: {c_constants(factors(fit), True)}"
    return f"{fit.name}: error 2^{math.log2(error):.2f}\n{text}"


def main() -> None:
    """Print the fits that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="fits to print; by default all")
    names = parser.parse_args().names
    for fit in FITS:
        if not names or fit.name in names:
            print(report(fit))


if __name__ == "__main__":
    main()
