"""Certificates are identical to those of the command line."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess

import pytest

import querist

PAIRS = [
    ("logistic", "entropy"),
    ("squared-hinge", "margin:mu=1"),
    ("exponential", "exponential:mu=0.5"),
    ("hinge", "threshold:gamma=1"),
    ("expr:log(1+exp(-s))", "expr:1/(1+s^2)"),
]


@pytest.mark.parametrize(("loss", "rule"), PAIRS)
def test_content_matches_the_output_of_the_program(program: str, loss: str, rule: str) -> None:
    printed = subprocess.run([program, "certify", loss, rule, "--json"], check=True, capture_output=True, text=True).stdout
    certificate = querist.certify(loss, rule)
    assert certificate.to_dict() == json.loads(printed)
    text = subprocess.run([program, "certify", loss, rule], check=True, capture_output=True, text=True).stdout
    assert str(certificate).strip() == text.strip()
    brief = subprocess.run([program, "certify", loss, rule, "--brief"], check=True, capture_output=True, text=True).stdout
    assert repr(certificate).strip() == brief.strip()


def test_classes_and_lists_match_those_of_the_program(program: str) -> None:
    flags = ["certify", "softmax-cross-entropy", "entropy", "--classes", "3", "--json"]
    printed = subprocess.run([program, *flags], check=True, capture_output=True, text=True).stdout
    assert querist.certify("softmax-cross-entropy", "entropy", classes=3).to_dict() == json.loads(printed)
    listed = json.loads(subprocess.run([program, "list", "--json"], check=True, capture_output=True, text=True).stdout)
    assert querist.losses() == listed["losses"]
    assert querist.rules() == listed["rules"]
    assert querist.rules(classes=3) == listed["class_rules"]


def test_a_notebook_shows_every_claim_and_escapes_names() -> None:
    certificate = querist.certify("logistic", "entropy")
    page = certificate._repr_html_()
    assert all(claim in page for claim in certificate.verdicts)
    for tag in ("table", "div", "ul", "li", "tr"):
        assert page.count(f"<{tag}>") == page.count(f"</{tag}>")
    assert "<h4>expr:1*(s&lt;" not in page
    strange = querist.certify("logistic", "expr:1/(1+abs(s))")
    assert "<script" not in strange._repr_html_()


def test_certificates_are_compared_hashed_and_pickled_by_value() -> None:
    certificate = querist.certify("logistic", "entropy")
    assert certificate == querist.certify("logistic", "entropy") != querist.certify("logistic", "margin:mu=1")
    assert pickle.loads(pickle.dumps(certificate)) == copy.deepcopy(certificate) == certificate
    assert len({certificate, querist.certify("logistic", "entropy")}) == 1
    assert certificate.loss == "logistic"
    assert certificate.rule == "entropy"
    assert certificate.advice == certificate.to_dict()["advice"]
    with pytest.raises(KeyError, match="convex-in-score"):
        certificate.verdict("convx")
