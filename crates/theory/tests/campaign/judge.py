"""Judges claims about a typed pair at high precision, with a parser and arithmetic of its own.

Nothing here uses the program. A verdict is `holds` (no violation on a dense grid), `fails` (a violation far beyond
rounding) or `open`. Numbers of named losses and rules are the doubles that the text reads as; numbers within
expressions are the decimals as written.
"""

import re
from mpmath import mp, mpf, mpc, exp, log, sqrt, tanh, sinh, cosh, atan, sin, cos, inf, isnan

mp.dps = 60
CLAIMS = ["integrable", "calibrated", "convex-in-score", "convex-in-probability", "lipschitz", "probability", "positive"]


class Undefined(Exception):
    """The function has no real value here."""


class TooLarge(Undefined):
    """The value exists, but would take more digits than there is memory."""


class Dual:
    """A value and its derivative."""

    __slots__ = ("v", "d")

    def __init__(self, v, d=mpf(0)):
        if isinstance(v, mpc) or isinstance(d, mpc) or isnan(v):
            raise Undefined
        self.v, self.d = v, d


def softplus(x):
    return x + log(1 + exp(-x)) if x > 0 else log(1 + exp(x))


def sigmoid(x):
    return 1 / (1 + exp(-x)) if x > 0 else exp(x) / (1 + exp(x))


UNARY = {
    "exp": (exp, lambda x: exp(x)), "log": (log, lambda x: 1 / x), "ln": (log, lambda x: 1 / x),
    "log1p": (lambda x: log(1 + x), lambda x: 1 / (1 + x)), "expm1": (lambda x: exp(x) - 1, exp),
    "sqrt": (sqrt, lambda x: 1 / (2 * sqrt(x))), "tanh": (tanh, lambda x: 1 / cosh(x) ** 2), "sinh": (sinh, cosh),
    "cosh": (cosh, sinh), "sigmoid": (sigmoid, lambda x: sigmoid(x) * sigmoid(-x)), "atan": (atan, lambda x: 1 / (1 + x * x)),
    "sin": (sin, cos), "cos": (cos, lambda x: -sin(x)),
    "abs": (abs, lambda x: mpf(1) if x >= 0 else mpf(-1)), "sign": (lambda x: mpf((x > 0) - (x < 0)), lambda x: mpf(0)),
}


# Beyond it, reducing an argument would take more digits than there is memory.
LARGEST_ARGUMENT = mpf(10) ** 30


def unary(name, x):
    value, slope = UNARY[name]
    if abs(x.v) > LARGEST_ARGUMENT and name in ("exp", "expm1", "tanh", "sinh", "cosh", "sigmoid", "sin", "cos"):
        raise TooLarge
    if (name in ("log", "ln") and x.v <= 0) or (name == "log1p" and x.v <= -1) or (name == "sqrt" and x.v < 0):
        raise Undefined
    try:
        return Dual(value(x.v), slope(x.v) * x.d if x.d else mpf(0))
    except ZeroDivisionError as error:
        raise Undefined from error


def power(x, y):
    if y.d == 0 and y.v == int(y.v):
        n = int(y.v)
        if n < 0 and x.v == 0:
            raise Undefined
        return Dual(x.v ** n, n * x.v ** (n - 1) * x.d if n else mpf(0))
    if x.v < 0 or (x.v == 0 and y.v <= 0):
        raise Undefined
    if x.v == 0:
        if y.v < 1 and x.d:
            raise Undefined
        return Dual(mpf(0), mpf(0))
    v = x.v ** y.v
    return Dual(v, v * (y.d * log(x.v) + y.v * x.d / x.v))


