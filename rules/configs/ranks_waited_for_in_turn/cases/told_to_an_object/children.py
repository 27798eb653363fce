import os
import signal
import threading


class Children:
    def __init__(self, failures):
        self.failures, self.numbers = failures, []
        threading.Thread(target=self.listen, daemon=True).start()

    def add(self, number):
        self.numbers.append(number)

    def listen(self):
        print(self.failures.get())
        print(os.getpid(), signal.SIGINT)
