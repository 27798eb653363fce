"""A call that is made later."""


class Later:
    def __init__(self, target):
        self.target = target

    def __call__(self, **given):
        return {"target": self.target, **given}


def make(config):
    given = {k: make(v) if isinstance(v, dict) else v for k, v in config.items() if k != "target"}
    return config["target"](**given)
