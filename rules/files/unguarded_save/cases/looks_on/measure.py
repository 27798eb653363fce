# SimpleTuner bc8e6ab simpletuner/diagnostics/h3_objective_geometry.py:491: it looks at one batch with what the trainer has,
# and nothing starts it on several processes.
import argparse
import csv

from trainer import Trainer


def prepared(config):
    trainer = Trainer(config)
    trainer.prepare_data()
    return trainer


def main():
    args = argparse.ArgumentParser().parse_args()
    found = [batch.norm() for batch in prepared(vars(args)).data]
    with open(args.table, "w") as file:
        csv.writer(file).writerows(found)


if __name__ == "__main__":
    main()