def binary(op, x, y):
    if op == "+":
        return Dual(x.v + y.v, x.d + y.d)
    if op == "-":
        return Dual(x.v - y.v, x.d - y.d)
    if op == "*":
        return Dual(x.v * y.v, x.d * y.v + x.v * y.d)
    if op == "/":
        if y.v == 0:
            raise Undefined
        return Dual(x.v / y.v, (x.d - x.v / y.v * y.d) / y.v)
    if op == "^":
        return power(x, y)
    if op == "max":
        return x if x.v > y.v or (x.v == y.v and x.d >= y.d) else y
    return x if x.v < y.v or (x.v == y.v and x.d <= y.d) else y


TOKEN = re.compile(r"\s*(?:(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)|([A-Za-z_]\w*)|(.))")


class Parser:
    """Recursive descent over `+ - * / ^`, calls, numbers, `s`, `pi` and `e`; yields a function of a Dual."""

    def __init__(self, text):
        self.tokens = [m.groups() for m in TOKEN.finditer(text)] + [(None, None, None)]
        self.at = 0

    def symbol(self, *symbols):
        found = self.tokens[self.at][2]
        if found in symbols and found is not None:
            self.at += 1
            return found
        return None

    def parse(self):
        tree = self.sum()
        assert self.at == len(self.tokens) - 1, self.tokens[self.at]
        return tree

    def chain(self, operand, symbols):
        tree = operand()
        while op := self.symbol(*symbols):
            tree = (op, tree, operand())
        return tree

    def sum(self):
        return self.chain(self.product, "+-")

    def product(self):
        return self.chain(self.signed, "*/")

    def signed(self):
        if self.symbol("-"):
            return ("-", ("number", mpf(0)), self.signed())
        base = self.primary()
        return ("^", base, self.signed()) if self.symbol("^") else base

    def primary(self):
        number, name, _ = self.tokens[self.at]
        if self.symbol("("):
            tree = self.sum()
            assert self.symbol(")")
            return tree
        self.at += 1
        if number:
            return ("number", mpf(number))
        if name == "s":
            return ("s",)
        if name in ("pi", "e"):
            return ("number", +mp.pi if name == "pi" else +mp.e)
        assert self.symbol("("), name
        first = self.sum()
        second = self.sum() if name in ("min", "max") and self.symbol(",") else None
        assert self.symbol(")")
        return (name, first) if second is None else (name, first, second)


def evaluate(tree, s):
    if tree[0] == "s":
        return s
    if tree[0] == "number":
        return Dual(tree[1])
    arguments = [evaluate(branch, s) for branch in tree[1:]]
    return unary(tree[0], *arguments) if len(arguments) == 1 else binary(tree[0], *arguments)


def expression(text):
    tree = Parser(text).parse()
    return lambda s: evaluate(tree, Dual(mpf(s), mpf(1)))


def split(text):
    """`name:key=value,key=value` with values that may be rules of their own."""
    head, _, rest = text.partition(":")
    pieces, depth, start = [], 0, 0
    for i, c in enumerate(rest):
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            pieces.append(rest[start:i])
            start = i + 1
    pieces.append(rest[start:])
    return head, pieces


KEYS = {"mix": ("rule", "floor"), "power": ("rule", "exponent"), "product": ("rule", "by")}


def arguments(head, pieces):
    found, last = {}, None
    for piece in filter(None, pieces):
        key, _, value = piece.partition("=")
        if head in KEYS and key not in KEYS[head]:
            found[last] += "," + piece
        else:
            last = key
            found[key] = value
    stripped = {}
    for key, value in found.items():
        whole = value.startswith("(") and value.endswith(")")
        stripped[key] = value[1:-1] if whole else value
    return stripped


def double(text):
    return mpf(float(text))


class Loss:
    """A loss by name: `at(s)` is a Dual with value and slope."""

    def __init__(self, text):
        self.regression = text.startswith("squared:") or text == "squared"
        self.in_probability = text == "cross-entropy"
        head, pieces = split(text)
        if head == "expr":
            self.at = expression(text[len("expr:"):])
        elif self.regression:
            target = double(arguments(head, pieces).get("target", "0"))
            self.at = lambda s: Dual((s - target) ** 2, 2 * (s - target))
        else:
            self.at = NAMED[head]


