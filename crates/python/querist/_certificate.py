"""Certificates: the objective that a loss and a rule really optimize, and its properties."""

from __future__ import annotations

import json
from html import escape
from typing import Any

from querist import _querist

__all__ = ["Certificate", "certify", "losses", "rules"]


class Certificate:
    """The properties of a loss queried by a rule: every claim is proved, refuted with a witness, or unknown.

    Created by :func:`certify`. ``repr`` is for people, ``str`` adds the facts behind the proofs, and a notebook shows tables.

    >>> import querist
    >>> certificate = querist.certify("logistic", "entropy")
    >>> certificate.verdict("convex-in-score")
    'refuted'
    >>> certificate.to_dict()["constants"]["u_max"]
    0.6931471805599453
    """

    __slots__ = ("_brief", "_content", "_text")

    def __init__(self, content: str, brief: str, text: str) -> None:
        self._content, self._brief, self._text = content, brief, text

    @property
    def loss(self) -> str:
        """The name of the loss."""
        return str(self.to_dict()["loss"])

    @property
    def rule(self) -> str:
        """The name of the rule."""
        return str(self.to_dict()["rule"])

    @property
    def advice(self) -> list[str]:
        """The consequences, in sentences."""
        return list(self._parsed()["advice"])

    @property
    def verdicts(self) -> dict[str, str]:
        """The verdict on each claim: ``"proved"``, ``"refuted"`` or ``"unknown"``."""
        return {claim["claim"]: claim["verdict"] for claim in self._parsed()["claims"]}

    def verdict(self, claim: str) -> str:
        """Returns the verdict on one claim.

        >>> import querist
        >>> querist.certify("logistic", "constant:p=0.5").verdict("convex-in-score")
        'proved'
        """
        verdicts = self.verdicts
        if claim not in verdicts:
            raise KeyError(f"claim: no claim `{claim}`; there are {', '.join(verdicts)}")
        return verdicts[claim]

    def _parsed(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._content)
        return found

    def to_dict(self) -> dict[str, object]:
        """Returns the content, as ``querist certify --json`` prints it."""
        content: dict[str, Any] = json.loads(self._content)
        return content

    def __repr__(self) -> str:
        return self._brief.rstrip("\n")

    def __str__(self) -> str:
        return self._text.rstrip("\n")

    def __eq__(self, other: object) -> bool:
        return self._content == other._content if isinstance(other, Certificate) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._content)

    def __reduce__(self) -> tuple[Any, ...]:
        return Certificate, (self._content, self._brief, self._text)

    def _repr_html_(self) -> str:
        content = self._parsed()
        advice = "".join(f"<li>{escape(line)}</li>" for line in content["advice"])
        claims = "".join(
            "<tr>"
            + f"<td>{escape(claim['claim'])}</td><td><b>{escape(claim['verdict'])}</b></td>"
            + f'<td style="text-align:left">{"<br>".join(escape(line) for line in claim["because"])}</td>'
            + "</tr>"
            for claim in content["claims"]
        )
        constants = "".join(
            f"<tr><td>{escape(name)}</td><td>{escape(json.dumps(value))}</td></tr>"
            for name, value in content["constants"].items()
            if value is not None
        )
        return (
            f"<div><h4>{escape(content['loss'])} queried by {escape(content['rule'])}</h4><ul>{advice}</ul>"
            "<table><thead><tr><th>claim</th><th>verdict</th><th>because</th></tr></thead>"
            f"<tbody>{claims}</tbody></table>"
            f"<table><thead><tr><th>constant</th><th>value</th></tr></thead><tbody>{constants}</tbody></table></div>"
        )


def certify(loss: str, rule: str, *, classes: int | None = None) -> Certificate:
    """Certifies the objective that a query rule really optimizes, and its properties.

    Parameters
    ----------
    loss : str
        A loss: one of :func:`losses`, ``"expr:..."`` of the margin ``s``, or ``"softmax-cross-entropy"``.
    rule : str
        A rule: one of :func:`rules`, such as ``"margin:mu=0.5"``, or ``"expr:..."``.
    classes : int, optional
        The number of classes, only for ``"softmax-cross-entropy"``.

    >>> import querist
    >>> print(querist.certify("logistic", "entropy").loss)
    logistic
    >>> querist.certify("logistic", "entrop")
    Traceback (most recent call last):
        ...
    ValueError: rule: `entrop`: unknown rule; did you mean `entropy`?
    """
    return Certificate(*_querist.certify(loss, rule, classes))


def losses() -> list[dict[str, object]]:
    """Returns every loss: its name, summary, parameters and source.

    >>> import querist
    >>> "logistic" in [loss["name"] for loss in querist.losses()]
    True
    """
    return list(json.loads(_querist.listed())["losses"])


def rules(classes: int = 2) -> list[dict[str, object]]:
    """Returns every rule for two classes, or for more.

    >>> import querist
    >>> "boundary" in [rule["name"] for rule in querist.rules()]
    True
    """
    if isinstance(classes, bool) or not isinstance(classes, int):
        raise TypeError(f"classes: need a whole number, not {type(classes).__name__}")
    if classes < 2:
        raise ValueError(f"classes: {classes}, need at least 2")
    return list(json.loads(_querist.listed())["rules" if classes == 2 else "class_rules"])
