"""The bundled rules, installed as `distlint.rules`: one folder a family, one folder a rule."""