NAMED = {
    "logistic": lambda s: Dual(softplus(-s), -sigmoid(-s)), "cross-entropy": lambda s: Dual(softplus(-s), -sigmoid(-s)),
    "hinge": lambda s: Dual(max(mpf(0), 1 - s), mpf(-1) if s < 1 else mpf(0)),
    "squared-hinge": lambda s: Dual(max(mpf(0), 1 - s) ** 2, -2 * max(mpf(0), 1 - s)),
    "modified-huber": lambda s: Dual(-4 * s if s < -1 else max(mpf(0), 1 - s) ** 2, -2 * min(mpf(2), max(mpf(0), 1 - s))),
    "exponential": lambda s: Dual(exp(-s), -exp(-s)),
}


def rule(text, loss):
    """A rule by name, as a function of the score."""
    head, pieces = split(text)
    if head == "expr":
        typed = expression(text[len("expr:"):])
        return lambda v: typed(v).v
    given = arguments(head, pieces)
    number = lambda key, default=None: double(given[key]) if key in given else default
    if head == "entropy":
        scale = 1 / log(number("base")) if "base" in given else mpf(1)
        return lambda v: scale * (softplus(-abs(v)) + abs(v) * sigmoid(-abs(v)))
    if head == "least-confidence":
        scale = number("scale", mpf(1))
        return lambda v: scale * sigmoid(-abs(v))
    if head == "margin":
        mu = number("mu")
        return lambda v: 1 / (1 + mu * abs(v))
    if head == "threshold":
        gamma = number("gamma")
        return lambda v: mpf(1) if abs(v) <= gamma else mpf(0)
    if head == "exponential":
        mu = number("mu")
        return lambda v: exp(-mu * abs(v))
    if head == "constant":
        p = number("p", mpf(1))
        return lambda v: p
    if head == "critical":
        start = loss.at(mpf(0)).d
        return lambda v: start / loss.at(-abs(v)).d
    inner = rule(given["rule"], loss)
    if head == "mix":
        floor = number("floor")
        return lambda v: floor + (1 - floor) * inner(v)
    if head == "power":
        exponent = number("exponent")
        return lambda v: inner(v) ** exponent
    other = rule(given["by"], loss)
    return lambda v: inner(v) * other(v)


def grid():
    points = [mpf(0)]
    for i in range(-32, 9):
        points += [sign * mpf(10) ** (mpf(i) / 4) for sign in (1, -1)]
    points += [mpf(i) / 8 + mpf("0.01") for i in range(-120, 120)]
    points += [mpf(i) + mpf("0.37") for i in range(-60, 60, 4)]
    points += [sign * mpf(k) * (1 + shift) for k in ("0.25", "0.3", "0.5", "0.7", "1", "1.5", "2", "3", "5", "10")
               for sign in (1, -1) for shift in (mpf("-1e-7"), mpf("1e-7"))]
    return sorted(set(p for p in points if abs(p) <= 65))


GRID = grid()
TINY = mpf("1e-25")


class Pair:
    """The quantities that claims are about."""

    def __init__(self, loss, by):
        self.loss = Loss(loss)
        self.u = rule(by, self.loss)
        self.is_typed = "expr:" in loss + by
        self.slopes = {}

    def slope(self, s):
        if s not in self.slopes:
            try:
                self.slopes[s] = self.u(s) * self.loss.at(s).d
            except (Undefined, ZeroDivisionError, OverflowError):
                self.slopes[s] = None
        return self.slopes[s]

    def defined(self):
        return all(self.slope(s) is not None for s in GRID)

    def is_undefined(self):
        """Whether a slope certainly has no value; one that takes too many digits may have one."""
        for s in GRID:
            try:
                self.u(s), self.loss.at(s)
            except TooLarge:
                continue
            except (Undefined, ZeroDivisionError, OverflowError):
                return True
        return False

    def falls(self, of):
        """Whether a slope falls between neighbors, far beyond rounding."""
        known = [(s, of(s)) for s in GRID if self.slope(s) is not None]
        drops = [before - after > TINY * (abs(before) + abs(after)) for (_, before), (_, after) in zip(known, known[1:])]
        return any(drops)


