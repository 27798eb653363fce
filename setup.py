"""What pyproject.toml has no words for: packages under two roots, and what a wheel leaves out.

`rules/` beside the package is installed as `distlint.rules`. The cases of the rules are tests and stay out of
the wheel; the proofs go in, since `distlint verify` runs them.
"""

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py


class WithoutCases(build_py):  # type: ignore[misc]  # setuptools has no types
    """Copies modules, except the cases that lie beside a rule."""

    def find_package_modules(self, package: str, package_dir: str) -> list[tuple[str, str, str]]:
        found: list[tuple[str, str, str]] = super().find_package_modules(package, package_dir)
        if not package.startswith("distlint.rules."):
            return found
        return [row for row in found if row[1].partition(".")[0] != "cases"]


setup(
    cmdclass={"build_py": WithoutCases},
    package_dir={"distlint.rules": "rules"},
    packages=[
        *find_packages(include=["distlint", "distlint.*"]),
        "distlint.rules",
        *(f"distlint.rules.{name}" for name in find_packages("rules")),
    ],
    package_data={"distlint": ["py.typed"]},
    # No module names, so data to setuptools.
    exclude_package_data={"": ["cases.fixed.py", "cases/*", "cases/*/*"]},
)
