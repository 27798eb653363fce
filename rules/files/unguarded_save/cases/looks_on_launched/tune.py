import argparse
import csv

from trainer import Trainer


def main():
    args = argparse.ArgumentParser().parse_args()
    trainer = Trainer(vars(args))
    trainer.prepare_data()
    trainer.train()
    with open(args.table, "w") as file:  # expect: DL301
        csv.writer(file).writerows(batch.norm() for batch in trainer.data)


if __name__ == "__main__":
    main()