def convex(pair, in_probability):
    if pair.loss.regression:
        # For some target the curvature 2U + 2U'(y - t) is negative unless U is constant.
        values = [pair.u(s) for s in GRID]
        varies = max(values) - min(values) > TINY * max(values)
        return "open" if in_probability else ("fails" if varies else "holds")
    of = (lambda s: pair.slope(s) / (sigmoid(s) * sigmoid(-s))) if in_probability else pair.slope
    return "fails" if pair.falls(of) else "holds"


DECADES = range(1, 10)


def greatest(pair, sign, decade):
    """The largest |slope| among many points of one decade, or None where one has no value."""
    sizes = []
    for i in range(40):
        # Steps that no period divides.
        s = sign * mpf(10) ** (decade + mpf(i) / 40 + mpf("0.00137") * (i % 7))
        slope = pair.slope(s)
        if slope is None:
            return None
        sizes.append(abs(slope) / (sigmoid(s) * sigmoid(-s)) if pair.loss.in_probability else abs(slope))
    return max(sizes)


def lipschitz(pair):
    """By the growth of the largest |slope| from decade to decade, on both sides."""
    if pair.loss.regression:
        return "fails" if any(pair.u(s) > 0 for s in GRID) else "open"
    # Named functions keep their digits far out, where exponents next to each other part.
    decades = DECADES if pair.is_typed else range(20, 57, 4)
    verdicts = [growth([greatest(pair, sign, decade) for decade in decades]) for sign in (1, -1)]
    if "fails" in verdicts:
        return "fails"
    return "holds" if verdicts == ["holds", "holds"] and pair.defined() else "open"


def growth(sizes):
    """`fails` where the records keep rising, `holds` where they come to rest."""
    if any(size is None for size in sizes):
        return "open"
    steps = [after - before for before, after in zip(sizes, sizes[1:])]
    last = steps[-4:]
    if all(step <= TINY * max(sizes) for step in last):
        return "holds"
    if all(step > 0 for step in last):
        # A logarithm adds the same in every decade, and what comes to rest adds ever less.
        shrinks = [after / before for before, after in zip(last, last[1:])]
        if all(shrink < mpf("0.7") for shrink in shrinks):
            return "holds"
        if all(shrink > mpf("0.95") for shrink in shrinks):
            return "fails"
    # A wave has its records anywhere, but they hardly differ.
    return "holds" if max(sizes[-5:]) <= min(sizes[-5:]) * mpf("1.5") and not all(step > 0 for step in last) else "open"


def risk_sides(pair, z, reach):
    """D(s) = C(s) - C(0) on a grid of both sides, by Gauss-Legendre on each cell."""
    p, q = (1 + z) / 2, (1 - z) / 2
    slope = lambda s: p * pair.slope(s) - q * pair.slope(-s)
    nodes = [(mpf("0.21132486540518711774542560974902127"), mpf("0.5")), (mpf("0.78867513459481288225457439025097873"), mpf("0.5"))]
    sides = []
    for sign in (1, -1):
        total, values, slopes, before = mpf(0), [], [], mpf(0)
        for a in reach:
            step = a - before
            total += sign * step * sum(w * slope(sign * (before + x * step)) for x, w in nodes)
            slopes.append(sign * slope(sign * (before + step / 2)))
            values.append(total)
            before = a
        sides.append((values, slopes))
    return sides


REACH = [mpf(10) ** (mpf(i) / 2) for i in range(-12, -2)] + [mpf(i) / 8 for i in range(1, 65)] + [mpf(8) + mpf(i) / 2 for i in range(1, 65)]


