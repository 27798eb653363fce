"""Hooks that a trainer runs by their names."""


class Hook:
    def before_epoch(self, trainer):
        pass

    def before_train_epoch(self, trainer):
        self.before_epoch(trainer)


class TellsTheEpoch(Hook):
    def before_epoch(self, trainer):
        trainer.loader.sampler.set_epoch(trainer.epoch)
