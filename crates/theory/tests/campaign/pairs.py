"""Draws random losses and rules as a user would type them: registered ones, compositions, and expressions."""

import random

NUMBERS = ["0.1", "0.25", "0.3", "0.5", "0.7", "1", "1.5", "2", "3", "5", "10", "0.01", "40"]
SCALES = ["1", "1", "1", "1", "1e-3", "1e3", "1e-10", "1e10", "1e-100", "1e100", "1e-200", "1e200"]

LOSSES = ["logistic", "cross-entropy", "hinge", "squared-hinge", "modified-huber", "exponential", "squared:target={n}"]

LOSS_FORMS = [
    "log(1+exp(-{n}*s))", "max(0,{n}-s)", "max(0,{n}-s)^2", "exp(-{n}*s)", "sqrt({n}+s^2)-s", "(sqrt(4+s^2)-s)/2",
    "sqrt(s^2+1e-300)-s", "sigmoid(-{n}*s)", "-atan({n}*s)", "-atan(1e200*s)", "-tanh({n}*s)", "cosh(s)-sinh(s)",
    "cosh(s)-s", "log(2*cosh(s))-s", "-log(sigmoid(s))", "max(exp(-s),1-s)", "max(-s,-{n}*s)", "max(0,-s)",
    "abs(s-{n})", "(s-{n})^2", "(1-s)^2", "exp({n}*s)", "-s", "{n}*s", "cos({n}*s)", "-sin(s)", "exp(-s)+exp(-3*s)",
    "log(1+exp(-s))*(1+0.01*cos({n}*s))", "log(1+exp(-s))+0.1*exp(-s^2)", "min(1,max(0,1-s))", "max(0,1-s)^3",
    "exp(-s)*(1+s^2)", "log(1+(1-s)^2)", "1/(1+exp({n}*s))", "exp(-s^2)", "-s/(1+abs(s))", "max(0,1-s)+{n}",
    "abs(s)-s", "sqrt(1+(s-{n})^2)-s", "log1p(exp(-s))+{n}*max(0,-s)", "expm1(-s)", "(s^2+1)^0.5-s", "max(1-s,exp(-s))^2",
    "log(exp(-s)+exp(-2*s))", "s^4-s", "exp(-s)-exp(-2*s)/4", "max(0,abs(s-1)-0.5)", "sign(-s)*s^2", "abs(s)^1.5-s",
]

RULES = [
    "entropy", "entropy:base=2", "entropy:base={n}", "least-confidence", "least-confidence:scale={n}", "margin:mu={n}",
    "threshold:gamma={n}", "exponential:mu={n}", "critical", "constant", "constant:p={p}",
]

RULE_FORMS = [
    "1/(1+s^2)", "1/(1+{n}*abs(s))", "exp(-{n}*abs(s))", "exp(-{n}*s^2)", "0.5+0.5*exp(-s^2)", "max(0,1-abs(s)/{n})",
    "0.5*(1+cos(s))", "0.25*(1+cos({n}*s))", "1-exp(-s^2)", "1-0.5*exp(-s^2)", "min(1,abs(s))", "sigmoid({n}-abs(s))",
    "max(0,abs(s)-{n})/(1+abs(s))", "0.5*(sin({n}*s)^2+cos({n}*s)^2)", "0.5*(sin(1e6*s)^2+cos(1e6*s)^2)",
    "1/cosh(s)", "1-tanh(s)^2", "1/(1+s^2)^2", "exp(-abs(s))*(1+abs(s))/2", "min(1,1/(abs(s)+0.1))*0.5",
    "0.5+0.4*sin(s)^2", "{p}", "1/sqrt(1+s^2)", "exp(-(s^2-{n})^2)", "abs(s)/(1+s^2)", "{p}+0*s^2", "s^2/(1+s^2)",
    "max({p},1-abs(s))", "exp(-sqrt(1+s^2))", "cos(0.01*s)^2",
]

PIECES = ["s", "-s", "abs(s)", "exp(-s)", "exp(-s^2)", "sigmoid(s)", "sigmoid(-s)", "tanh(s)", "max(0,1-s)", "s^2",
          "cos(s)", "atan(s)", "log(1+exp(-s))", "sqrt(1+s^2)", "{n}", "min(s,1)", "log1p(s^2)"]


def filled(form: str, rng: random.Random) -> str:
    """Fills each `{n}` with a number and each `{p}` with a probability."""
    while "{" in form:
        form = form.replace("{n}", rng.choice(NUMBERS), 1).replace("{p}", rng.choice(["0.1", "0.25", "0.3", "0.5", "1"]), 1)
    return form


def tree(rng: random.Random, depth: int) -> str:
    """Draws an arbitrary expression."""
    if depth == 0 or rng.random() < 0.2:
        return filled(rng.choice(PIECES), rng)
    one, other = tree(rng, depth - 1), tree(rng, depth - 1)
    return rng.choice([
        f"({one})+({other})", f"({one})-({other})", f"({one})*({other})", f"max({one},{other})", f"min({one},{other})",
        f"({one})/(1+({other})^2)", f"log(1+exp({one}))", f"exp(-({one})^2)", f"sqrt(1+({one})^2)", f"abs({one})",
    ])


def scaled(expression: str, rng: random.Random) -> str:
    scale = rng.choice(SCALES)
    return expression if scale == "1" else f"{scale}*({expression})"


def loss(rng: random.Random) -> str:
    kind = rng.random()
    if kind < 0.4:
        return filled(rng.choice(LOSSES), rng)
    form = filled(rng.choice(LOSS_FORMS), rng) if kind < 0.85 else tree(rng, 2)
    return "expr:" + scaled(form, rng)


def exponents(rng: random.Random) -> tuple[str, str]:
    """Two exponents whose sum is next to 1, where a rate is decided by the last bit."""
    first = rng.randrange(1, 999)
    return f"{first / 1000}", f"{(1000 - first) / 1000}"


def rule(rng: random.Random, depth: int = 2) -> str:
    kind = rng.random()
    if depth == 0 or kind < 0.45:
        return filled(rng.choice(RULES), rng)
    if kind < 0.65:
        form = filled(rng.choice(RULE_FORMS), rng)
        return "expr:" + form if rng.random() < 0.9 else f"expr:{rng.choice(['1e-3', '1e-100', '1e-200'])}*({form})"
    if kind < 0.73:
        return f"mix:rule=({rule(rng, depth - 1)}),floor={rng.choice(['0.05', '0.2', '0.5', '1', '1e-9'])}"
    if kind < 0.82:
        exponent = rng.choice(["0.5", "2", "3", "0.1", "0.6", "0.999"])
        return f"power:rule=({rule(rng, depth - 1)}),exponent={exponent}"
    if kind < 0.94:
        return f"product:rule=({rule(rng, depth - 1)}),by=({rule(rng, depth - 1)})"
    one, other = exponents(rng)
    mus = rng.choice(NUMBERS), rng.choice(NUMBERS)
    return f"product:rule=(power:rule=margin:mu={mus[0]},exponent={one}),by=(power:rule=margin:mu={mus[1]},exponent={other})"


def pairs(seed: int):
    """Yields distinct pairs without end; some name nothing that the program accepts."""
    rng = random.Random(seed)
    seen = set()
    while True:
        pair = (loss(rng), rule(rng))
        if pair not in seen:
            seen.add(pair)
            yield pair