def calibrated(pair):
    if pair.loss.regression:
        return "holds" if all(pair.u(s) > 0 for s in GRID) else "open"
    verdict = "holds"
    for z in (mpf(1) / 64, mpf(1) / 4, mpf(1) / 2, mpf(3) / 4, mpf(63) / 64, mpf(1)):
        try:
            (right, right_slopes), (left, _) = risk_sides(pair, z, REACH)
        except TypeError:
            return "open"
        best_right, best_left = min(right), min([mpf(0)] + left)
        size = max(abs(x) for x in right[:40] + left[:40])
        if all(slope >= 0 for slope in right_slopes) or best_right > best_left + mpf("1e-3") * size:
            return "fails"
        if not best_right < best_left - mpf("1e-4") * size:
            verdict = "open"
    return verdict


def confirm_cost(pair, z):
    """Whether no prediction of the right sign is better than the best other at label bias z."""
    try:
        (right, _), (left, _) = risk_sides(pair, z, REACH)
    except Undefined:
        return None
    best_right, best_left = min(right), min([mpf(0)] + left)
    size = max(abs(x) for x in right[:40] + left[:40])
    if best_right < best_left - mpf("1e-4") * size:
        return False
    return True if best_left <= best_right else None


def judge(loss, by):
    """A verdict for each claim, in the order of CLAIMS."""
    pair = Pair(loss, by)
    defined = pair.defined()
    values = []
    for s in GRID:
        try:
            values.append(pair.u(s))
        except (Undefined, ZeroDivisionError):
            values.append(None)
    known = [u for u in values if u is not None]
    within = all(u is not None and 0 <= u <= 1 for u in values)
    verdicts = {
        "integrable": "holds" if defined else "fails" if pair.is_undefined() else "open",
        "probability": "holds" if within else "fails",
        "positive": "fails" if any(u == 0 for u in known) else "holds",
        "convex-in-score": convex(pair, False) if defined else "open",
        "convex-in-probability": convex(pair, True) if defined else "open",
        "lipschitz": lipschitz(pair),
        "calibrated": calibrated(pair) if defined else "open",
    }
    return [verdicts[claim] for claim in CLAIMS]


def confirm(loss, by, claim, witness):
    """Whether a refutation holds at the very point that the program names; None where a point decides nothing."""
    try:
        # Some rules differ from a constant by 1e-200 only.
        with mp.workdps(500):
            return confirmed(loss, by, claim, witness)
    except TooLarge:
        return None
    except (Undefined, ZeroDivisionError, OverflowError):
        return False


def confirmed(loss, by, claim, witness):
    pair = Pair(loss, by)
    pair.slope = lambda s: pair.u(s) * pair.loss.at(s).d
    at = [mpf(x) for x in witness["at"]]
    if claim == "calibrated":
        return None if pair.loss.regression else confirm_cost(pair, at[0])
    if claim in ("convex-in-score", "convex-in-probability") and not pair.loss.regression:
        s = log(at[0] / (1 - at[0])) if witness["coordinates"] == "r" else at[0]
        of = pair.slope if claim == "convex-in-score" else lambda t: pair.slope(t) / (sigmoid(t) * sigmoid(-t))
        if len(at) == 2:
            return of(at[1]) < of(at[0])
        # A kink is known to the last bit of a double; a curvature holds nearby.
        jump = "next to it" in witness["quantity"]
        steps = [mpf("1e-14"), mpf("1e-11"), mpf("1e-9")] if jump else [mpf("1e-30"), mpf("1e-25"), mpf("1e-20")]
        return any(of(s + h * max(1, abs(s))) < of(s - (h * max(1, abs(s)) if jump else 0)) for h in steps)
    if claim == "convex-in-score":
        s, target = at
        slope = lambda t: pair.u(t) * 2 * (t - target)
        return any(slope(s + h) < slope(s - h) for h in (mpf("1e-25"), mpf("1e-14") * max(1, abs(s)), mpf("1e-11")))
    if claim == "positive":
        return pair.u(at[0]) == 0
    if claim == "probability":
        return not 0 <= pair.u(at[0]) <= 1
    return None
