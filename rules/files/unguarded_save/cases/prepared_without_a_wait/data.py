"""Arrays that are built once, and then read from their file."""

import os

import numpy as np


class Arrays:
    def __init__(self, settings):
        self.values = self._values(settings)

    @classmethod
    def prepare(cls, settings):
        if not cls._is_there(settings["cache"]):
            cls._keep(settings["cache"], cls._compute(settings))

    @classmethod
    def _values(cls, settings):
        if cls._is_there(settings["cache"]):
            return np.load(settings["cache"])
        values = cls._compute(settings)
        cls._keep(settings["cache"], values)
        return values

    @staticmethod
    def _is_there(path):
        return os.path.exists(path)

    @staticmethod
    def _compute(settings):
        return np.random.rand(settings["number"])

    @staticmethod
    def _keep(path, values):
        np.save(path, values)  # expect: DL301
