"""Package list: `rules/` beside the package is installed as `distlint.rules`.

The rest of the metadata is in pyproject.toml, which has no way to find packages under two roots.
"""

from setuptools import find_packages, setup

setup(
    package_dir={"distlint.rules": "rules"},
    packages=[
        *find_packages(include=["distlint", "distlint.*"]),
        "distlint.rules",
        *(f"distlint.rules.{name}" for name in find_packages("rules")),
    ],
)
