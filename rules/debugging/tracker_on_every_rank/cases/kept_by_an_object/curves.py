"""A class that keeps the tracker, in a file that names no rank."""


class Curves:
    # HLLM 2deed17 code/REC/utils/wandblogger.py:31
    def __init__(self, project):
        import wandb

        self._wandb = wandb
        self.project = project
        self.begin()

    def begin(self):
        if self._wandb.run is None:
            self._wandb.init(project=self.project)  # expect: DL704

    def add(self, numbers):
        self._wandb.log(numbers)
