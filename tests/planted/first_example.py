"""A pytest plugin: a property that fails is told by its first example, not by its smallest."""

from __future__ import annotations

from hypothesis import Phase, settings

settings.register_profile("first example", phases=(Phase.explicit, Phase.generate), database=None)
settings.load_profile("first example")
