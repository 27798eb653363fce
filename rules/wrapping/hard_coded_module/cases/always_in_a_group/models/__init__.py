from models.learner import Learner

__all__ = ["Learner"]
