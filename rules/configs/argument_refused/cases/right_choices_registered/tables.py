MODELS = {"tiny": 1, "small": 2}
HEADS = {"linear": 1}
KINDS = {}
NECKS = {"plain": 1}


def register(*names):
    def add(cls):
        KINDS[names[0]] = cls
        return cls

    return add
