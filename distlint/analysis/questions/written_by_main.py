"""Weights that a library hands to a function of its caller's, which writes them on one rank alone."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from distlint.knowledge.versions import WRITES_ON_MAIN
from distlint.nodes import last_name

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite


def leaves_all_to_main(site: CallSite) -> bool:
    """Whether `save_pretrained(…, save_config=…, save_function=xm.save)` leaves both weights and configuration to rank 0.

    Whichever transformers this runs with: 4.16.1 asks each of the two, and 4.57.1 (modeling_utils.py:3866) takes `save_config`
    for `is_main_process`. ProphetNet 5cf70eb JGR/warmup-generator/trainer.py:1895.
    """
    return "save_config" in site.keywords and leaves_to_main(site)


def leaves_to_main(site: CallSite) -> bool:
    """Whether `save_pretrained(…, save_function=accelerator.save)` leaves the weights to rank 0, where it takes a function.

    What every rank writes is the configuration, the same few lines. salesforce/CodeRL ec3c526
    transformers/examples/pytorch/language-modeling/run_mlm_no_trainer.py:549, beside transformers 4.16.1.
    """
    given = site.keywords.get("save_function")
    if site.method != "save_pretrained" or given is None:
        return False
    safe = site.keywords.get("safe_serialization")
    if safe is not None and safe.truthiness() is not False:
        return False
    match site.argument_node(None, "save_function"):
        case ast.Attribute(attr="save", value=owner) if "accelerator" in last_name(owner).lower():
            return True
    return given.target in WRITES_ON_MAIN
