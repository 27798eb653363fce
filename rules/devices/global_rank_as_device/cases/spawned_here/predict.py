from trainer import CellTrainer


class QuietTrainer(CellTrainer):
    pass


if __name__ == "__main__":
    QuietTrainer().run()
