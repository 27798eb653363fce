import json

from parts import placed, set_up


def main(args, model, lists):
    set_up(args)
    model = placed(model, args.local_rank)
    found = {name: model.scores(name) for name in lists}
    with open(args.result, "w") as file:
        json.dump(found, file)
