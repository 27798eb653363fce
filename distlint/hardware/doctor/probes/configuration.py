"""accelerate's configuration file, and the DeepSpeed JSON that it names."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path
from typing import Any

from distlint.hardware.doctor.machine import ConfigFacts, ConfigFile, Options


def look(options: Options) -> ConfigFacts:
    """Both files, read; nothing is judged here."""
    accelerate = read_accelerate(options)
    return ConfigFacts(accelerate, _deepspeed(options.deepspeed_config, accelerate))


def default_config_file() -> Path:
    """Where accelerate looks without --config_file: accelerate 1.15.0,
    commands/config/config_args.py (a .json is read only where there is no .yaml, and both names
    are the same there)."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache"))
    home = Path(os.environ.get("HF_HOME", cache / "huggingface"))
    return home.expanduser() / "accelerate" / "default_config.yaml"


def read_accelerate(options: Options) -> ConfigFile:
    """accelerate's configuration: the one that was named, else that of its default place."""
    asked = options.config_file
    if asked is not None:
        return _read(Path(asked), asked, "--config-file")
    path = default_config_file()
    return _read(path, "accelerate/default_config.yaml in the Hugging Face cache", "default place")


def _deepspeed(asked: str | None, accelerate: ConfigFile) -> ConfigFile | None:
    if asked is not None:
        return _read(Path(asked), asked, "--deepspeed-config")
    section = accelerate.values.get("deepspeed_config")
    named = section.get("deepspeed_config_file") if isinstance(section, dict) else None
    if isinstance(named, str) and named != "none":
        return _read(Path(named), named, "deepspeed_config_file")
    named = os.environ.get("ACCELERATE_DEEPSPEED_CONFIG_FILE")
    if named and named != "none":
        return _read(Path(named), named, "ACCELERATE_DEEPSPEED_CONFIG_FILE")
    return None


def _read(path: Path, shown: str, source: str) -> ConfigFile:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ConfigFile(shown, source, missing=True)
    except (OSError, UnicodeDecodeError) as problem:
        why = getattr(problem, "strerror", None) or "not UTF-8 text"
        return ConfigFile(shown, source, problem=f"cannot be read: {why}")
    as_json = path.suffix == ".json" or "deepspeed" in source.lower()
    if not as_json and importlib.util.find_spec("yaml") is None:
        return ConfigFile(shown, source, unread="PyYAML, which accelerate brings, is not installed")
    values, problem_text = _parse(text, as_json=as_json)
    return ConfigFile(shown, source, values, problem=problem_text)


def _parse(text: str, *, as_json: bool) -> tuple[dict[str, Any], str]:
    if as_json:
        try:
            values = json.loads(text)
        except ValueError as problem:
            return {}, f"is not JSON: {problem}"
    else:
        yaml: Any = importlib.import_module("yaml")
        try:
            values = yaml.safe_load(text)
        except yaml.YAMLError as problem:
            return {}, f"is not YAML: {' '.join(str(problem).split())}"
    if not isinstance(values, dict):
        return {}, f"holds {type(values).__name__}, not a mapping of keys to values"
    return values, ""
