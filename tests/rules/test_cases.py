"""Every bundled rule's folder: whole, found where it is marked and nowhere else, repaired as written down."""

from __future__ import annotations

import pytest

from distlint.authoring.folders import RuleFolder, bundled_root, rule_folders
from distlint.authoring.testing import Parts, verdict_of
from distlint.rule import load_rules

FOLDERS = rule_folders([bundled_root()])
KNOWN = load_rules()


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.module)
def test_the_folder_and_its_cases(folder: RuleFolder) -> None:
    verdict = verdict_of(folder, KNOWN, Parts(proof=False))
    assert not verdict.failures, verdict.failures


def test_no_bundled_rule_is_left_out() -> None:
    bundled = {rule.module for rule in KNOWN.values() if rule.module.startswith("distlint.rules.")}
    assert {folder.module for folder in FOLDERS} == bundled
