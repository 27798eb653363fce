from accelerate import Accelerator


class Trainer:
    def __init__(self, config):
        self.config = config
        self.accelerator = Accelerator()

    def prepare_data(self):
        self.data = list(self.config["data"])
        self.accelerator.wait_for_everyone()

    def train(self):
        self.prepare_data()
        for batch in self.data:
            self.accelerator.backward(batch.loss)
