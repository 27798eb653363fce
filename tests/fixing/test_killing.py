"""`distlint fix --apply`, killed at random moments: no file is half written."""

from __future__ import annotations

import pytest
from killing import FILES, endings


@pytest.mark.slow
def test_each_file_is_the_old_one_or_the_new_one() -> None:
    found = endings(16)
    assert [each.broken for each in found if each.broken] == []
    assert all(each.old + each.new == FILES for each in found)
    assert any(each.new for each in found), "every run was killed before it wrote anything"
