"""distlint: finds and repairs what breaks only when several processes run PyTorch training code."""

import os

__version__ = "0.1.0"

_here = os.path.dirname(os.path.abspath(__file__))
if not os.path.isdir(os.path.join(_here, "rules")):
    # A checkout that was not installed: `rules/` beside the package is what an installation has in it.
    _checkout = os.path.dirname(_here)
    if os.path.isfile(os.path.join(_checkout, "rules", "__init__.py")):
        __path__.append(_checkout)
